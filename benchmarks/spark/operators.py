"""The job's operator with a stop-watch, and the engine run bare: the same traffic, no kernel."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lasec
import lasec.spark as ls
from benchmarks.spark.feed import RATE, SPAN
from lasec.spark.cache import CACHE


class Begun(ls.Processor):
    """The job's operator, whose keys all begin with a model that has learned something."""

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """One label for each key of the shard."""
        shard = ls.Shard(self.config, self.store)
        rows = shard.state.rows(initialState["key"].tolist())
        fleet = shard.state.load(rows)
        X = np.random.default_rng(key[0]).standard_normal((rows.size, fleet.dimension))
        y = -np.ones(rows.size)  # a model that knows nothing says +1
        fleet.serve(np.arange(rows.size), X, y, tickets=np.full(rows.size, fleet.UNASKED))
        shard.state.save(fleet, rows, fleet.updates > 0)
        shard.state.write()


class Log:
    """A store that writes down what was asked of it, and how long that took."""

    def __init__(self, store: ls.Store) -> None:
        self.store, self.calls, self.spent = store, list[Any](), {"get": 0.0, "put": 0.0}

    def get(self, part: str, name: str = "") -> bytes | None:
        """What is kept there."""
        value: bytes | None = self._timed("get", lambda: self.store.get(part, name))
        self.calls.append(("get", part, name, len(value or b"")))
        return value

    def put(self, part: str, name: str, value: bytes) -> None:
        """Keep it there."""
        self.calls.append(("put", part, name, len(value)))
        self._timed("put", lambda: self.store.put(part, name, value))

    def remove(self, part: str, name: str) -> None:
        """Keep nothing there."""
        self.calls.append(("remove", part, name, 0))
        self._timed("put", lambda: self.store.remove(part, name))

    def _timed(self, what: str, call: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        value = call()
        self.spent[what] += time.perf_counter() - began
        return value


class Watched(Begun):
    """Writes the traffic and the times of each shard and batch to a folder."""

    folder = ""

    def handleInputRows(self, key: Any, rows_of_key: Any, timerValues: Any) -> Iterator[Any]:
        """As the job does it."""
        store, kernel = self.store, [0.0]
        log = self.store = Log(store)
        serve = lasec.Fleet.serve

        def timed(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            served = serve(*args, **named)
            kernel[0] += time.perf_counter() - began
            return served

        hits = list[Any]()

        def found(mark: bytes) -> Any:
            page = get(mark)
            if page is not None:
                hits.append(("hit", "", mark.hex(), page.size))
            return page

        get, CACHE.get = CACHE.get, found  # type: ignore[method-assign]
        lasec.Fleet.serve = timed  # type: ignore[method-assign]
        try:
            began = time.perf_counter()
            frames = list(rows_of_key)
            waited = time.perf_counter() - began
            told = list(super().handleInputRows(key, iter(frames), timerValues))
            total = time.perf_counter() - began - waited
        finally:
            self.store, lasec.Fleet.serve = store, serve  # type: ignore[method-assign]
            CACHE.get = get  # type: ignore[method-assign]
        spent = log.spent | {"kernel": kernel[0], "total": total, "waited": waited}
        path = Path(self.folder) / f"{key[0]}-{batch_of(frames[0])}.json"
        path.write_text(json.dumps({"calls": log.calls + hits, "spent": spent}))
        yield from told


class Bare(Begun):
    """Reads and writes as many bytes as the job did, and hands its rows through."""

    folder = ""
    reads = True

    def handleInputRows(self, key: Any, rows_of_key: Any, timerValues: Any) -> Iterator[Any]:
        """The same calls to the state store, and as many rows out as in."""
        frames = list(rows_of_key)
        frame = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
        path = Path(self.folder) / f"{key[0]}-{batch_of(frame)}.json"
        for call, part, name, size in json.loads(path.read_text())["calls"]:
            if call == "put":
                self.store.put(part, name, bytes(size))
            elif call == "remove":
                self.store.remove(part, name)
            elif call == "hit":
                self._cached(bytes.fromhex(name), size)
            elif self.reads:
                self.store.get(part, name)
        yield handed_through(frame)

    def _cached(self, mark: bytes, size: int) -> None:
        """Read as large a file of the cache as the job did; it is there from the second time on."""
        if self.reads and CACHE.get(b"bare" + mark) is None:
            CACHE.put(b"bare" + mark, bytes(size))


def batch_of(frame: pd.DataFrame) -> int:
    """The number of a batch, by the times of its rows."""
    return int(frame["time"].iloc[0] // SPAN)


def handed_through(frame: pd.DataFrame) -> pd.DataFrame:
    """A table like the job's: as many rows of each kind, and numbers that pack no better."""
    n = len(frame)
    label = frame["kind"].to_numpy() == 1
    number = frame["number"].to_numpy() / 2.0**63
    asked = ~label & (np.abs(number) < RATE)
    kinds = np.array(["prediction", "question", "receipt"], object)
    names = (frame["key"] + "/" + frame["id"]).to_numpy()
    columns = {
        "kind": kinds[np.where(label, 2, asked.astype(int))], "key": frame["key"].to_numpy(),
        "id": frame["id"].to_numpy(), "time": frame["time"].to_numpy(),
        "label": np.ones(n, np.int32), "margin": number, "variance": number * 0.7,
        "propensity": number * 0.3, "round": np.arange(n), "ticket": _only(names, asked),
        "y": label.astype(np.int32), "outcome": _only(np.full(n, "learned", object), label),
        "updated": label, "detail": np.full(n, None, object),
    }  # fmt: skip
    totals = {name: [values[0]] for name, values in columns.items()}
    totals |= {"kind": ["metrics"], "detail": ["{" + 300 * "." + "}"]}
    return pd.concat([pd.DataFrame(columns, copy=False), pd.DataFrame(totals)], ignore_index=True)


def _only(values: Any, chosen: Any) -> Any:
    """Some of the values, nothing elsewhere."""
    out = np.full(len(values), None, object)
    out[chosen] = values[chosen]
    return out
