"""Models of other libraries that ``lasec compare`` can run, each with the same label budget."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from lasec.errors import TableError
from lasec.queries import Budgeted
from lasec.session import AnyModel, around
from lasec.tables.kinds import nearest


class Peer(NamedTuple):
    """A model behind a selector, and what it is."""

    name: str
    model: AnyModel
    description: str


def make_peer(
    name: str, rate: float, budget: Budgeted | None, seed: int, classes: Sequence[str]
) -> Peer:
    """The peer of this name, or of the factory at an import path, as in ``my_module:make_model``.

    >>> make_peer("sklearn-sgd", 0.1, None, seed=0, classes=["ham", "spam"]).description
    "SGDClassifier(loss='log_loss', random_state=0), Budgeted(rate=0.1, ..."
    """
    classifier = _own(name) if ":" in name else _known(name, seed)
    given: dict[str, Any] = {"rate": rate} if budget is None else {"query": budget}
    try:
        model = around(classifier, classes=classes, seed=seed, **given)
    except TypeError as error:
        raise TableError(f"--peer {name}: {error}") from None
    return Peer(name, model, f"{_described(classifier)}, {model.selector.query!r}")


def _described(classifier: Any) -> str:
    """The classifier with its parameters, where its repr tells them."""
    name, said = type(classifier).__name__, " ".join(repr(classifier).split())
    return said[:200] if said.startswith(name) else name


def _known(name: str, seed: int) -> Any:
    if name not in PEERS:
        raise nearest(name, PEERS, "peer")
    library, extra, make = PEERS[name]
    if find_spec(library) is None:
        raise TableError(
            f"--peer {name} needs {library}: pip install '.[{extra}]' in a checkout of lasec"
        )
    return make(seed % 2**32)


def _own(path: str) -> Any:
    """What the factory at an import path makes; modules of the current folder are found."""
    module, _, factory = path.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        make = getattr(import_module(module), factory)
    except (ImportError, AttributeError, ValueError) as error:
        raise TableError(f"--peer {path}: {error}") from None
    finally:
        sys.path.remove(here)
    return make()


def _logistic(_: int) -> Any:
    scaler = import_module("river.preprocessing").StandardScaler()
    single = import_module("river.linear_model").LogisticRegression()
    return scaler | import_module("river.multiclass").OneVsRestClassifier(single)


def _forest(seed: int) -> Any:
    return import_module("river.forest").ARFClassifier(seed=seed)


def _sgd(seed: int) -> Any:
    return import_module("sklearn.linear_model").SGDClassifier(loss="log_loss", random_state=seed)


PEERS = {
    "river-logistic": ("river", "river", _logistic),
    "river-arf": ("river", "river", _forest),
    "sklearn-sgd": ("sklearn", "sklearn", _sgd),
}
