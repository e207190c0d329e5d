"""The Tracker's rule for sparse rows: the same mixture, with a variance for each weight.

Hypotheses, their posterior, drift, births and noise are those of
:mod:`lasec.rules.tracker.tracking`. Two things are not: a state keeps the variances of its weights
and no covariances (:mod:`lasec.rules.tracker.words`), which on hashed words loses nothing, and rows
are weighed, not centered (:mod:`lasec.rules.tracker.weighing`). The state grows with the columns
that occur (:mod:`lasec.rules.tracker.columns`). Where the first ``dense`` columns are numbers
rather than words, they have a full covariance of their own, in the same filter
(:mod:`lasec.rules.tracker.joint`), which is mixed with a Tracker that sees them alone
(:mod:`lasec.rules.tracker.mixed`).

Approximations while asking: states of less than ``negligible`` weight are left out.
A label that comes late is learned as if its row had come with the newest label known.

Cost: O(5 slots n) a row of n non-zeros, asked or told; 56 bytes for a column that occurred, and
80 bytes times ``slots`` (with K > 2 classes, 40 (1 + K)) for one that occurred in a labeled row.
Dense columns add what they cost the Tracker.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec.contract import rule
from lasec.nested import named
from lasec.parameters import NonNegative, Positive, Range, Share, checked
from lasec.rules.tracker.columns import admit, has_room
from lasec.rules.tracker.joint import later_words
from lasec.rules.tracker.mixed import Mixed, first_mixed, mixed_with_class
from lasec.rules.tracker.states import asked, chances, look, teach, texts_in
from lasec.rules.tracker.texts import Texts, first_texts, texts_with_class
from lasec.types import ClassMargin, Vector

# The arrays that are as long as one of them.
_GROWN = {
    "columns.entries": ("columns.entries",),
    "words.spread": ("words.weights", "words.spread", "words.touched"),
}


@checked
@rule(sparse=True, probabilities=True, noise=True)
class SparseTracking(NamedTuple):
    """The Tracker for sparse rows, such as texts: a mixture over changes, drift and label noise.

    A :class:`~lasec.Tracker` uses it where its first row is sparse. ``rarity``, ``level`` and
    ``length`` say how rows are weighed (:mod:`lasec.rules.tracker.weighing`), and ``step`` how much
    further than by the filter some of the states move with a label
    (:mod:`lasec.rules.tracker.words`). The first ``dense`` columns are no words but numbers, as
    dense rows have them, and ``beside`` words they are so long (:mod:`lasec.rules.tracker.joint`).
    The other settings are those of :class:`~lasec.rules.Tracking`.

    >>> import lasec
    >>> from scipy.sparse import csr_array
    >>> X = csr_array(np.tile(np.eye(4), (50, 1)))
    >>> y = np.tile([1, -1, 1, -1], 50)
    >>> learner = lasec.Learner(SparseTracking(), dimension=4, learn_from="labels")
    >>> learner.run(X, y)
    Records(rows=200, accuracy=0.990, labels=200, rate=1.000)
    """

    slots: Annotated[int, Range(1, 1_000)] = 6
    patience: Annotated[int, Range(1, 1_000_000)] = 6
    hazard: Annotated[float, Range(1e-12, 0.5)] = 2.0**-8
    drift: Annotated[float, Range(1e-12, 0.04)] = 0.0005
    prior: Positive = 1_000.0
    lapse: Annotated[float, Range(1e-9, 0.49)] = 0.3
    share: Share = 0.002
    negligible: Share = 0.03
    classes: Annotated[int, Range(2, 10_000)] = 2
    rarity: Annotated[float, Range(0.0, 4.0)] = 0.5
    level: Annotated[float, Range(0.0, 1.0)] = 0.5
    length: NonNegative = 0.1
    dense: Annotated[int, Range(0, 10_000)] = 0
    beside: Annotated[float, Range(0.0, 1.0)] = 0.125
    step: Annotated[float, Range(1.0, 100.0)] = 4.0
    weighted: bool = False
    balanced: bool = False
    tilt: Annotated[float, Range(0.0, 1.0)] = 0.25

    def validate(self) -> str:
        """Shares are only kept where classes have weights."""
        return "balanced: it needs weighted=True" if self.balanced and not self.weighted else ""

    def init(self, dimension: int) -> Texts | Mixed:
        """No column seen, one slot in use, all hypotheses alike."""
        return first_mixed(self) if self.dense else first_texts(self)

    def margin(self, state: Texts | Mixed, x: Any, t: int = 0) -> ClassMargin:
        """P(y = +1) - P(y = -1); its variance is how far the hypotheses disagree about that.

        With more classes, the lead of the best class over the second.
        """
        return look(self, state, texts_in(state).classes, x, t)

    def probabilities(self, state: Texts | Mixed, x: Any, t: int, out: Vector) -> None:
        """out <- the probability of each of more than two classes."""
        chances(state, self, x, t, out, np.empty_like(out))

    def note(self, state: Texts | Mixed, x: Any) -> None:
        """Count a row that is asked about and its columns, which must have been admitted."""
        asked(state, self, x)

    def update(self, state: Texts | Mixed, x: Any, y: float, draw: float, t: int = 0) -> None:
        """Learn a label, -1 or +1; with more classes their numbers, from 1.

        The columns of the row must have been admitted.
        """
        teach(state, self, x, y, t)

    def admit(self, state: Texts | Mixed, x: Any) -> bool:
        """Give the columns of a row their entries; False if the state must grow first."""
        texts = texts_in(state)
        places = texts.words.spread.shape[0]
        return bool(admit(texts.columns, places, later_words(self, x)["column"]))

    def is_due(self, state: Texts | Mixed) -> bool:
        """Whether the state must grow before the next row."""
        texts = texts_in(state)
        return not has_room(texts.columns, texts.words.spread.shape[0])

    def renewed(self, state: Texts | Mixed) -> Texts | Mixed:
        """The same state with room for another row."""
        return state.roomier()

    def grown_shapes(self, dimension: int, arrays: Any) -> dict[str, tuple[int, ...]]:
        """The shapes of a state that has grown to the size of these arrays."""
        shapes = {name: part.shape for name, part in named(self.init(1)).items()}
        inner = "texts." if self.dense else ""
        grown = {f"{inner}columns.table": arrays[f"{inner}columns.table"].shape}
        for like, names in _GROWN.items():
            rows = max(1, len(arrays[inner + like]))
            grown |= {inner + name: (rows, *shapes[inner + name][1:]) for name in names}
        return shapes | grown

    def with_more_classes(
        self, state: Texts | Mixed, dimension: int
    ) -> tuple[SparseTracking, Texts | Mixed]:
        """The rule and the state with one more class; from two classes, with three.

        >>> rule, state = SparseTracking().with_more_classes(SparseTracking().init(3), dimension=3)
        >>> rule.classes, state.words.weights.shape, state.columns.used.tolist()
        (3, (66, 30, 3), [0, 5, 0])
        """
        larger = self._replace(classes=self.classes + 1)
        if isinstance(state, Mixed):
            return larger, mixed_with_class(self, larger, state)
        return larger, texts_with_class(self, larger, state)
