"""The state of the sparse Tracker's rule, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.rules.tracker.columns import (
    COLUMN,
    ENTRIES,
    FIELDS,
    FRESH,
    LONGEST,
    PLACE,
    PLACES,
    ROWS,
    STAMP,
    is_table,
)
from lasec.rules.tracker.joint import as_beliefs
from lasec.rules.tracker.seen import BIRTH, LABEL, LATEST
from lasec.rules.tracker.softmax import slopes
from lasec.rules.tracker.weighing import COUNT, LABELS
from lasec.rules.tracker.words import AT, LABEL_NUMBER
from lasec.types import Counter, Matrix, Vector

_LAST_ROW = 2**61


class SparseBeliefs(NamedTuple):
    """All that the sparse Tracker knows: of the columns that occurred, and of each hypothesis.

    ``table``, ``entries`` and ``used`` are the columns (:mod:`lasec.rules.tracker.columns`).
    ``weights`` and ``spread`` are the weights and variances of each place under each state,
    ``touched`` the row and the number of the label with which each place was last written
    (:mod:`lasec.rules.tracker.words`). ``posterior``, ``weight``, ``lapse``, ``told``, ``slopes``,
    ``born`` and ``costs`` are those of :class:`~lasec.rules.tracker.beliefs.Beliefs`; ``begun`` is
    the number of labels before each slot's first. ``clock`` has the number of labels in its last
    place. ``rows`` is what is known of the rows' number and length, ``tally`` what the rows since
    the last label add to it (:mod:`lasec.rules.tracker.weighing`). Of the dense columns, ``head``
    are the weights, ``covs`` the covariances in strips, and ``means``, ``squares``, ``units`` and
    ``sums`` what a Tracker keeps of its features (:mod:`lasec.rules.tracker.joint`); ``alone`` and
    what begins so is the Tracker that sees them alone, and ``trust`` how much the joint filter and
    it are trusted (:mod:`lasec.rules.tracker.alone`). All of these are empty where no column is
    dense.

    >>> from lasec.rules import SparseTracking
    >>> state = SparseTracking(slots=2).init(dimension=2**24)
    >>> state.weights.shape, state.table.size
    ((64, 10, 1), 128)
    """

    table: Counter
    entries: NDArray[np.int64]
    used: Counter
    weights: NDArray[np.float64]
    spread: Matrix
    touched: NDArray[np.int64]
    posterior: NDArray[np.float64]
    weight: Vector
    lapse: Vector
    told: Counter
    slopes: Vector
    born: Counter
    begun: Counter
    clock: Counter
    rows: Vector
    tally: Vector
    costs: Matrix
    head: NDArray[np.float64]
    covs: NDArray[np.float32]
    means: Vector
    squares: Vector
    units: Vector
    sums: Vector
    alone: NDArray[np.float64]
    alone_covs: NDArray[np.float32]
    alone_posterior: NDArray[np.float64]
    alone_weight: Vector
    alone_lapse: Vector
    alone_born: Counter
    alone_clock: Counter
    trust: Vector

    def validate(self) -> str:
        """Why these arrays are no state of a sparse Tracker, as a phrase; empty if they are.

        >>> from lasec.rules import SparseTracking
        >>> state = SparseTracking(slots=1).init(dimension=1)
        >>> state.used[0] = 1
        >>> state.validate()
        'the table of the columns contradicts itself'
        """
        flaws = (
            (_no_table, "the table of the columns contradicts itself"),
            (_no_places, "the places of the columns contradict each other"),
            (_no_distribution, "posterior is no probability distribution"),
            (_not_derived, "weight, lapse or slopes do not follow from the rest"),
            (_negative, "a count or a variance is negative"),
            (_against_time, "the clock contradicts itself"),
            (_no_costs, "the class weights or shares are impossible"),
        )
        found = next((text for wrong, text in flaws if wrong(self)), "")
        return found or (_dense_flaw(self) if self.means.size else "")


class MixedBeliefs(SparseBeliefs):
    """The same where some columns are dense.

    A type of its own, so that what is done with dense columns is not compiled for words alone.
    """

    __slots__ = ()


def grown_shapes(
    first: Mapping[str, tuple[int, ...]], arrays: Mapping[str, Any]
) -> dict[str, tuple[int, ...]]:
    """The shapes of a state that has grown to the size of these arrays; ``first`` had not."""
    entries, places = (max(1, len(arrays[name])) for name in ("entries", "spread"))
    grown = {"table": arrays["table"].shape, "entries": (entries, FIELDS)}
    for name in ("weights", "spread", "touched"):
        grown[name] = (places, *first[name][1:])
    return {**first, **grown}


def _dense_flaw(state: SparseBeliefs) -> str:
    if (state.trust < 0.0).any() or abs(state.trust.sum() - 1.0) > 1e-9:
        return "trust is no probability distribution"
    return as_beliefs(state).validate() or as_beliefs(state, "alone").validate()


def _no_table(state: SparseBeliefs) -> bool:
    used, entries = state.used, state.entries
    if not 0 <= used[ENTRIES] <= len(entries) or state.table.ndim != 1 or not state.table.size:
        return True
    known = entries[: used[ENTRIES], COLUMN]
    held = ((state.table >= -1) & (state.table < max(1, known.size))).all()
    valid = ((known >= 0) & (known < 2**31)).all()
    return not (held and valid and state.table.size == 2 * len(entries)) or not is_table(
        state.table, known
    )


def _no_places(state: SparseBeliefs) -> bool:
    used = state.used
    places = state.entries[: used[ENTRIES], PLACE]
    fixed = used[PLACES] - np.count_nonzero(places >= 0)
    if fixed != (2 + state.told.size if state.told.size else 3):
        return True
    taken = np.sort(places[places >= 0])
    room = used[PLACES] <= len(state.spread) and used[LONGEST] >= 0
    return not (
        room
        and np.array_equal(taken, np.arange(fixed, used[PLACES]))
        and places.min(initial=0) >= -1
    )


def _no_distribution(state: SparseBeliefs) -> bool:
    return bool((state.posterior < 0.0).any() or abs(state.posterior.sum() - 1.0) > 1e-9)


def _not_derived(state: SparseBeliefs) -> bool:
    many = state.told.size
    return bool(
        np.abs(state.posterior.sum(axis=(0, 1)) - state.weight).max() > 1e-9
        or (state.lapse < 0.0).any()
        or (state.lapse >= 0.5).any()
        or (many and np.abs(state.slopes - slopes(many)).max() > 1e-9)
    )


def _negative(state: SparseBeliefs) -> bool:
    counted = state.entries[: state.used[ENTRIES]]
    counts = (
        counted[:, [ROWS, FRESH, STAMP]], state.spread, state.touched[:, AT], state.told,
        state.born, state.begun, state.clock[:5], state.clock[LABELS:], state.rows, state.tally,
    )  # fmt: skip
    return any((array < 0).any() for array in counts) or bool(
        (counted[:, ROWS] + counted[:, FRESH] > state.rows[COUNT] + state.tally[COUNT]).any()
    )


def _against_time(state: SparseBeliefs) -> bool:
    clock, many = state.clock, state.told.size
    late = state.born.max() > clock[BIRTH] or clock.max() > _LAST_ROW
    known = 0 <= clock[LABEL] <= many if many else abs(clock[LABEL]) <= 1
    places = state.touched[: state.used[PLACES]]
    ahead = places[:, AT].max() > clock[LATEST] or places[:, LABEL_NUMBER].max() > clock[LABELS]
    stale = state.begun.max() > clock[LABELS] or places[:, LABEL_NUMBER].min() < -1
    return bool(late or ahead or stale or clock[BIRTH] > clock[LATEST] or not known)


def _no_costs(state: SparseBeliefs) -> bool:
    if not state.costs.size:
        return False
    given, shares, sums = state.costs
    return bool(
        given.min() <= 0.0 or shares.min() < 0.0 or abs(shares.sum() - 1.0) > 1e-9
        or sums.min() < 0.0
    )  # fmt: skip
