"""Compiled code: the bridge to numba, the draws, and the loops over rows."""
