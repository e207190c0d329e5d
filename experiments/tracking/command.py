"""Everything that ``python -m experiments tracker`` writes."""

from __future__ import annotations

from pathlib import Path

from experiments.journal import Journal
from experiments.output import write_csv, write_json
from experiments.tracking import belief, calibration, oracle_gap, pictures, sensitivity


def study(journal: Journal, out: Path, seeds: int, size: float) -> str:
    """Headroom, beliefs, calibration and sensitivity: CSV or JSON, Markdown and pictures."""
    ceiling = oracle_gap.measure(journal, seeds, size)
    write_csv(out / "oracle_gap.csv", ceiling)
    (out / "oracle_gap.md").write_text(oracle_gap.table(ceiling))

    believed = belief.measure(journal, seeds, size)
    write_json(out / "belief.json", **believed)
    (out / "belief.md").write_text(belief.table(believed["switches"]))
    pictures.beliefs(out, believed, size)

    reliable = calibration.measure(journal, seeds, size)
    write_json(out / "calibration.json", rows=reliable)
    (out / "calibration.md").write_text(calibration.table(reliable))
    pictures.reliability(out, reliable)

    changed = sensitivity.measure(journal, seeds, size)
    write_csv(out / "sensitivity.csv", changed)
    (out / "sensitivity.md").write_text(sensitivity.table(changed))
    return f"oracle gap, belief, calibration and sensitivity are in {out}"
