"""What ``look`` and ``decide`` write of a row, by place; and what says that a function failed."""

FAILED = -(2**63)  # what a compiled function gives where it raised an error

FINE, LABEL, SHOWN, VARIANCE, LEAD, RAW, CHANCE, ASKED, PLACES = range(9)
