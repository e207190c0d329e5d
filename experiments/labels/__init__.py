"""Any labels through every door, and streams of which most rows have no label."""
