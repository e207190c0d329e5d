"""Lenses: a Tracker with non-linear views of the rows, beside the linear one and forests."""
