"""Saved models: the container of a file, and what its header means."""
