"""A session that buys labels of two prices: who is asked, what was spent, what the judge knows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lasec.errors import TicketError
from lasec.metrics import Confusion, Estimate, Meter
from lasec.metrics.sums import SMALLEST, SURE
from lasec.metrics.words import Fact, estimated
from lasec.parameters import Range, number, shown
from lasec.persistence.record import Count, NotNegative, Shape
from lasec.queries import TwoPrices
from lasec.queries.two_prices import ASIDE
from lasec.random import words
from lasec.sources.judge import MEMORY, Judge, Noise
from lasec.sources.source import PRICES, Source, checked
from lasec.types import Decision, Outcome
from lasec.validation import class_label

Array = NDArray[np.float64]
Code = Annotated[int, Range(-1, 2**31)]
Share = Annotated[float, Range(0.0, 1.0)]
UNDECIDED, ENOUGH, UNSAID, FEW = -1, 10, -1.0, 100
SHOWN, WIDEST = 5, 40  # classes of which a record's facts tell, and characters of a fact's name


class Priced(NamedTuple):
    """The name and the price of a source."""

    name: str
    price: Annotated[float, PRICES]


class Asked(NamedTuple):
    """A row that the judge was asked about: the class predicted, its sign, and q.

    ``right`` is the model's probability that its prediction is right. After the answer, ``answer``
    is the class that the judge said (-1 for none) with ``confidence``, ``second`` the probability
    of asking an expert, ``place`` the row's number in the judge's own meter, and ``after`` the
    probabilities of the classes.
    """

    predicted: Code
    sign: Annotated[int, Range(-1, 1)]
    right: Annotated[float, Range(*SURE)]
    chance: Annotated[float, Range(SMALLEST, 1.0)]
    answer: Code
    confidence: Annotated[float, Range(-1.0, 1.0)]
    second: Share
    place: Annotated[int, Range(-1, 2**53)]
    after: Annotated[Array, Shape("classes"), Range(0.0, 1.0)]

    @property
    def before(self) -> Array:
        """The model's probabilities of the classes: evenly over those that it did not predict."""
        count = len(self.after)
        if self.predicted < 0:
            return np.full(count, 1.0 / count)
        made = np.full(count, (1.0 - self.right) / (count - 1))
        made[self.predicted] = self.right
        return made


class Verdict(NamedTuple):
    """What the judge's answer leads to.

    ``likely`` is P(y = +1) with it, as the meter counts; ``noise`` what is to be learned of the
    answer, if something is.
    """

    escalated: bool
    second: float
    likely: float
    noise: Noise | None


@dataclass
class Buying:
    """The sources of a session, its open judgments, the judge's record, and the money spent.

    >>> sources = [Source("rules", price=1.0), Source("people", price=50.0)]
    >>> Buying.of(sources, classes=["ham", "spam"])
    Buying('rules' at 1, 'people' at 50)
    """

    KIND = "sources"

    judge: Priced
    expert: Priced
    classes: list[Annotated[Any, class_label]]
    known: Judge
    judged: Confusion
    predicted: Confusion
    meter: Meter = field(default_factory=Meter)  # of the judge, over the rows that it answered
    asked: dict[Count, Asked] = field(default_factory=dict)
    questions: Count = 0
    escalated: Count = 0
    # Variance of whether the prediction is right, without the judge's answers and with them
    doubts: Annotated[Array, Shape(2), Range(0.0, 1e6)] = field(default_factory=lambda: np.zeros(2))
    paid: NotNegative = 0.0  # to the judge
    call: Callable[[Any], Any] | None = field(default=None, init=False)

    @classmethod
    def of(cls, sources: Sequence[Source], classes: Sequence[Hashable]) -> Buying:
        """Nothing bought yet."""
        judge, expert = checked(sources)
        count = len(set(classes))
        if count < 2:
            raise ValueError("classes: a judge needs the names of the classes, two or more")
        made = cls(
            Priced(judge.name, judge.price), Priced(expert.name, expert.price), list(classes),
            Judge.of(count), judged=Confusion.none(count), predicted=Confusion.none(count),
        )  # fmt: skip
        made.call = judge.ask
        return made

    def validate(self) -> str:
        """Why the parts contradict each other; empty if they do not."""
        count = len(self.classes)
        sizes = {len(self.known.table), len(self.judged.rows), len(self.predicted.rows)}
        rows = [asked.place for asked in self.asked.values()]
        codes = [code for asked in self.asked.values() for code in asked[:5:4]]
        sound = (
            self.judge.name != self.expert.name
            and self.judge.price <= self.expert.price
            and len(set(self.classes)) == count >= 2
            and sizes | {len(asked.after) for asked in self.asked.values()} == {count}
            and max(codes, default=-1) < count
            and max(rows, default=-1) < self.meter.rows
            and self.escalated <= self.questions
            and len(self.asked) <= self.questions
        )
        return "" if sound else "the parts of the sources contradict each other"

    def __deepcopy__(self, memo: dict[int, Any]) -> Buying:
        """A twin; the judge that is called is anybody's object, and is shared."""
        made = copy(self)
        for one in fields(self):
            if one.name != "call":
                setattr(made, one.name, deepcopy(getattr(self, one.name), memo))
        return made

    @property
    def judging(self) -> int:
        """How many questions wait for the judge."""
        return sum(not one.second for one in self.asked.values())

    def quoted(self, price: float | None) -> float:
        """What the judge takes for the next row, in experts' labels; None is its usual price."""
        dear = self.expert.price
        given: Any = self.judge.price if price is None else price
        return float(number("price", given, float, Range(1e-6 * dear, dear)) / dear)

    def open(self, decision: Decision, label: Hashable, chance: float, price: float | None) -> None:
        """The judge is asked about a row, at a price of its own or the usual one.

        The decision is as the meter hears it.
        """
        code = self.code(label) if decision.label else UNDECIDED
        self.questions += 1
        self.paid += self.judge.price if price is None else float(price)
        self.asked[decision.ticket] = Asked(
            code, int(decision.label), self._right(decision), chance, UNDECIDED, UNSAID, 0.0, -1,
            np.zeros(len(self.classes)),
        )  # fmt: skip

    def count(self, decision: Decision, label: Hashable) -> None:
        """A row was predicted, whether a label is asked for or not."""
        if decision.label:
            self.predicted.rows[self.code(label)] += 1.0

    @staticmethod
    def _right(decision: Decision) -> float:
        """The model's probability that its prediction is right."""
        p = min(max(0.5 + 0.5 * decision.margin, SURE[0]), SURE[1])
        return p if decision.label > 0 else 1.0 - p

    def code(self, label: Hashable) -> int:
        """The number of a class; one that is new is added."""
        if label not in self.classes:
            self.classes.append(label)
            self.known.widen(len(self.classes))
            self.judged = self.judged.widened(len(self.classes))
            self.predicted = self.predicted.widened(len(self.classes))
            self.asked = {
                ticket: asked._replace(after=np.pad(asked.after, (0, 1)))
                for ticket, asked in self.asked.items()
            }
        return self.classes.index(label)

    def waits_for(self, ticket: int) -> str | None:
        """Who is asked about an open question."""
        found = self.asked.get(ticket)
        return None if found is None else (self.expert if found.second else self.judge).name

    def hear(
        self, ticket: int, said: Hashable, confidence: float | None, query: TwoPrices,
        state: Array, seed: int,
    ) -> Verdict:  # fmt: skip
        """The judge has answered: an expert is asked, or is not; the money is settled.

        An answer that is none of the classes is no answer. The draw is a word of the ticket's own,
        so that it is the same after a restart.
        """
        asked = self.asked[ticket]
        if confidence is not None:
            confidence = number("confidence", confidence, float, Range(0.0, 1.0))
        answer = self.classes.index(said) if said in self.classes else UNDECIDED
        after = self.known.posterior(asked.before, None if answer < 0 else answer, confidence)
        doubts = [self._doubt(p, asked.predicted) for p in (asked.before, after)]
        waiting = len(self.asked) - round(float(state[ASIDE]))
        second = query.after(doubts[1], asked.chance, state, waiting)
        escalated = _draw(seed, ticket) < second
        query.follow(state, escalated)
        query.weigh(state, *doubts)
        if asked.predicted >= 0 and self.known.doubles >= ENOUGH:
            alone = self._doubt(self.known.alone(asked.before), asked.predicted)
            self.doubts = (1.0 - 1.0 / MEMORY) * self.doubts + [alone, doubts[1]]
        place = self._judge_asked(answer, after, second, ticket, escalated)
        kept = asked._replace(
            answer=answer, after=after, second=second, place=place,
            confidence=UNSAID if confidence is None else confidence,
        )  # fmt: skip
        if asked.predicted >= 0:
            self.predicted += Confusion.of_judged(asked.predicted, after, asked.chance)
        self.escalated += escalated
        if escalated:
            self.asked[ticket] = kept
        else:
            del self.asked[ticket]
        right = float(after[asked.predicted]) if asked.predicted >= 0 else 0.5
        noise = self.known.noise(answer) if answer >= 0 and self.known.doubles >= ENOUGH else None
        return Verdict(escalated, second, right if asked.sign >= 0 else 1.0 - right, noise)

    @staticmethod
    def _doubt(p: Array, predicted: int) -> float:
        """The variance of whether the prediction is right."""
        right = float(p[predicted]) if predicted >= 0 else 0.5
        return right * (1.0 - right)

    def _judge_asked(
        self, answer: int, after: Array, second: float, ticket: int, escalated: bool
    ) -> int:
        """Let the judge's own meter hear of an answer; gives the number of the row there."""
        if answer < 0:
            return -1
        sign, likely = 1, float(after[answer])
        if len(self.classes) == 2 and answer == 0:
            sign, likely = -1, 1.0 - likely
        place: int = self.meter.rows
        margin = 2.0 * likely - 1.0
        self.meter.ask(Decision(sign, margin, 0.0, second, escalated, place))
        self.judged.rows[answer] += 1.0
        return place

    def learn(self, outcome: Outcome, true: Hashable, query: TwoPrices, state: Array) -> None:
        """An expert has answered after the judge."""
        asked = self.asked.pop(outcome.decision.ticket, None)
        if asked is None:
            return
        label = self.code(true)
        asked = asked._replace(after=np.pad(asked.after, (0, len(self.classes) - len(asked.after))))
        query.double(state)
        if asked.predicted >= 0:
            self.predicted += Confusion.of_expert(
                asked.predicted, label, asked.after, asked.chance, asked.second
            )
        if asked.answer < 0:
            return
        sure = None if asked.confidence < 0.0 else asked.confidence
        self.known.learn(asked.before, asked.answer, label, sure, weight=1.0 / asked.second)
        wrong = asked.answer != label
        sign = -1 if len(self.classes) == 2 and asked.answer == 0 else 1
        heard = Decision(sign, 0.0, 0.0, asked.second, asked=True, ticket=asked.place)
        said = self.classes[asked.answer]
        self.meter.tell(Outcome(heard._replace(label=said), true, wrong, updated=True))
        self.judged += Confusion.of_labels([asked.answer], [label], [asked.second],
                                           len(self.classes))  # fmt: skip

    def give_up(self, ticket: int, query: TwoPrices, state: Array) -> None:
        """A question will not be answered: money that was set aside for it is given back."""
        asked = self.asked.pop(ticket, None)
        if asked is None:
            return
        if not asked.second:
            query.follow(state, escalated=False)
        elif asked.place >= 0:
            self.meter.cancel(asked.place)

    def expect(self, ticket: int, by: str | None) -> bool:
        """Whether an answer of this source is the judge's; refused where another is asked."""
        awaited = self.waits_for(ticket)
        judged = by == self.judge.name
        if awaited is not None and judged != (awaited == self.judge.name):
            raise TicketError(
                f"ticket {ticket}: {shown(awaited)} is asked about it, and {shown(by)} answered"
                if by is not None
                else f"ticket {ticket}: say who answered: {shown(awaited)} is asked about it"
            )
        return judged and awaited is not None

    @property
    def spent(self) -> dict[str, float]:
        """What each source was paid."""
        return {
            self.judge.name: self.paid,
            self.expert.name: self.escalated * self.expert.price,
        }

    def __repr__(self) -> str:
        named = (f"{one.name!r} at {one.price:g}" for one in (self.judge, self.expert))
        return f"Buying({', '.join(named)})"


class Record(NamedTuple):
    """What is known of a source by now: its own rates, over the rows that it answered."""

    buying: Buying

    def accuracy(self, **options: Any) -> Estimate:
        """How often the judge is right, without bias, with an interval."""
        return self.buying.meter.reaching().estimate(**options)

    def recall(self, label: Hashable, level: float = 0.95) -> Estimate:
        """Of the rows of a class, the share in which the judge says so."""
        return self._rate("recall", label, level)

    def precision(self, label: Hashable, level: float = 0.95) -> Estimate:
        """Of the rows in which the judge says a class, the share that is of it."""
        return self._rate("precision", label, level)

    @property
    def facts(self) -> list[Fact]:
        """How good the judge is, how often people were asked after it, and what was paid.

        >>> sources = [Source("rules", price=1.0), Source("people", price=50.0)]
        >>> for fact in Record(Buying.of(sources, classes=["ham", "spam"])).facts:
        ...     print(fact.name, "-", fact.line)
        judge right - unknown (no labels yet)
        judge knows more - not known before 10 people have answered after it
        spent - 0 on 'rules', 0 on 'people' (0 judged, 0 seen by an expert)
        """
        buying = self.buying
        paid = ", ".join(f"{paid:,.0f} on {name!r}" for name, paid in buying.spent.items())
        seen = f"{buying.questions:,} judged, {buying.escalated:,} seen by an expert"
        made = [estimated("judge right", self.accuracy()), *self._of_classes()]
        made += [Fact("judge knows more", self.verdict), Fact("spent", paid, seen)]
        if 0 < buying.escalated < FEW:
            few = f"fewer than {FEW} answers of experts: intervals may be a little too narrow"
            made.append(Fact("few experts", few))
        return made

    def _of_classes(self) -> Iterator[Fact]:
        """Recall and precision of the judge, for the first classes that people have seen."""
        for label in self.buying.classes[:SHOWN]:
            for metric in ("recall", "precision"):
                found = self._rate(metric, label, 0.95)
                if found.labels:
                    yield estimated(f"judge {metric} {label}"[:WIDEST], found)

    @property
    def explained(self) -> float | None:
        """The share of the model's uncertainty that the judge's answers remove, of late.

        It is measured over the last 200 or so, on the rows that it was asked about, where the model
        has most doubt. None until ten people have answered after it.
        """
        before, after = self.buying.doubts.tolist()
        return 1.0 - min(after / before, 1.0) if before else None

    @property
    def worth(self) -> float:
        """The share that a judge of this price has to remove to make intervals narrower.

        Of the model's variance, with r the ratio of the prices and R the share: intervals have a
        width of sqrt(1 - R) + sqrt(R r) of those of experts alone, below 1 from 4r/(1 + r)^2 on.

        >>> sources = [Source("rules", price=1.0), Source("people", price=50.0)]
        >>> round(Record(Buying.of(sources, classes=["ham", "spam"])).worth, 3)
        0.077
        """
        buying = self.buying
        price = buying.paid / buying.questions if buying.questions else buying.judge.price
        ratio = price / buying.expert.price
        return 4.0 * ratio / (1.0 + ratio) ** 2

    @property
    def verdict(self) -> str:
        """Whether the judge knows more than the model, in words."""
        found = self.explained
        if found is None:
            return f"not known before {ENOUGH} people have answered after it"
        removed, needed = f"{100.0 * found:.0f} %", f"{100.0 * self.worth:.0f} %"
        return (
            f"{'yes' if found >= self.worth else 'not enough'}: its answers remove about {removed} "
            f"of the model's uncertainty (worth its price from {needed} on)"
        )

    def _rate(self, metric: str, label: Hashable, level: float) -> Estimate:
        positive = self.buying.classes.index(label)
        return self.buying.judged.estimate(metric, positive=positive, level=level)


def _draw(seed: int, ticket: int) -> float:
    """The draw of the expert: the third word of the ticket, where a learner uses two."""
    return float(words(seed, ticket, 1)[0, 2] >> np.uint64(11)) * 2.0**-53
