"""The benchmark: any learners on any streams at any label rates, paired, from one command.

``python -m experiments benchmark --out DIR`` tunes every learner for each stream and label rate on
a draw that is not measured on, runs all of them on the same draws, and writes the results as CSV,
as a table and as a picture.
"""
