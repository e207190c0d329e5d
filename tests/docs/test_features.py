"""Each cell of the table of features in docs/features.md is tried."""
