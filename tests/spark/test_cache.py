"""Pages at hand: shared by the workers of an executor, bounded, and never needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lasec
from lasec.spark.cache import CACHE, PageCache
from spark.box import Box, event, label

MODEL = lasec.LASEC(dimension=2)


def reads(box: Box, *rows: dict[str, Any]) -> tuple[int, int]:
    """How the pages of a batch were read: from the cache, from the state."""
    told = json.loads(box(*rows).detail.iloc[-1])
    return told["page_hits"], told["page_misses"]


def test_hits_and_misses_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    box = Box(MODEL)
    box(event("0"), label("0", y=-1.0))
    assert reads(box, event("a")) == (0, 1)
    monkeypatch.setattr(CACHE, "limit", 10**6)
    monkeypatch.setattr(CACHE, "folder", str(tmp_path / "pages"))
    assert [reads(box, event(name)) for name in "bcd"] == [(0, 1), (1, 0), (1, 0)]
    mode = (tmp_path / "pages").stat().st_mode
    assert mode & 0o777 == 0o700


def test_workers_share_pages_and_replace_them(tmp_path: Path) -> None:
    one, other = (PageCache(str(tmp_path / "pages"), 10**6) for _ in range(2))
    one.put(b"old", b"page")
    found = other.get(b"old")
    assert found is not None
    assert found.tobytes() == b"page"
    other.forget(b"old")
    assert one.get(b"old") is None


def test_what_fits_by_half_is_found_by_half(tmp_path: Path) -> None:
    """Also where all pages are read by turns, over and over."""
    cache, hits = PageCache(str(tmp_path), 50_000), 0
    for _ in range(10):
        for number in range(100):
            mark = bytes([number])
            hits += cache.get(mark) is not None
            if cache.get(mark) is None:
                cache.put(mark, bytes(1_000))
        assert cache.size() <= 50_000
    assert hits > 100


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("")
    cache = PageCache(str(tmp_path / "pages"), 1_000)
    cache.put(b"a", b"page")
    assert cache.get(b"a") is None
    assert cache.size() == 0


def test_a_page_larger_than_the_cache_is_left_out(tmp_path: Path) -> None:
    cache = PageCache(str(tmp_path), 100)
    cache.put(b"a", bytes(101))
    assert (cache.get(b"a"), cache.size()) == (None, 0)
