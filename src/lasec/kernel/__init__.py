"""Loops over rows, and the code for them: in lasec's library, or made on this machine."""
