"""A label budget, written from the equations of lasec.queries.account and lasec.queries.pacing."""

import math


def clip(value, low, high):
    return min(max(value, low), high)


class Budget:
    """``query`` is a :class:`lasec.queries.Budgeted`: only its parameters are read."""

    def __init__(self, query):
        self.query = q = query
        rate = min(q.rate, q.total / q.horizon) if q.total else q.rate
        labels = rate * q.window
        self.boost = min(q.warm_up, 0.1 * rate * q.horizon)
        self.repay = self.boost / q.horizon
        self.burst = q.burst or 2.0 * (16.0 + 0.1 * labels + self.boost)
        if q.timed and not q.burst:
            self.burst = max(self.burst, 2.0 * labels)
        self.tokens, self.pace = self.burst / 2.0, rate
        self.rows = self.labels = self.blind = 0
        self.shift = self.usual = self.crowd = self.first = self.last = 0.0

    def chance(self, margin, time, waiting):
        """The probability of asking; what the row brings is kept until :meth:`spend`."""
        q = self.query
        self._arrive(time)
        stretch = 0.4 / self.usual if 0.0 < self.usual < 0.4 else 1.0
        self.size, seen = abs(margin), margin * stretch
        self.p = q.inner.probability(type("Seen", (), {"margin": seen, "variance": 0.0}), self.rows)
        if q.rate >= 1.0 and not (q.timed or q.total or q.max_open):
            return 1.0
        if self.tokens < 1.0:
            return 0.0
        s = self._behind()
        few = clip(self.tokens / min(8.0, self.burst / 4.0) - 1.0, 0.0, 1.0)
        room = clip(2.0 - 2.0 * waiting / q.max_open, 0.0, 1.0) if q.max_open else 1.0
        e = (
            q.audit
            * min(self.share, 0.25)
            * math.exp(self._pull(min(0.0, s + (18.0 if q.adapt else 6.0))))
        )
        e *= min(1.0, self.tokens / 8.0) ** 2 * (0.2 + 0.8 * room)
        return e + (1.0 - e) * self._wanted(s) * few * room

    def spend(self, asked):
        """The row is asked or not."""
        q = self.query
        self.rows, self.labels = self.rows + 1, self.labels + asked
        self.blind += self.tokens < 1.0
        e = q.audit * min(self.share, 0.25)
        aim = max(0.0, self.share - e) / (1.0 - e)
        self.shift += 0.1 * self._ease() * (aim - self._wanted(0.0))
        self.usual += (self.size - self.usual) / min(self.rows, 500)
        self.shift = clip(self.shift, -18.0, 18.0)
        self.tokens -= asked
        self.repay = self.repay if self.boost else 0.0

    def _arrive(self, time):
        """Tokens, boost and rows a window, as of this row."""
        q = self.query
        now = float(self.rows + 1)
        if q.timed:
            now = max(time, self.last) if self.rows else time
        ticks = now - self.last if self.rows else 0.0
        if q.total:
            left = max(q.horizon - (self.last - self.first), 0.1 * q.horizon)
            self.pace = min(q.rate, (q.total - self.labels) / left)
        self.first = self.first if self.rows else now
        self.tokens = min(self.burst, self.tokens + self.pace * ticks)
        if q.total and self.labels + 1 > q.total:
            self.tokens = 0.0
        self.boost = max(0.0, self.boost - self.repay * ticks)
        self.share, self.last = self.pace, now
        if q.timed:
            self.crowd = 1.0 + self.crowd * math.exp(-ticks / q.window)
            past = now - self.first
            covered = 1.0 if past <= 0.0 else 1.0 - math.exp(-past / q.window)
            self.share = min(1.0, self.pace * q.window / self.crowd * covered)

    def _behind(self):
        return self.tokens - self.burst / 2.0 + self.boost

    def _ease(self):
        return 0.02 / self.share if self.share > 0.02 else 1.0  # nothing may be left of a total

    def _pull(self, s):
        q = self.query
        g = 10.0 / (self.pace * q.window) if q.timed else self._ease()
        return clip(min(0.3, g) * s, -4.0, 4.0)

    def _wanted(self, s):
        r = min(self.share, 1.0 - 1e-6)
        odds = self.p * r / (1.0 - r) * math.exp(self.shift + self._pull(s))
        return odds / (1.0 + odds)
