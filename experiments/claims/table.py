"""The list of claims, and the tables of verdicts and of what was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from experiments import tables
from experiments.claims import selective, supervised, theory
from experiments.claims.evidence import Evidence, Finding, Judgment, Tables
from experiments.protocols import ONCE, PER_RATE

Judge = Callable[[Evidence], Judgment]


class Claim(NamedTuple):
    """What the paper says, in our words, with its section and panel; and how it is judged.

    ``tuned``: whether the protocol of tuning can make a difference.
    """

    where: str
    says: str
    judge: Judge
    tuned: bool = True


SUPERVISED, SELECTIVE, THEORY = "5, supervised", "5, selective", "4"
CLAIMS = (
    Claim(f"{SUPERVISED}, a", "Before the first shift SOP is the best",
          supervised.sop_best_before_first_shift, False),
    Claim(f"{SUPERVISED}, a", "LASEC copes with the shifts and ends ahead of every other algorithm",
          supervised.lasec_best_on_synthetic, False),
    Claim(f"{SUPERVISED}, d", "On USPS LASEC slightly outperforms SOP",
          supervised.lasec_ahead_of_sop_on_usps, False),
    Claim(f"{SUPERVISED}, d", "On USPS LASEC and SOP outperform the perceptron-like algorithms",
          supervised.second_order_ahead_on_usps, False),
    Claim(SUPERVISED, "At the optimal lambda and B, Shifting and RBP reduce to the perceptron",
          supervised.tuned_is_the_perceptron, False),
    Claim(f"{SELECTIVE}, b", "At query rate 0.1 LASEC-SS outperforms the others",
          selective.best_at_rate_of("b")),
    Claim(f"{SELECTIVE}, e", "At query rate 0.4 LASEC-SS outperforms the others",
          selective.best_at_rate_of("e")),
    Claim(f"{SELECTIVE}, b and e", "Before the first shift BBQ is the best",
          selective.bbq_best_before_first_shift),
    Claim(f"{SELECTIVE}, b and e", "After the first shift BBQ degrades significantly",
          selective.bbq_degrades),
    Claim(f"{SELECTIVE}, b and e", "BBQ converges and stops querying labels",
          selective.bbq_stops_querying),
    Claim(f"{SELECTIVE}, b and e", "BBQ-I makes fewer updates than BBQ",
          selective.bbq_i_updates_less),
    Claim(f"{SELECTIVE}, b and e", "BBQ-I adapts to a switch more easily than BBQ",
          selective.bbq_i_adapts),
    Claim(f"{SELECTIVE}", "Without drift BBQ outperforms BBQ-I and the other selective algorithms",
          selective.bbq_best_without_drift),
    Claim(f"{SELECTIVE}, b", "With one label in ten, every algorithm loses accuracy to the shifts",
          selective.all_suffer_at_low_rate),
    Claim(f"{SELECTIVE}, e", "At the higher rate the average accuracy of LASEC-SS does not "
          "decrease, in contrast to the others'", selective.lasec_ss_steady_at_high_rate),
    Claim(f"{SELECTIVE}, e", "The first shifts cost SOP-SS accuracy; it regains some of it later",
          selective.sop_ss_recovers),
    Claim(f"{SELECTIVE}, e", "That is because SOP-SS converges and stops querying, and after a "
          "shift detects in time that labels are needed", selective.sop_ss_queries_dip),
    Claim(f"{SELECTIVE}, c", "On the synthetic data LASEC-SS is the most accurate of the "
          "selective algorithms (read: at every query rate)", selective.best_at_every_rate("c")),
    Claim(f"{SELECTIVE}, f", "On USPS LASEC-SS is the most accurate of the selective algorithms "
          "(read: at every query rate)", selective.best_at_every_rate("f")),
    Claim(f"{SELECTIVE}, c", "With drift many more labels are needed for the accuracy of full "
          f"supervision (read: at query rate 0.2 more than {selective.FULL} is missing)",
          selective.many_labels_with_drift),
    Claim(SELECTIVE, "Without drift a small fraction of the labels is enough for it (read: at "
          f"query rate 0.2 less than {selective.FULL} is missing)",
          selective.few_labels_without_drift),
    Claim(f"{SELECTIVE}, c and f", "Half of the labels give a performance not too far from full "
          f"information (read: within {selective.NEAR})", selective.half_is_not_far),
    Claim(f"{THEORY}, after Theorem 4", "At its optimal a the bound of LASEC-SS can be "
          "sharper than that of LASEC", theory.selective_bound_can_be_sharper, False),
    Claim(f"{THEORY}, Remark 5", "More labels are queried for larger a",
          theory.more_labels_for_larger_a, False),
)  # fmt: skip


class Judged(NamedTuple):
    """A claim with its judgment under the paper's protocol, and under ours where it differs."""

    claim: Claim
    once: Judgment
    per_rate: Judgment | None


def judged(results: Tables) -> list[Judged]:
    """All claims, judged under both protocols."""
    once, per_rate = Evidence(results, ONCE), Evidence(results, PER_RATE)
    return [
        Judged(claim, claim.judge(once), claim.judge(per_rate) if claim.tuned else None)
        for claim in CLAIMS
    ]


def verdicts(found: list[Judged]) -> tables.Table:
    """One line a claim."""
    head = ["", "section, panel", "claim", "verdict", "re-tuned at each rate"]
    lines = []
    for number, (claim, once, per_rate) in enumerate(found, start=1):
        second = "" if per_rate is None else per_rate.verdict
        lines.append([str(number), claim.where, claim.says, once.verdict, second])
    return tables.Table(head, lines)


def measured(found: list[Judged]) -> tables.Table:
    """One line a measured quantity, both protocols side by side."""
    head = ["claim", "quantity", "estimate", "95 % CI", "re-tuned", "95 % CI", "runs"]
    lines = []
    for number, (_, once, per_rate) in enumerate(found, start=1):
        second = {f.quantity: f for f in per_rate.findings} if per_rate else {}
        names = dict.fromkeys([f.quantity for f in once.findings] + list(second))
        first = {f.quantity: f for f in once.findings}
        for name in names:
            runs = (first.get(name) or second[name]).runs
            cells = [*_numbers(first.get(name)), *_numbers(second.get(name)), str(runs)]
            lines.append([str(number), name, *cells])
    return tables.Table(head, lines)


def _numbers(found: Finding | None) -> list[str]:
    if found is None:
        return ["", ""]
    sign = " minus " in found.quantity
    ends = (found.estimate - found.half, found.estimate + found.half)
    low, high = (tables.number(end, sign) for end in ends)
    return [tables.number(found.estimate, sign), f"{low} to {high}"]
