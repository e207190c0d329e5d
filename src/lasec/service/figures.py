"""What is shown of a model: accuracy, budget, alarms, agreement, its journal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from lasec.metrics import Estimate
from lasec.service import bodies as b
from lasec.service import people
from lasec.service.model import ServedModel
from lasec.service.operations import Ask, Tell, unpacked
from lasec.service.settings import DAY
from lasec.service.store import Store, Transaction

if TYPE_CHECKING:
    from lasec.service.service import Service

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


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
        columns, meter.rows, meter.asked, model.made,
    )  # fmt: skip


def accuracy(tx: Transaction, model: ServedModel) -> b.Figures:
    """The accuracy, over all rows and over the last ones, and what lost answers can make of it."""
    meter = model.desk.session.meter.reaching()
    found = meter.estimate("accuracy"), meter.estimate("accuracy", over="window")
    overall, recent = (_shown(one, *_lost(tx, model, one)) for one in found)
    return b.Figures(overall, recent)


def _lost(tx: Transaction, model: ServedModel, found: Estimate) -> tuple[int, float]:
    """The answers lost among the rows of an estimate, and for how many rows they stand."""
    ((lost, weight),) = tx.read(
        "SELECT count(*), coalesce(sum(1 / propensity), 0) FROM questions "
        "WHERE tenant = ? AND model = ? AND status = 'gone' AND ticket >= ?",
        model.tenant, model.name, found.until - found.rows,
    )  # fmt: skip
    return int(lost), float(weight)


def _shown(found: Estimate, lost: int, weight: float) -> b.Accuracy:
    """An estimate; at worst, each row that a lost answer stands for was right, or wrong."""
    slack = min(1.0, weight / max(found.rows, 1))
    return b.Accuracy(
        known_or_none(found.value), found.low, found.high, found.rows,
        found.labels, lost, max(0.0, found.low - slack), min(1.0, found.high + slack),
    )  # fmt: skip


def budget(tx: Transaction, now: float, model: ServedModel) -> b.Budget:
    """What was spent, and what waits."""
    meter, key = model.desk.session.meter, (model.tenant, model.name)
    ((today, oldest),) = tx.read(
        "SELECT sum(CASE WHEN asked_at >= ? THEN 1 ELSE 0 END), "
        "min(CASE WHEN status = 'open' THEN asked_at END) "
        "FROM questions WHERE tenant = ? AND model = ?", now - now % DAY, *key,
    )  # fmt: skip
    rate, per_day = _rates(model.desk.session.learner.query)
    return b.Budget(
        meter.rows, meter.asked, meter.labels, meter.lost, meter.open, rate, per_day,
        int(today or 0), None if oldest is None else now - oldest,
    )  # fmt: skip


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
    found = store.read(
        "SELECT kind, ticket, at, alarm FROM alarms WHERE tenant = ? AND model = ? "
        "ORDER BY ticket DESC LIMIT 100", model.tenant, model.name,
    )  # fmt: skip
    return b.Alarms([_alarm(*row) for row in found])


def _alarm(kind: str, ticket: int, at: float, text: str) -> b.Alarm:
    alarm = json.loads(text)
    before, after = (known_or_none(alarm[n]) for n in ("before", "after"))
    return b.Alarm(kind, ticket, at, before, after, int(alarm["since"]))


def agreement(store: Store, model: ServedModel) -> b.Agreement:
    """Who answered how much, and how often people agree."""
    return people.agreement(
        store.read(
            "SELECT ticket, person, label, status FROM answers WHERE tenant = ? AND model = ?",
            model.tenant, model.name,
        )
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
    for seq, body, said in store.read(
        "SELECT seq, body, said FROM journal WHERE tenant = ? AND model = ? ORDER BY seq",
        model.tenant, model.name,
    ):  # fmt: skip
        operation = unpacked(bytes(body))
        for at, kept in enumerate(msgspec.msgpack.decode(bytes(said))):
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


def prometheus(service: Service, tenant: str | None) -> bytes:
    """Figures of the process, and of a tenant's models; nothing of rows or people."""
    models = list(service.models.values())
    lines = [
        "# TYPE lasec_commits_total counter",
        f"lasec_commits_total {service.writer.groups}",
        "# TYPE lasec_requests_waiting gauge",
        f"lasec_requests_waiting {service.writer.waiting}",
        "# TYPE lasec_models gauge",
        f"lasec_models {len(models)}",
    ]
    named = {"rows": "counter", "asked": "counter", "labels": "counter", "open": "gauge"}
    for name, kind in named.items():
        suffix = f"{name}_total" if kind == "counter" else name
        values = {m: getattr(m.desk.session.meter, name) for m in models}
        lines += [f"# TYPE lasec_{suffix} {kind}", f"lasec_{suffix} {sum(values.values())}"]
        mine = [(m.name, value) for m, value in values.items() if m.tenant == tenant]
        if mine:
            lines.append(f"# TYPE lasec_model_{suffix} {kind}")
        lines += [f'lasec_model_{suffix}{{model="{model}"}} {value}' for model, value in mine]
    return ("\n".join(lines) + "\n").encode()
