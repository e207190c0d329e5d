"""The pages and pictures of the guide to the report: one stream of mails, three learners."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

import lasec
import lasec.reports

ROWS, CHANGE = 20_000, 5_000
MARCH, APART = 1_772_409_600.0, 130.0  # 2026-03-02 in seconds since 1970; seconds between two mails
COUNTRIES = ("Germany", "France", "Poland", "Spain")


def runs() -> dict[str, tuple[lasec.RunSummary, lasec.Learner]]:
    """The Tracker and two of the paper's algorithms on a stream that changes three times."""
    X, y = lasec.streams.switching(ROWS, dimension=20, every=CHANGE, noise=0.03, seed=1)
    countries = np.random.default_rng(1).choice(COUNTRIES, ROWS, p=(0.5, 0.3, 0.15, 0.05)).tolist()
    learners = {
        "Tracker": lasec.Tracker(rate=0.1, seed=0),
        "LASEC-SS": lasec.LASEC_SS(20, drift=0.01, ridge=0.5, aggressiveness=0.02, seed=0),
        "Perceptron-SS": lasec.Perceptron_SS(20, aggressiveness=1.0, seed=0),
    }
    times = MARCH + APART * np.arange(ROWS)
    made = {}
    for name, learner in learners.items():
        made[name] = lasec.evaluate(learner, X, y, groups=countries, times=times), learner
    return made


def pictures(out: Path) -> str:
    """Write the report, the comparison and every figure; with a chromium, what they look like."""
    out.mkdir(parents=True, exist_ok=True)
    made = runs()
    run, tracker = made["Tracker"]
    facts = {"data": f"synthetic stream of {ROWS:,} mails", "label": "spam, 3 % of them wrong"}
    report, comparison = out / "report.html", out / "comparison.html"
    title, classes = "Spam in four countries", ["ham", "spam"]
    lasec.reports.write(report, run, tracker, title=title, facts=facts, classes=classes)
    lasec.reports.compare(comparison, made, title="Three learners")
    lasec.reports.save_figures(out, run, tracker, ["svg"], classes=classes)
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return "no chromium here, so no pictures of the pages"
    _shoot(browser, report, out / "page.png", 1100, 1100)
    _shoot(browser, comparison, out / "comparison.png", 1100, 1000)
    phone = out / "phone.html"
    style = "border:0;width:390px;height:844px"
    phone.write_text(f'<body style="margin:0"><iframe src="report.html" style="{style}">')
    _shoot(browser, phone, out / "phone.png", 500, 844)
    phone.unlink()
    return f"pages and pictures in {out}"


def _shoot(browser: str, page: Path, picture: Path, width: int, height: int) -> None:
    """What a page looks like."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    window, target = f"--window-size={width},{height}", f"--screenshot={picture.resolve()}"
    command = [browser, *options, window, target, page.resolve().as_uri()]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603, a page of our own
