"""The Tracker on the benchmark: its gap to an oracle, its constants, and its estimates."""
