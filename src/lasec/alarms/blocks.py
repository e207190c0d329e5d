"""Means of blocks of rows, compared with how much such means differ anyway.

Rows are summed in blocks of 64, and these in blocks of 256, 1,024, 4,096 and 16,384 rows. A column
has three channels: its level (the mean, values more than 4 standard deviations away cut), its
spread (the logarithm of the mean absolute deviation from the median of 64 rows) and the share of
missing cells (as 2 arcsin of its root, whose variance does not depend on the share). The mean and
the mean absolute value of the standardized row are two more columns, with a level only.

For each channel and length there is a decaying mean of past blocks and their decaying variance, so
a new block is compared with its past **in units of how much blocks of that length differ**: at
lengths below a cycle the cycle is part of that variance, above it averages out, and a slow trend is
part of it as well. No length of a cycle has to be known. This is the method of batch means (Law and
Carson, *A sequential procedure for determining the length of a steady-state simulation*, Operations
Research, 1979), with a normal score of Student's t (Wallace, *Bounds on normal approximations to
Student's and the chi-square distributions*, Annals of Mathematical Statistics, 1959); its degrees
of freedom are lowered by the autocorrelation and the kurtosis of the blocks.

A block is a *candidate* if all of these hold: at least 12 blocks of its length are known; the
effect is 0.2 or more (standard deviations of the rows; a log ratio; Cohen's h); the score passes
the threshold; and it is 1.5 times as far away as any block lately (3 times where blocks are
autocorrelated). It is a *change* if the next blocks agree: the same sign, an effect of 0.1 or more,
and at least half as far away. So a burst of a few rows is none. Their score does not matter: the
first rows of the change, which are part of the past by then, may have made that look wild.

After a change the channel starts from the level of the blocks that showed it, with little weight;
what is known about how much blocks differ is kept, unless the column was constant or its spread has
changed: then it starts over. A way back to where the column was before its
last change is not said again. Of the row as a whole a change is said only where no column by itself
explains it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lasec.parameters import Range
from lasec.persistence.record import FINITE, POSITIVE, Count, Shape

Array = NDArray[np.float64]

BASE = 64
LENGTHS = (64, 256, 1_024, 4_096, 16_384)
WAITS = (3, 1, 1, 1, 1)  # blocks that must agree with a candidate
MEMORY = tuple(max(64, 16_384 // length) for length in LENGTHS)  # blocks
LEVEL, SPREAD, MISSING = range(3)
EFFECT = 0.2
LEAST = 12  # blocks of a length, before anything is said
CUT = 4.0
SHRINK = 1.0  # standard errors by which an autocorrelation is lowered
MOST = 99.0  # a score or an effect above it, as of a column that was constant, is said as this
ZERO_ONE = 2.0  # "two_valued" of a column that has only 0 and 1; of other pairs it is 1
FLOOR = 0.05  # of the spread, in standard deviations
FAR, FAR_CORRELATED, CORRELATED = 1.5, 3.0, 0.4
WHOLE = ("mean of all columns", "magnitude of all columns")
COUNT, GONE, SUM, SQUARE, DEVIATION = range(5)
_CHANNELS = ("blocks", "weight", "mean", "known", "squares", "lagged", "fourth", "record", "last")
_OR_NAN = FINITE._replace(also=(math.nan,))
_Channels = Annotated[Array, Shape(3, len(LENGTHS), "columns")]
_Counts = Annotated[_Channels, POSITIVE]
_Columns = Annotated[Array, Shape("columns")]


class Change(NamedTuple):
    """A change of one channel of a column: score, effect, and levels before and since."""

    column: int
    channel: int
    rows: int
    score: float
    effect: float
    before: float
    after: float


class _Judged(NamedTuple):
    """What is said of a block, by channel and column."""

    score: Array
    effect: Array
    new: NDArray[np.bool_]
    large: NDArray[np.bool_]
    half: NDArray[np.bool_]
    home: NDArray[np.bool_]


@dataclass(eq=False)
class Blocks:
    """Finds changes of columns from blocks of 64 rows; the first rows, ``start``, set the scale.

    >>> rng = np.random.default_rng(1)
    >>> blocks = Blocks.begin(rng.standard_normal((2_048, 3)), threshold=4.6)
    >>> for number in range(20):
    ...     rows = rng.standard_normal((64, 3)) + [0, number >= 10, 0]
    ...     for change in blocks.add(rows):
    ...         print(number, change.column, change.rows, round(change.after - change.before, 1))
    13 1 256 1.1
    """

    blocks: _Counts
    weight: _Counts
    mean: _Channels
    known: _Counts
    squares: _Counts
    lagged: _Channels
    fourth: _Counts
    record: _Counts
    last: _Channels
    origin: _Columns
    center: _Columns
    width: Annotated[_Columns, POSITIVE]
    scale: Annotated[_Columns, POSITIVE]
    two_valued: _Columns
    former: Annotated[Array, Shape(3, "columns"), _OR_NAN]
    variance: Annotated[Array, Shape(len(LENGTHS), "columns")]
    partial: Annotated[Array, Shape(len(LENGTHS), 5, "columns"), _OR_NAN]
    agreed: _Channels  # 0 where there is no candidate, else its sign times blocks
    first: Annotated[_Channels, _OR_NAN]  # how far away the candidate was
    clear: Annotated[_Channels, _OR_NAN]  # and its score
    queue: Annotated[Array, Shape(sum(WAITS), 4, "columns"), _OR_NAN]
    base: Count = 0  # blocks of 64 rows
    restarted: Annotated[int, Range(-(2**40), 2**53)] = -(2**40)  # the base at the last change
    threshold: float = field(default=math.inf, init=False)

    @classmethod
    def begin(cls, start: Array, threshold: float) -> Self:
        """Those of a stream that begins with these rows, which set the scale."""
        width = start.shape[1] + len(WHOLE)
        shape = (3, len(LENGTHS), width)
        parts: list[Any] = [*np.zeros((len(_CHANNELS), *shape)), *np.zeros((5, width))]
        parts += [np.full((3, width), np.nan), np.zeros(shape[1:])]
        parts += [np.zeros((len(LENGTHS), 5, width)), *np.zeros((3, *shape))]
        parts.append(np.full((sum(WAITS), 4, width), np.nan))
        made = cls(*parts)
        made.threshold = threshold
        with np.errstate(all="ignore"):
            made._scale(start)
            for at in range(0, len(start) - BASE + 1, BASE):
                made._add(start[at : at + BASE], test=False)
        return made

    def _queue(self, k: int) -> Array:
        """The blocks of a length that do not count yet."""
        begin = sum(WAITS[:k])
        return self.queue[begin : begin + WAITS[k]]

    def _scale(self, start: Array) -> None:
        """Set center and width of each column by the first rows."""
        d = start.shape[1]
        known = np.where(np.isnan(start).all(axis=0), 0.0, start)
        low, high = np.nanquantile(known, [0.01, 0.99], axis=0)
        self.center[:d] = np.nanmean(np.clip(known, low, high), axis=0)
        self.width[:d] = np.nanstd(np.clip(known, low, high), axis=0)
        steady = self.width <= 1e-9 * (1.0 + np.abs(self.center))  # constant, but for rounding
        self.width[steady] = 0.0
        whole = self._whole(start)
        self.center[d:], self.width[d:] = whole.mean(axis=0), whole.std(axis=0)
        self.origin, self.scale = self.center.copy(), self.width.copy()
        least, most = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
        self.two_valued[:d] = ((known == least) | (known == most) | np.isnan(known)).all(axis=0)
        self.two_valued[:d] += ((known == 0.0) | (known == 1.0) | np.isnan(known)).all(axis=0)
        self.two_valued[d:] = 1.0

    def _whole(self, rows: Array) -> Array:
        """The mean and the mean absolute value of the standardized columns of each row."""
        d = rows.shape[1]
        scale = np.where(self.width[:d] > 0.0, self.width[:d], np.inf)
        z = np.clip((rows - self.center[:d]) / scale, -CUT, CUT)
        z[np.isnan(z)] = 0.0
        return np.column_stack([z.mean(axis=1), np.abs(z).mean(axis=1)])

    def add(self, rows: Array) -> list[Change]:
        """Add 64 rows, NaN where a cell is missing; the changes that they complete."""
        with np.errstate(all="ignore"):
            return self._add(rows, test=True)

    def _add(self, rows: Array, test: bool) -> list[Change]:
        self.base += 1
        self.partial += self._sums(np.hstack([rows, self._whole(rows)]), rows.shape[1])
        found: dict[int, Change] = {}
        for k, length in enumerate(LENGTHS):
            if self.base % (length // BASE):
                break
            for change in self._judge(k, test):
                best = found.get(change.column)
                if best is None or change.score > best.score:
                    found[change.column] = change
            self.partial[k] = 0.0
        self.center = self.origin + np.where(self.known[LEVEL, 0] > 0.0, self.mean[LEVEL, 0], 0.0)
        return sorted(found.values(), key=lambda change: -change.score)

    def _sums(self, rows: Array, d: int) -> Array:
        """Cells, missing cells, and sums of values, squares and deviations of 64 rows."""
        reach = np.where(self.width > 0.0, CUT * self.width, np.inf)
        x = np.clip(rows, self.center - reach, self.center + reach) - self.origin
        ordered = np.sort(rows, axis=0)  # NaN comes last
        gone = np.isnan(x)
        count = len(x) - gone.sum(axis=0)
        at = np.arange(x.shape[1])
        low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, len(x) - 1)
        middle = 0.5 * (ordered[low, at] + ordered[high, at])
        deviation = np.minimum(np.abs(rows - middle), reach)
        for part in (x, deviation):
            part[gone] = 0.0
        missing = np.where(at < d, len(x) - count, np.nan)
        return np.stack([count, missing, x.sum(0), (x * x).sum(0), deviation.sum(0)])

    def _judge(self, k: int, test: bool) -> list[Change]:
        """Compare a block that is complete with those before it, and let an older one count."""
        values, variance = self._values(k)
        found: list[Change] = []
        if test:
            judged = self._scores(k, values, variance)
            confirmed = self._agree(k, values - self.mean[:, k], judged)
            if confirmed.any():
                found = self._changed(k, values, variance, judged, confirmed)
                values[:, confirmed.any(axis=0)] = np.nan  # they are the new level already
        queue = self._queue(k)
        self._fold(k, queue[0, :3].copy(), queue[0, 3].copy())
        queue[:-1] = queue[1:].copy()
        queue[-1, :3], queue[-1, 3] = values, variance
        return found

    def _agree(self, k: int, away: Array, judged: _Judged) -> NDArray[np.bool_]:
        """Begin candidates, go on with those that the block agrees with, drop the others."""
        agreed, first = self.agreed[:, k], self.first[:, k]
        sign, new, d = np.sign(away), judged.new, len(self.width) - len(WHOLE)
        settling = self.base - self.restarted < 2 * LENGTHS[k] // BASE
        if settling or self.agreed[:, :, :d].any():  # a column explains the row as a whole
            new[:, d:] = False
            agreed[:, d:] = 0.0
        goes_on = (agreed != 0.0) & judged.large & (sign * first > 0.0)
        goes_on &= np.abs(away) >= np.abs(first) / 2.0
        self.agreed[:, k] = np.where(goes_on, agreed + sign, np.where(new, sign, 0.0))
        self.first[:, k] = np.where(goes_on, first, away)
        self.clear[:, k] = np.where(goes_on, self.clear[:, k], judged.score)
        confirmed: NDArray[np.bool_] = np.abs(self.agreed[:, k]) > WAITS[k]
        return confirmed

    def _values(self, k: int) -> tuple[Array, Array]:
        """The three channels of a block, NaN where there is nothing to say, and its variance."""
        count, gone, total, square, deviation = self.partial[k]
        count = np.where(count >= LENGTHS[k] // 16, count, np.nan)
        level = total / count
        silent = (self.two_valued > 0.0) | (self.scale <= 0.0)
        spread = np.log(deviation / count / np.where(silent, np.nan, self.scale) + FLOOR)
        missing = 2.0 * np.arcsin(np.sqrt(np.minimum(gone / LENGTHS[k], 1.0)))
        return np.stack([level, spread, missing]), np.maximum(square / count - level**2, 0.0)

    def _scores(self, k: int, values: Array, variance: Array) -> _Judged:
        """The score of each channel, its effect, and where it is a candidate."""
        mean, known, weight = self.mean[:, k], self.known[:, k], self.weight[:, k]
        away = values - mean
        least = np.stack([self.variance[k], np.full_like(variance, 0.3), np.ones_like(variance)])
        of_blocks = self.squares[:, k] / weight
        spread = np.maximum(of_blocks * weight / (weight - 1.0), least / LENGTHS[k])
        r = self.lagged[:, k] / self.squares[:, k] - SHRINK / np.sqrt(weight)
        r = np.clip(np.nan_to_num(r), 0.0, 0.95)
        kurtosis = np.nan_to_num(self.fourth[:, k] / weight / of_blocks**2, nan=3.0)
        freedom = (weight - 1.0) * (1.0 - r) / (1.0 + r) * np.minimum(1.0, 2.0 / (kurtosis - 1.0))
        freedom = np.maximum(freedom, 1.0)
        t2 = away**2 / (spread * (1.0 + 1.0 / known))
        score = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t2 / freedom))
        effect = away.copy()
        effect[LEVEL] /= np.sqrt((self.variance[k] + variance) / 2.0 + spread[LEVEL])
        far = np.abs(away) >= np.where(r > CORRELATED, FAR_CORRELATED, FAR) * self.record[:, k]
        near = np.abs(self.former - mean) / 2.0 + 3.0 * np.sqrt(spread)
        home = np.abs(values - self.former) <= near
        enough = (self.blocks[:, k] >= LEAST) & (np.abs(effect) >= EFFECT)
        new = enough & (score >= self.threshold) & far
        large = np.abs(effect) >= EFFECT / 2
        half = large & (score >= self.threshold / 2)
        most = np.clip(effect, -MOST, MOST)
        return _Judged(np.minimum(score, MOST), most, new, large, half, home)

    def _changed(
        self, k: int, values: Array, variance: Array, judged: _Judged, confirmed: NDArray[np.bool_]
    ) -> list[Change]:
        """The changes, but for ways back; all channels that moved in these columns start over."""
        window = np.concatenate([self._queue(k)[:, :3], values[None]]).mean(axis=0)
        rows = LENGTHS[k] * (WAITS[k] + 1)
        found = []
        news = confirmed & ~judged.home
        for column in np.flatnonzero(news.any(axis=0)).tolist():
            score, effect = self.clear[:, k, column], judged.effect[:, column]
            channel = int(np.argmax(np.where(news[:, column], score, -1.0)))
            before, after = self.mean[channel, k, column], window[channel, column]
            found.append(
                Change(column, channel, rows, float(score[channel]), float(effect[channel]),
                       self.in_units(channel, column, before),
                       self.in_units(channel, column, after))
            )  # fmt: skip
        moved = (confirmed | (judged.half & confirmed.any(axis=0))) & ~np.isnan(window)
        self._restart(k, moved, window, variance, rows)
        return found

    def _restart(
        self, k: int, moved: NDArray[np.bool_], window: Array, variance: Array, rows: int
    ) -> None:
        """Let channels start from their new level."""
        self.former = np.where(moved, self.mean[:, k], self.former)
        columns: NDArray[np.bool_] = np.asarray(moved.any(axis=0))
        weights = np.array([rows / length for length in LENGTHS])
        for at in range(len(LENGTHS)):
            self.mean[:, at] = np.where(moved, window, self.mean[:, at])
            self.known[:, at] = np.where(moved, weights[at], self.known[:, at])
            self.agreed[:, at][moved] = 0.0
            self._queue(at)[:, :, columns] = np.nan
            if at > k:
                self.partial[at][:, columns] = np.nan  # until the block is complete
        fresh = columns & ((self.width <= 0.0) | moved[SPREAD])
        for name in _CHANNELS:  # how much blocks differ is not what it was
            getattr(self, name)[:, :, fresh] = 0.0
        self.width = np.where(columns, np.maximum(self.width, np.sqrt(variance)), self.width)
        self.scale = np.where(self.scale > 0.0, self.scale, self.width)
        if columns[: -len(WHOLE)].any():
            self.restarted = self.base

    def _fold(self, k: int, values: Array, variance: Array) -> None:
        """Let a block count; NaN changes nothing."""
        there = ~np.isnan(values)
        keep = np.exp(-1.0 / MEMORY[k])
        old = self.known[:, k]
        away = np.where(there & (old > 0.0), values - self.mean[:, k], 0.0)
        away = np.where(there, away, 0.0)
        fair = away * np.sqrt(old / (old + 1.0))  # the mean itself is uncertain
        faded = np.where(there, keep, 1.0)
        self.blocks[:, k] += there
        self.weight[:, k] = self.weight[:, k] * faded + (there & (old > 0.0))
        self.squares[:, k] = self.squares[:, k] * faded + fair**2
        self.lagged[:, k] = self.lagged[:, k] * faded + fair * self.last[:, k]
        self.fourth[:, k] = self.fourth[:, k] * faded + fair**4
        self.record[:, k] = np.maximum(self.record[:, k] * faded**0.25, np.abs(away))
        self.last[:, k] = np.where(there, fair, self.last[:, k])
        known = old * faded + there
        first = there & (old == 0.0)
        step = np.where(there & ~first, away / known, 0.0)
        self.mean[:, k] = np.where(first, values, self.mean[:, k] + step)
        self.known[:, k] = known
        usual = self.variance[k]
        blend = np.where(there[LEVEL], (variance - usual) / known[LEVEL], 0.0)
        self.variance[k] = np.where(first[LEVEL], variance, usual + blend)

    def in_units(self, channel: int, column: int, value: float) -> float:
        """A channel's value as people say it: a mean, a mean absolute deviation, or a share."""
        if channel == LEVEL:
            return float(self.origin[column] + value)
        if channel == SPREAD:
            return float(max(np.exp(value) - FLOOR, 0.0) * self.scale[column])
        return float(np.sin(min(value, np.pi) / 2.0) ** 2)

    def is_share(self, change: Change) -> bool:
        """Whether a column had only 0 and 1, and its level is the share of 1."""
        return bool(self.two_valued[change.column] == ZERO_ONE and 0.0 <= change.after <= 1.0)
