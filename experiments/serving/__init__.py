"""The service under fire: kills, database crashes, and what it costs."""
