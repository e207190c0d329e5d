"""False alarms and power of the alarms that are left on: simulated and real streams."""
