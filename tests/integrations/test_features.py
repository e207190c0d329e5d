"""The table of docs/features.md: each cell that says yes is tried, and every other has a reason."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lasec
from lasec.alarms import DropAlarm

ROOT = Path(__file__).parents[2]
FACES = ("Session", "evaluate", "lasec run", "lasec ask/tell", "scikit-learn", "River", "Spark")
CLASSES, ACCURACY, ALARMS = "more than two classes", "estimated accuracy", "alarms"
LOST, ANNOTATORS, PREDICT = "lost labels", "several annotators", "predict without asking"
FEATURES = (CLASSES, ACCURACY, ALARMS, LOST, ANNOTATORS, PREDICT)
BATCH = "the interface has no place for who answered: aggregate answers before"
SHARD = "a job serves many models; its metrics have the sums from which a monitor can alarm"
FIRST = "in a job the first label counts"
X, y = lasec.streams.switching(3_000, dimension=4, every=1_500, seed=1)


def lasec_ss(**options):
    return lasec.LASEC_SS(4, drift=0.0, aggressiveness=1.0, seed=0, **options)


def session(**options):
    made = lasec.Session(lasec_ss(), classes=[-1, 1], **options)
    for x, sign in zip(X, y, strict=True):
        decision = made.ask(x)
        if decision.asked:
            made.tell(decision.ticket, int(sign))
    return made


def three_classes():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 4), scale=4.0)
    names = np.array(["ham", "spam", "eggs"])[rng.integers(3, size=600)]
    rows = rng.normal(size=(600, 4)) + centers[np.unique(names, return_inverse=True)[1]]
    return rows, names


def session_classes():
    rows, names = three_classes()
    made = lasec.Session(lasec.Tracker(4, rate=0.3, seed=0))
    for x, name in zip(rows, names, strict=True):
        decision = made.ask(x)
        if decision.asked:
            made.tell(decision.ticket, name)
    return set(made.predict(rows)) == set(names)


def session_lost():
    made = lasec.Session(lasec.LASEC(4))
    made.cancel(made.ask(X[0]).ticket)
    return made.meter.lost == 1


def session_annotators():
    made = lasec.Session(lasec.LASEC(4, aggregate="majority"))
    ticket = made.ask(X[0]).ticket
    return [made.tell(ticket, -1, by=name).settled for name in ("ann", "bob")] == [False, True]


def evaluated(**options):
    made = lasec.Tracker(4, rate=0.3, seed=0, **options.pop("learner", {}))
    return made, lasec.evaluate(made, X, y, **options)


def evaluate_annotators():
    answers = np.column_stack([y, -y, y])
    learner, _ = evaluated(learner={"aggregate": "majority"}, answers=answers)
    return learner.contradicted > 0 and learner.told > 0


def evaluate_classes():
    rows, names = three_classes()
    run = lasec.evaluate(lasec.Tracker(4, rate=0.3, seed=0), rows, names)
    return set(run.records.label[-200:]) == set(run.classes) == set(names)


def evaluate_predict():
    learner, _ = evaluated()
    before = learner.to_bytes()
    return set(learner.predict(X)) == {-1, 1} and learner.to_bytes() == before


class Shell:
    """The command line in a folder with a table."""

    def __init__(self, folder):
        self.folder = folder
        names = [f"x{j}" for j in range(4)]
        self.rows = [dict(zip(names, row, strict=True)) for row in X.round(4).tolist()]
        self.labels = np.where(y > 0, "spam", "ham").tolist()
        self.write(self.labels)

    def write(self, labels):
        lines = [",".join([*self.rows[0], "label"])]
        for row, label in zip(self.rows, labels, strict=True):
            lines.append(",".join([*map(str, row.values()), label]))
        (self.folder / "s.csv").write_text("\n".join(lines))

    def __call__(self, *arguments, given=()):
        done = subprocess.run(
            [sys.executable, "-m", "lasec.cli", *arguments], cwd=self.folder, text=True,
            input="\n".join(map(json.dumps, given)), capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done

    def run(self, *options):
        options = ("--label", "label", "--rate", "0.4", "--seed", "1", "--json", *options)
        return json.loads(self("run", "s.csv", *options).stdout)

    def asked(self, rows, *options):
        options = ("--classes", "ham,spam", "--rate", "0.4", "--seed", "1", *options)
        done = self("ask", *options, given=rows)
        return [one for one in map(json.loads, done.stdout.splitlines()) if one["asked"]]

    def tell(self, asked, **more):
        answers = [
            {"ticket": one["ticket"], "label": self.labels[one["ticket"]]} | more for one in asked
        ]
        return self("tell", given=answers)


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def run_alarms(shell):
    half = len(shell.labels) // 2  # from here on labels are noise: no model recovers
    noise = np.random.default_rng(0).permutation(shell.labels[half:]).tolist()
    shell.write(shell.labels[:half] + noise)
    return shell.run("--alarms", "-a", "lasec-ss", "--set", "drift=0")["alarms"]


def run_classes(shell):
    rows, names = three_classes()
    lines = [",".join([*map(str, row), name]) for row, name in zip(rows, names, strict=True)]
    (shell.folder / "s.csv").write_text("\n".join(["a,b,c,d,label", *lines]))
    return shell.run()["classes"] == ["eggs", "ham", "spam"]


def run_lost(shell):
    spans = [run["estimate"] for run in (shell.run(), shell.run("--lost", "0.5"))]
    whole, part = (span["high"] - span["low"] for span in spans)
    return part > 1.2 * whole


def run_annotators(shell):
    return shell.run("--annotator-errors", "0.1,0.1,0.1")["accuracy"] > 0.6


def run_predict(shell):
    shell.run("--out", "out")
    done = shell("predict", "--model", "out/model.lasec", given=shell.rows[:50])
    return {json.loads(line)["prediction"] for line in done.stdout.splitlines()} == {"ham", "spam"}


def ask_accuracy(shell):
    for at in (slice(0, 300), slice(300, 1_200)):
        shell.tell(shell.asked(shell.rows[at]))
    return "estimate" in shell("info", "model.lasec").stdout


def ask_alarms(shell):
    said = ""
    for at in (slice(0, 300), slice(300, 1_500), slice(1_500, 3_000)):
        said += shell.tell(shell.asked(shell.rows[at], "--alarms")).stderr
    return "lasec: alarm: accuracy drop" in said


def ask_lost(shell):
    ticket = shell.asked(shell.rows[:100])[0]["ticket"]
    shell("forget", str(ticket))
    return all(json.loads(q)["ticket"] != ticket for q in shell("questions").stdout.splitlines())


def ask_annotators(shell):
    asked = shell.asked(shell.rows[:20], "--annotators", "3")[:1]
    settled = [json.loads(shell.tell(asked, by=n).stdout)["settled"] for n in ("ann", "bob")]
    return settled == [False, True]


def ask_classes(shell):
    first, *_ = shell.asked(shell.rows[:20])
    told = shell("tell", given=[{"ticket": first["ticket"], "label": "eggs"}]).stdout
    return json.loads(told)["label"] == "eggs"


def ask_predict(shell):
    shell.tell(shell.asked(shell.rows[:300]))
    return '"prediction": "' in shell("predict", given=shell.rows[:5]).stdout


def fitted(**options):
    from lasec.sklearn import LASECClassifier

    model = LASECClassifier(0.0, rate=0.4, seed=0, **options)
    for at in range(0, 3_000, 100):
        rows, labels = X[at : at + 100], y[at : at + 100]
        asked, _ = model.should_ask(rows)
        model.partial_fit(rows[asked], labels[asked], classes=[-1, 1])
    return model


def sklearn_classes():
    from lasec.sklearn import TrackerClassifier

    rows, names = three_classes()
    return set(TrackerClassifier().fit(rows, names).predict(rows)) == set(names)


def sklearn_lost():
    model = fitted()
    asked, _ = model.should_ask(X[:200])
    return model.cancel(X[:200][asked]) == asked.sum() > 0


def floated(**options):
    from lasec.river import LASECClassifier

    model = LASECClassifier(0.0, rate=0.4, seed=0, **options)
    model.watch(DropAlarm())
    for x, sign in zip(X, y, strict=True):
        decision = model.ask_one(dict(enumerate(x)))
        if decision.asked:
            model.tell_one(decision.ticket, int(sign))
    return model


def river_classes():
    from lasec.river import TrackerClassifier

    rows, names = three_classes()
    model = TrackerClassifier()
    for x, name in zip(rows, names, strict=True):
        model.learn_one(dict(enumerate(x)), str(name))
    return {model.predict_one(dict(enumerate(x))) for x in rows} == set(names)


def river_lost():
    model = floated()
    decision = next(d for x in X if (d := model.ask_one(dict(enumerate(x)))).asked)
    model.cancel_one(decision.ticket)
    return model.meter.lost == 1


def spark_box():
    pytest.importorskip("pyspark")
    sys.path.insert(0, str(ROOT / "tests" / "spark"))
    import box

    return box


def spark_classes():
    box = spark_box()
    rows, names = three_classes()
    shard = box.Box(lasec.Tracker(4, rate=0.3, classes=["ham", "spam", "eggs"]))
    events = [box.event(f"e{i}", box.NOW + i, tuple(x)) for i, x in enumerate(rows)]
    labels = [box.label(f"e{i}", box.NOW + i, name) for i, name in enumerate(names)]
    told = shard(*events, *labels)
    return set(told[told.kind == "prediction"].label) == set(names)


def spark_accuracy():
    box = spark_box()
    shard = box.Box()
    told = shard(*(box.event(f"e{i}", box.NOW + i) for i in range(20)))
    told = shard(*(box.label(f"e{i}", box.NOW + 30.0 + i) for i in range(20)))
    detail = json.loads(told[told.kind == "metrics"].detail.iloc[-1])
    return lasec.spark.accuracy([detail["accuracy_sums"]]).labels == 20


def spark_lost():
    box = spark_box()
    shard = box.Box(max_age=10.0)
    shard(box.event("a"))
    shard(box.event("b", box.NOW + 100.0), now=box.NOW + 100.0)
    return shard.head.expired == 1


def spark_predict():
    spark_box()
    from lasec.spark.scoring import Snapshot

    return Snapshot(lasec_ss().to_bytes()).judge(X, None).label.size == len(X)


CELLS = {
    (CLASSES, "Session"): session_classes,
    (ACCURACY, "Session"): lambda: 0.5 < session().accuracy().value < 1.0,
    (ALARMS, "Session"): lambda: session(detectors=[DropAlarm()]).alarms,
    (LOST, "Session"): session_lost,
    (ANNOTATORS, "Session"): session_annotators,
    (PREDICT, "Session"): lambda: set(session().predict(X)) == {-1, 1},
    (CLASSES, "evaluate"): evaluate_classes,
    (ACCURACY, "evaluate"): lambda: evaluated()[1].accuracy in evaluated()[1].estimate,
    (ALARMS, "evaluate"): lambda: lasec.evaluate(lasec_ss(), X, y, alarms=[DropAlarm()]).alarms,
    (LOST, "evaluate"): lambda: (
        evaluated(learner={"max_age": 50}, delay=np.where(np.arange(3_000) % 5, 10.0, np.inf))[
            1
        ].meter.lost
    ),
    (ANNOTATORS, "evaluate"): evaluate_annotators,
    (PREDICT, "evaluate"): evaluate_predict,
    (CLASSES, "lasec run"): run_classes,
    (ACCURACY, "lasec run"): lambda shell: shell.run()["estimate"]["value"] > 0.5,
    (ALARMS, "lasec run"): run_alarms,
    (LOST, "lasec run"): run_lost,
    (ANNOTATORS, "lasec run"): run_annotators,
    (PREDICT, "lasec run"): run_predict,
    (CLASSES, "lasec ask/tell"): ask_classes,
    (ACCURACY, "lasec ask/tell"): ask_accuracy,
    (ALARMS, "lasec ask/tell"): ask_alarms,
    (LOST, "lasec ask/tell"): ask_lost,
    (ANNOTATORS, "lasec ask/tell"): ask_annotators,
    (PREDICT, "lasec ask/tell"): ask_predict,
    (CLASSES, "scikit-learn"): sklearn_classes,
    (ACCURACY, "scikit-learn"): lambda: 0.5 < fitted().accuracy().value < 1.0,
    (ALARMS, "scikit-learn"): lambda: fitted(detectors=[DropAlarm()]).alarms_,
    (LOST, "scikit-learn"): sklearn_lost,
    (ANNOTATORS, "scikit-learn"): BATCH,
    (PREDICT, "scikit-learn"): lambda: set(fitted().predict(X)) == {-1, 1},
    (CLASSES, "River"): river_classes,
    (ACCURACY, "River"): lambda: 0.5 < floated().meter.accuracy.value < 1.0,
    (ALARMS, "River"): lambda: floated().alarms,
    (LOST, "River"): river_lost,
    (ANNOTATORS, "River"): BATCH,
    (PREDICT, "River"): lambda: floated().predict_one(dict(enumerate(X[0]))) in (-1, 1),
    (CLASSES, "Spark"): spark_classes,
    (ACCURACY, "Spark"): spark_accuracy,
    (ALARMS, "Spark"): SHARD,
    (LOST, "Spark"): spark_lost,
    (ANNOTATORS, "Spark"): FIRST,
    (PREDICT, "Spark"): spark_predict,
}
TRIED = {name: cell for name, cell in CELLS.items() if callable(cell)}


@pytest.mark.parametrize("name", TRIED, ids=" in ".join)
def test_a_cell(name, request):
    cell = TRIED[name]
    given = cell.__code__.co_varnames[: cell.__code__.co_argcount]
    assert cell(*(request.getfixturevalue(fixture) for fixture in given))


def written():
    """The table as Markdown, from the cells."""
    reasons = list(dict.fromkeys(cell for cell in CELLS.values() if not callable(cell)))
    lines = [f"| | {' | '.join(FACES)} |", "|---" * (len(FACES) + 1) + "|"]
    for feature in FEATURES:
        cells = (CELLS[feature, face] for face in FACES)
        told = ("yes" if callable(cell) else f"no ({reasons.index(cell) + 1})" for cell in cells)
        lines.append(f"| {feature} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n\n" + "\n".join(f"{i}. {r}." for i, r in enumerate(reasons, 1))


def test_the_page_has_this_table():
    page = (ROOT / "docs" / "features.md").read_text()
    found = re.search(r"^\| \| Session.*?^\d\. in a job.*?$", page, re.M | re.S)
    assert found is not None
    assert found.group() == written()
