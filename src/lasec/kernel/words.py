"""Texts as sparse rows: the words of UTF-8 bytes, hashed and counted.

A word is a run of ASCII letters, digits and underscores, in lower case, and of bytes beyond ASCII:
in place of other characters that are part of no word, a text has spaces. What a word's column is,
:mod:`lasec.text` says.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lasec.murmur import finished, mixed
from lasec.types import Counter, Vector

Bytes = NDArray[np.uint8]

FEW = 8_192  # words, at most, to be sorted without comparing each with many


def _lower() -> Counter:
    """Each byte of a word in lower case, and 0 for bytes that are part of none."""
    table = np.zeros(256, np.int64)
    table[128:] = np.arange(128, 256)
    for letter in "abcdefghijklmnopqrstuvwxyz0123456789_":
        table[ord(letter)] = table[ord(letter.upper())] = ord(letter)
    return table


LOWER = _lower()


def count_words(
    data: Bytes, starts: Counter, columns: int, lower: Counter, scratch: tuple[Counter, Counter],
    ends: Counter, at: Counter, values: Vector,
) -> int:  # fmt: skip
    """Write the pairs of each text: where they end, columns that rise, and sums of signs.

    Text i has the bytes from ``starts[i]`` on, with one byte at its end that is part of no word.
    ``scratch`` has room for a key for each word of the longest text, and for sorting. A key is
    twice the column, and one more where the sign is minus. Gives the number of pairs.
    """
    keys, sorting = scratch
    done, mask = 0, columns - 1 if columns & (columns - 1) == 0 else 0
    for i in range(starts.size - 1):
        words, size, bits, block = 0, 0, 0, 0
        for k in range(starts[i], starts[i + 1]):
            letter = lower[data[k]]
            if letter != 0:
                block |= letter << 8 * (size & 3)
                size += 1
                if size & 3 == 0:
                    bits, block = mixed(bits, block), 0
            elif size > 0:
                found = finished(bits, block, size)
                column = abs(found) & mask if mask else abs(found) % columns
                keys[words] = 2 * column + (found < 0)
                words, size, bits, block = words + 1, 0, 0, 0
        sort_keys(keys[:words], 2 * columns, sorting)
        done = ends[i] = done + add_up(keys[:words], at[done:], values[done:])
    return done


def sort_keys(keys: Counter, most: int, scratch: Counter) -> None:
    """Sort keys below ``most``: a few by their place in the range, which is nearly their order."""
    if keys.size > FEW:
        keys.sort()
        return
    shift, counts = 0, scratch[FEW : FEW + 2 * keys.size + 2]
    while most >> shift > 2 * keys.size:
        shift += 1
    counts[:] = 0
    for key in keys:
        counts[(key >> shift) + 1] += 1
    for j in range(counts.size - 1):
        counts[j + 1] += counts[j]
    for key in keys:
        bucket = key >> shift
        scratch[counts[bucket]] = key
        counts[bucket] += 1
    for j in range(keys.size):
        k = j
        while k > 0 and keys[k - 1] > scratch[j]:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = scratch[j]


def add_up(keys: Counter, at: Counter, values: Vector) -> int:
    """The columns of sorted keys and the sums of their signs; how many sums are not zero."""
    found, j = 0, 0
    while j < keys.size:
        column, total = keys[j] >> 1, 0.0
        while j < keys.size and keys[j] >> 1 == column:
            total += 1.0 - 2.0 * (keys[j] & 1)
            j += 1
        if total != 0.0:
            at[found], values[found] = column, total
            found += 1
    return found
