"""Words in compiled code: against scikit-learn, and against the hash in plain Python."""

import re

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

import lasec
from lasec.murmur import murmur
from lasec.text import words_of

ODD = ["", " ", "_", "Don't", "a-b", "ÉCOLE école", "İstanbul", "straße 東京 x", "\u0660\u0661 1",
       "tab\tnew\nline\0nul", "\ud800 alone", "naïve\u0301", "A" * 5_000, "a " * 3_000]  # fmt: skip


def texts(seed):
    """Odd texts, and random ones of one to 2,000 words, with capitals and punctuation."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcXYZ019_ñ"))
    words = ["".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(900)]
    lengths = rng.choice([1, 5, 60, 400, 2_000], 60)
    return ODD + ["; ".join(rng.choice(words, length)) for length in lengths]


@pytest.mark.parametrize("columns", [2, 37, 2**10, 2**18, 10**6, 2**31 - 1])
def test_rows_are_those_of_scikit_learn(columns):
    given = texts(columns)
    found = lasec.TextHasher(columns).rows(given)
    there = HashingVectorizer(
        n_features=columns, norm=None, token_pattern=r"\w+", decode_error="replace"
    ).transform([text.encode("utf-8", "replace") for text in given])
    there.sum_duplicates()
    there.eliminate_zeros()
    assert found.has_canonical_format
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(there, name))


def test_a_row_counts_the_columns_of_its_words():
    hasher = lasec.TextHasher(37)
    for text in texts(7)[:40]:
        counts = np.zeros(37)
        for word in words_of(text):
            column, sign = hasher.column(word)
            counts[column] += sign
        np.testing.assert_array_equal(hasher.rows([text]).toarray()[0], counts)


def test_words_are_runs_of_letters_digits_and_underscores():
    ascii_ = "".join(map(chr, range(128)))
    for text in (*texts(8), ascii_, f"é{ascii_}", ascii_ * 2):
        assert words_of(text) == re.findall(r"\w+", text.lower())


def test_published_values_of_the_hash():
    """Of the hash's own test vectors: the seed 0, read as signed numbers."""
    known = {
        b"": 0, b"\xff\xff\xff\xff": 0x76293B50, b"!Ce\x87": 0xF55B516B, b"!Ce": 0x7E4A8634,
        b"!C": 0xA0F7B07A, b"!": 0x72661CF4, b"\0\0\0\0": 0x2362F9DE,
    }  # fmt: skip
    for data, bits in known.items():
        assert murmur(data) % 2**32 == bits


def test_what_is_no_text_is_refused():
    with pytest.raises(TypeError, match="expected text or a dict, got int"):
        lasec.TextHasher().rows(["a", 3])
    assert lasec.TextHasher().rows([]).shape == (0, 2**18)


def test_words_are_heard():
    heard = []
    found = lasec.TextHasher(heard=heard.append).rows(["A free prize", "Été"])
    assert heard == [["a", "free", "prize"], ["été"]]
    assert (found != lasec.TextHasher().rows(["A free prize", "Été"])).nnz == 0
