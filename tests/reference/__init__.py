"""The papers' pseudocode, transcribed: explicit inverses, O(d^3), slow and obvious.

Written from the papers and from nothing in ``src``. A model here answers ``margin(x)`` with two
numbers, the paper's p_t and its r_t = x'A^-1x (0 for first-order algorithms), and learns with
``update(x, y, draw)``. ``protocol.play`` is the row that all of the papers share.
"""
