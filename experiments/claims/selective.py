"""Section 5, "Selective Sampling Online Learning with Drift"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.claims.evidence import (
    EARLY,
    FIRST_SHIFT,
    LATE,
    Evidence,
    Finding,
    Judgment,
    at_most,
    best,
    finding,
    joined,
    rises,
)
from experiments.panels import RATES

RATE_OF = {"b": 0.1, "e": 0.4}
END = 10_000
NEAR = 0.05  # how "not too far" is read
FULL = 0.02  # how "the accuracy of a fully supervised setting" is read


def best_at_rate_of(panel: str) -> Callable[[Evidence], Judgment]:
    """LASEC-SS against the others at the panel's rate, interpolated in panel c."""

    def judge(e: Evidence) -> Judgment:
        rate = RATE_OF[panel]
        accuracy = {a: e.at_rate("c", a, rate) for a in e.standard(panel)}
        return best("LASEC-SS", accuracy, f"query rate {rate}")

    return judge


def bbq_best_before_first_shift(e: Evidence) -> Judgment:
    """Panels b and e at row 500."""
    parts = []
    for panel, rate in RATE_OF.items():
        accuracy = {a: e.accuracy(panel, a, FIRST_SHIFT) for a in e.standard(panel)}
        parts.append(best("BBQ", accuracy, f"rows 1 to 500, query rate {rate}"))
    return joined(parts)


def bbq_degrades(e: Evidence) -> Judgment:
    """BBQ's accuracy before the first shift minus after it."""
    return _differences(
        e, "accuracy", "BBQ, accuracy in rows 1 to 500 minus after", (0, FIRST_SHIFT),
        (FIRST_SHIFT, END), "BBQ",
    )  # fmt: skip


def bbq_stops_querying(e: Evidence) -> Judgment:
    """BBQ's query rate before the first shift minus at the end."""
    dried = _differences(
        e, "queries", "BBQ, query rate in rows 1 to 500 minus in the last 2,500", (0, FIRST_SHIFT),
        LATE, "BBQ",
    )  # fmt: skip
    late = [
        finding(
            f"BBQ, query rate in the last 2,500 rows, {_at(p)}", e.window(p, "BBQ", LATE, "queries")
        )
        for p in RATE_OF
    ]
    return dried._replace(findings=dried.findings + late)


def bbq_i_updates_less(e: Evidence) -> Judgment:
    """Updates of BBQ minus those of BBQ-I, as a share of the rows."""
    gaps = [
        finding(
            f"BBQ minus BBQ-I, updates per row, {_at(panel)}",
            (e.column(panel, "BBQ", "updates") - e.column(panel, "BBQ-I", "updates")) / END,
        )
        for panel in RATE_OF
    ]
    return rises(gaps)


def bbq_i_adapts(e: Evidence) -> Judgment:
    """Accuracy of BBQ-I minus BBQ after the first shift."""
    rows = (FIRST_SHIFT, END)
    gaps = [
        finding(
            f"BBQ-I minus BBQ, accuracy after row 500, {_at(panel)}",
            e.window(panel, "BBQ-I", rows) - e.window(panel, "BBQ", rows),
        )
        for panel in RATE_OF
    ]
    return rises(gaps)


def bbq_best_without_drift(e: Evidence) -> Judgment:
    """The stationary stream at query rate 0.1."""
    accuracy = {a: e.at_rate("stationary", a, 0.1) for a in e.standard("stationary")}
    return best("BBQ", accuracy, "stationary, query rate 0.1")


def all_suffer_at_low_rate(e: Evidence) -> Judgment:
    """What each algorithm loses after the first shift at query rate 0.1."""
    falls = [_fall(e, "b", a, (0, FIRST_SHIFT), (FIRST_SHIFT, END)) for a in e.standard("b")]
    return rises(falls)


def lasec_ss_steady_at_high_rate(e: Evidence) -> Judgment:
    """Panel e: the running average, and windows after the first shift.

    The claim has two halves, LASEC-SS does not fall and the others do, and two readings.
    """
    findings, parts = list[Finding](), list[int]()
    for words, change in (
        ("running average at the end minus at row 500", _running_change),
        ("accuracy in the last 2,500 rows minus in rows 501 to 2,500", _window_change),
    ):
        changes = {a: change(e, a, words) for a in e.standard("e")}
        findings += changes.values()
        own = changes.pop("LASEC-SS")
        parts.append(at_most(own._replace(estimate=-own.estimate)))  # it does not fall
        parts.append(min(-gap.side() for gap in changes.values()))  # and all others do
    return Judgment(findings, parts)


def sop_ss_recovers(e: Evidence) -> Judgment:
    """Panel e: a drop at the first shift, then a rise."""
    drop = _fall(e, "e", "SOP-SS", (0, FIRST_SHIFT), EARLY)
    rise = _window_change(e, "SOP-SS", "accuracy in the last 2,500 rows minus in rows 501 to 2,500")
    return rises([drop, rise])


def sop_ss_queries_dip(e: Evidence) -> Judgment:
    """Panel e: the query rate of SOP-SS falls as it converges, and rises again later."""
    start, after, end = (
        e.window("e", "SOP-SS", rows, "queries")
        for rows in ((0, FIRST_SHIFT), (FIRST_SHIFT, 2 * FIRST_SHIFT), LATE)
    )
    dip = finding("SOP-SS, query rate in rows 1 to 500 minus in rows 501 to 1,000", start - after)
    back = finding(
        "SOP-SS, query rate in the last 2,500 rows minus in rows 501 to 1,000", end - after
    )
    return rises([dip, back])


def best_at_every_rate(panel: str) -> Callable[[Evidence], Judgment]:
    """LASEC-SS against the others at every rate inside the measured ones."""

    def judge(e: Evidence) -> Judgment:
        names, rates = e.standard(panel), RATES[1:-1]
        found = []
        for rate in rates:
            accuracy = {a: e.at_rate(panel, a, rate) for a in names}
            count = (len(names) - 1) * len(rates)
            one = best("LASEC-SS", accuracy, f"query rate {rate:g}", count)
            found.append(one._replace(findings=one.findings[-1:]))
        return joined(found)

    return judge


def many_labels_with_drift(e: Evidence) -> Judgment:
    """What LASEC-SS lacks at a fifth of the labels on the synthetic stream."""
    gaps = _short_of_all(e, "c", "LASEC-SS", (0.1, 0.2, 0.5))
    return Judgment(gaps, [gaps[1].side(FULL)])


def few_labels_without_drift(e: Evidence) -> Judgment:
    """What SOP-SS and LASEC-SS lack at a fifth of the labels without drift."""
    gaps = [
        g for a in ("SOP-SS", "LASEC-SS") for g in _short_of_all(e, "stationary", a, (0.1, 0.2))
    ]
    return Judgment(gaps, [-gap.side(FULL) for gap in gaps[1::2]])


def half_is_not_far(e: Evidence) -> Judgment:
    """LASEC-SS at half of the labels, on both datasets."""
    gaps = [_short_of_all(e, panel, "LASEC-SS", (0.5,))[0] for panel in ("c", "f")]
    return Judgment(gaps, [-gap.side(NEAR) for gap in gaps])


def _short_of_all(e: Evidence, panel: str, algorithm: str, rates: Sequence[float]) -> list[Finding]:
    full = e.accuracy(panel, algorithm, 1.0)
    names = {"c": "synthetic", "f": "USPS", "stationary": "stationary"}
    return [
        finding(
            f"{algorithm}, accuracy with every label minus at query rate {rate:g}, {names[panel]}",
            full - e.at_rate(panel, algorithm, rate),
        )
        for rate in rates
    ]


def _fall(
    e: Evidence, panel: str, algorithm: str, before: tuple[int, int], after: tuple[int, int]
) -> Finding:
    words = f"{algorithm}, accuracy in {_rows(before)} minus in {_rows(after)}, {_at(panel)}"
    return finding(words, e.window(panel, algorithm, before) - e.window(panel, algorithm, after))


def _running_change(e: Evidence, algorithm: str, words: str) -> Finding:
    gap = e.accuracy("e", algorithm) - e.accuracy("e", algorithm, FIRST_SHIFT)
    return finding(f"{algorithm}, {words}", gap)


def _window_change(e: Evidence, algorithm: str, words: str) -> Finding:
    gap = e.window("e", algorithm, LATE) - e.window("e", algorithm, EARLY)
    return finding(f"{algorithm}, {words}", gap)


def _differences(
    e: Evidence, name: str, words: str, first: tuple[int, int], last: tuple[int, int], who: str
) -> Judgment:
    gaps = [
        finding(
            f"{words}, {_at(panel)}",
            e.window(panel, who, first, name) - e.window(panel, who, last, name),
        )
        for panel in RATE_OF
    ]
    return rises(gaps)


def _at(panel: str) -> str:
    return f"query rate {RATE_OF[panel]}"


def _rows(window: tuple[int, int]) -> str:
    return f"rows {window[0] + 1:,} to {window[1]:,}"
