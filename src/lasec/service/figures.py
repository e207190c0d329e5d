"""What is shown of a model: accuracy, budget, alarms, agreement, its journal."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from lasec.alarms import Alarm
from lasec.alarms import described as described_alarm
from lasec.metrics import Estimate
from lasec.queries import Budgeted
from lasec.service import bodies as b
from lasec.service.hooks import Hooks
from lasec.service.model import ServedModel
from lasec.service.operations import Ask, Operation, Tell, unpacked
from lasec.service.settings import DAY, NewModel
from lasec.service.store import Store, Transaction
from lasec.service.writer import MORE, Known

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
LONGEST = 64  # characters of a column's name in the text of an alarm
MOST_JUDGED = 20  # classes whose recall and precision are shown: each costs time, with their square
SOME = 500  # models that are counted before others have their turn


def known_or_none(value: float) -> float | None:
    """A number as JSON and a store have it: what is not known is None.

    >>> known_or_none(0.5), known_or_none(math.nan)
    (0.5, None)
    """
    return None if math.isnan(value) else value


def described(model: ServedModel) -> b.Model:
    """A model, as it is listed."""
    session = model.desk.session
    table = model.desk.table
    columns = [] if table is None else [column.name for column in table.encoder.columns]
    meter, learner = session.meter, session.learner
    return b.Model(
        model.name, model.status, learner.name, list(session.classes), learner.dimension,
        columns, meter.rows, meter.asked, model.made, model.asking.retain,
    )  # fmt: skip


def set_aside(name: str, new: NewModel | None, made: float, why: str) -> b.Model:
    """A model that cannot be read, as it is listed."""
    algorithm, classes = ("", []) if new is None else (new.algorithm, list(new.classes))
    retain = 0.0 if new is None else new.asking.retain
    return b.Model(name, "set aside", algorithm, classes, 0, [], 0, 0, made, retain, why)


def accuracy(model: ServedModel) -> b.Figures:
    """The accuracy, over all rows and over the last ones, and what lost answers can make of it."""
    record = model.desk.session.record
    meter = model.desk.session.meter.reaching()
    return b.Figures(
        _shown(meter.estimate()),
        _shown(meter.estimate(over="window")),
        meter.unpredicted,
        None if record is None else _shown(record.accuracy()),
    )


def sources(model: ServedModel) -> b.Sources:
    """What each source of labels cost, and what the judge knows, where there are two."""
    session = model.desk.session
    if (record := session.record) is None:
        return b.Sources()
    buying = record.buying
    asked = buying.questions, buying.escalated
    spent = [
        b.Spent(one.name, one.price, count, buying.spent[one.name])
        for one, count in zip((buying.judge, buying.expert), asked, strict=True)
    ]
    classes = [
        b.JudgedClass(label, _shown(record.recall(label)), _shown(record.precision(label)))
        for label in buying.classes[:MOST_JUDGED]
    ]
    judging = sum(not one.second for one in buying.asked.values())
    query: Any = session.learner.query
    cap = None if query.timed else buying.expert.price * query.cap(session.learner.rows)
    return b.Sources(
        spent, judging, _shown(record.accuracy()), classes, record.explained, record.worth,
        record.verdict, session.planned, cap,
    )  # fmt: skip


def _shown(found: Estimate) -> b.Accuracy:
    return b.Accuracy(
        known_or_none(found.value), found.low, found.high, found.rows, found.labels, found.lost,
        found.worst_low, found.worst_high,
    )  # fmt: skip


def budget(tx: Transaction, now: float, model: ServedModel) -> b.Budget:
    """What was spent, and what waits."""
    meter = model.desk.session.meter
    found = tx.read(
        "SELECT asked_at FROM questions WHERE tenant = ? AND model = ? AND status = 'open' "
        "ORDER BY ticket LIMIT 1", *model.key,
    )  # fmt: skip
    learner = model.desk.session.learner
    rate, per_day = _rates(learner.query)
    return b.Budget(
        meter.rows, meter.asked, meter.labels, meter.lost, meter.open, rate, per_day,
        model.queue.today(now), now - found[0][0] if found else None, *_early(learner),
        model.desk.session.spent,
    )  # fmt: skip


def _early(learner: Any) -> tuple[float, float | None, float | None]:
    """What is still to be repaid of the warm-up, by which row, and the hard cap of labels so far.

    >>> import lasec
    >>> _early(lasec.Tracker(2, rate=0.1)), _early(lasec.LASEC(2))
    ((50.0, 10000.0, 0.0), (0.0, None, None))
    """
    query = learner.query
    if not isinstance(query, Budgeted):
        return 0.0, None, None
    state = learner.selector.query_state
    if query.timed:
        return query.owed(state), None, None
    return query.owed(state), query.horizon, query.cap(learner.rows)


def _rates(query: Any) -> tuple[float | None, float | None]:
    """The budget that the query holds, by rows or by days: an imported model brings its own.

    >>> from lasec.queries import Always, Budgeted
    >>> _rates(Budgeted(0.2)), _rates(Budgeted.every("1d", labels=50)), _rates(Always())
    ((0.2, None), (None, 50.0), (None, None))
    """
    rate = getattr(query, "rate", None)
    if rate is None or not getattr(query, "timed", False):
        return rate, None
    return None, round(rate * DAY, 6)


def alarms(store: Store, model: ServedModel) -> b.Alarms:
    """The alarms of a model, the newest first."""
    key = model.tenant, model.name
    found = store.read(
        "SELECT at, alarm FROM alarms WHERE tenant = ? AND model = ? "
        "ORDER BY ticket DESC LIMIT 100", *key,
    )  # fmt: skip
    ((total,),) = store.read("SELECT COUNT(*) FROM alarms WHERE tenant = ? AND model = ?", *key)
    return b.Alarms([alarm_body(at, Alarm(**json.loads(text))) for at, text in found], total)


def alarm_body(at: float, alarm: Alarm) -> b.Alarm:
    r"""An alarm as a reply has it; what a column's name does to the direction of text ends with it.

    >>> body = alarm_body(0.0, Alarm("input: price", 9, 6.0, 1.0, 2.0, 5, what="mean", effect=1.2))
    >>> body.what, body.low, body.text.partition(":")[0]
    ('mean', None, 'input change (\u2068price\u2069) in row 10')
    """
    name, colon, column = alarm.kind.partition(": ")
    isolated = f"{name}{colon}\u2068{column[:LONGEST]}\u2069" if colon else name
    before, after, low, high = map(
        known_or_none, (alarm.before, alarm.after, alarm.low, alarm.high)
    )
    return b.Alarm(
        alarm.kind, alarm.ticket, at, before, after, alarm.since, low, high, alarm.labels,
        alarm.what, alarm.others, described_alarm(alarm._replace(kind=isolated)),
    )  # fmt: skip


def points(store: Store, model: ServedModel) -> b.Points:
    """The accuracy over time: the last thousand points."""
    found = store.read(
        "SELECT at, seen, asked, value, low, high FROM points WHERE tenant = ? AND model = ? "
        "ORDER BY at DESC LIMIT 1000", model.tenant, model.name,
    )  # fmt: skip
    return b.Points([b.Point(*row) for row in reversed(found)])


def journal(store: Store, model: ServedModel) -> Iterator[bytes]:
    """The decisions and labels that the journal still holds, a line of JSON each."""
    last = -1
    while found := store.read(
        "SELECT seq, body, said FROM journal WHERE tenant = ? AND model = ? AND seq > ? "
        "ORDER BY seq LIMIT 100", *model.key, last,
    ):  # fmt: skip
        last = found[-1][0]
        for seq, body, said in found:
            kept = msgspec.msgpack.decode(bytes(said))
            yield b"".join(_lines(seq, unpacked(bytes(body)), kept))


def _lines(seq: int, operation: Operation, said: list[list[Any]]) -> Iterator[bytes]:
    """The lines of one operation."""
    for at, kept in enumerate(said):
        if kept:
            ticket, prediction, chance, asked, label, correct = kept
            line: dict[str, Any] = {"seq": seq, "at": operation.at, "ticket": ticket}
            if isinstance(operation, Ask):
                name = operation.ids[at] if operation.ids else None
                line |= {"id": name, "prediction": prediction, "query_probability": chance}
                line |= {"asked": asked}
            else:
                by = operation.answers[at].by if isinstance(operation, Tell) else None
                line |= {"label": label, "correct": correct, "by": by}
            yield msgspec.json.encode(line) + b"\n"


_COUNTED = {"rows": "counter", "asked": "counter", "labels": "counter", "open": "gauge"}


class Counted:
    """Figures of many models, counted a slice at a time: sums, and those of a tenant's models."""

    def __init__(self, models: Iterable[ServedModel], tenant: str | None) -> None:
        self._left, self._tenant = list(models), tenant
        self.models = len(self._left)
        self.sums = Counter[str]()
        self.mine: list[tuple[str, dict[str, int]]] = []

    def run(self, tx: Transaction, now: float, known: Known) -> object:
        """Count some more models: a call of the writer."""
        some, self._left = self._left[:SOME], self._left[SOME:]
        for model in some:
            meter = model.desk.session.meter
            values = {name: int(getattr(meter, name)) for name in _COUNTED}
            self.sums.update(values)
            if model.tenant == self._tenant:
                self.mine.append((model.name, values))
        return MORE if self._left else None


def prometheus(commits: int, waiting: int, aside: int, counted: Counted, hooks: Hooks) -> bytes:
    """Figures of the process, and of a tenant's models; nothing of rows or people."""
    lines = [
        "# TYPE lasec_commits_total counter", f"lasec_commits_total {commits}",
        "# TYPE lasec_requests_waiting gauge", f"lasec_requests_waiting {waiting}",
        "# TYPE lasec_models gauge", f"lasec_models {counted.models}",
        "# TYPE lasec_models_set_aside gauge", f"lasec_models_set_aside {aside}",
        "# TYPE lasec_hook_posts_total counter", f"lasec_hook_posts_total {hooks.posted}",
        "# TYPE lasec_hook_unanswered_total counter",
    ]  # fmt: skip
    lines += [
        f'lasec_hook_unanswered_total{{reason="{kind}"}} {count}'
        for kind, count in sorted(hooks.unanswered.items())
    ]
    for name, kind in _COUNTED.items():
        suffix = f"{name}_total" if kind == "counter" else name
        lines += [f"# TYPE lasec_{suffix} {kind}", f"lasec_{suffix} {counted.sums[name]}"]
        if counted.mine:
            lines.append(f"# TYPE lasec_model_{suffix} {kind}")
        lines += [
            f'lasec_model_{suffix}{{model="{model}"}} {values[name]}'
            for model, values in counted.mine
        ]
    return ("\n".join(lines) + "\n").encode()
