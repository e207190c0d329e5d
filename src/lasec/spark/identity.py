"""Which job a checkpoint belongs to: the model that keys begin with, the shards, and the seed.

Every shard keeps a description of its job, as JSON. A parameter that a later version adds is absent
from descriptions that are older: it counts as having the default, so that the job goes on. Of the
seed there is only a fingerprint, because descriptions are shown in error messages.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

from lasec import Learner

# Names of queries and their parameters that earlier descriptions have.
_RENAMED = {
    "MarginCoin": "MarginSampling",
    "caution": "aggressiveness",
    "floor": "audit",
    "audit_share": "audit",
    "advance": "warm_up",
}


def describe(model: Learner, shards: int, seed: int | None) -> str:
    """The description of a job; without a seed it is that of any seed.

    >>> import lasec
    >>> print(describe(lasec.SOP(dimension=2), shards=4, seed=None))
    {"rule": {"kind": "SecondOrder", "parameters": {"drift": 0.0, "ridge": 1.0}}, ...
    """
    return json.dumps(
        {
            "rule": _written(model.rule),
            "query": _written(model.query),
            "dimension": model.dimension,
            "update": model.learn_from.value,
            "precision": model.precision.value,
            "classes": list(model.classes),
            "shards": shards,
            "seed": None if seed is None else _fingerprint(seed),
        }
    )


def belongs(kept: str, job: str, model: Learner) -> bool:
    """Whether a checkpoint with the description ``kept`` is that of this job, with this model.

    >>> import lasec
    >>> model = lasec.LASEC_SS(dimension=2, aggressiveness=0.5)
    >>> mine = describe(model, shards=4, seed=7)
    >>> older = mine.replace(', "power": 1.0', "")
    >>> older != mine, belongs(older, mine, model)
    (True, True)
    >>> belongs(mine.replace("0.5", "0.4"), mine, model)
    False
    """
    for old, new in _RENAMED.items():
        kept = re.sub(rf"\b{old}\b", new, kept)
    if kept.startswith("("):
        return _of_format_1(kept, job, model)
    mine, its = json.loads(job), json.loads(kept)
    for name, part in (("rule", model.rule), ("query", model.query)):
        its[name] = _completed(its[name], part)
    its.setdefault("classes", [-1, 1])  # the only ones there were
    if mine["seed"] is None:
        its["seed"] = None
    return bool(mine == its)


def _of_format_1(kept: str, job: str, model: Learner) -> bool:
    """The same for the text that indexes of format 1 have; the seed in it was the model's own."""
    m = model
    parts = (m.rule, m.query, m.dimension, m.learn_from.value, m.precision.value)
    text = re.escape(repr(parts)[:-1])
    return re.fullmatch(rf"{text}, \d+\) in {json.loads(job)['shards']} shards", kept) is not None


def _written(part: Any) -> Any:
    """A rule, a query or a parameter as JSON."""
    if not hasattr(part, "_asdict"):
        return part if isinstance(part, bool | int | float | str | None) else repr(part)
    values = {name: _written(value) for name, value in part._asdict().items()}
    return {"kind": type(part).__name__, "parameters": values}


def _completed(kept: Any, part: Any) -> Any:
    """What was kept of a part, and the defaults of the parameters that it does not name."""
    if not isinstance(kept, dict) or not hasattr(part, "_asdict"):
        return kept
    given = {
        name: _completed(value, getattr(part, name, None))
        for name, value in kept["parameters"].items()
    }
    defaults = {name: _written(value) for name, value in part._field_defaults.items()}
    if kept["kind"] == "Budgeted":
        defaults["strict"] = True  # the only kind there was
    return {"kind": kept["kind"], "parameters": defaults | given}


def _fingerprint(seed: int) -> str:
    return blake2b(seed.to_bytes(8, "little"), digest_size=4, person=b"lasec seed").hexdigest()
