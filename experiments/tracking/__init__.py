"""The Tracker beside the arena: its headroom, its constants, and what it believes."""
