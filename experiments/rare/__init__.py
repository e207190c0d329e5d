"""Learning where a class is rare: 1 % and 0.1 % positives."""
