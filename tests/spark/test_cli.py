"""``lasec spark``: as people use it."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest

import lasec
import lasec.spark
from lasec.cli.jobs import LOG, Endpoints, Room
from lasec.cli.spark import _hushed

LASEC = [sys.executable, "-m", "lasec.cli", "spark", "run"]
ROWS = 60


def more(place, number):
    """One more file of events, and one of labels."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, 3))
    head = {
        "key": [f"tenant{i % 5}" for i in range(ROWS)],
        "id": [f"{number}-{i}" for i in range(ROWS)],
        "time": 1.7e9 + 1_000.0 * number + np.arange(ROWS),
    }
    for name in ("events", "labels"):
        (place / name).mkdir(exist_ok=True)
    events = pd.DataFrame(head | {"features": list(X)})
    labels = pd.DataFrame(head | {"y": np.where(X[:, 0] > 0, 1, -1).astype("i4")})
    events.to_parquet(place / "events" / f"{number}.parquet")
    labels.assign(time=labels["time"] + 500.0).to_parquet(place / "labels" / f"{number}.parquet")


def command(place, *more, events="events", model="fresh.lasec"):
    given = [events, "--labels", "labels", "--out", "out", "--checkpoint", "memory",
             "--model", model, "--shards", "4", "--conf", "spark.driver.memory=1g"]  # fmt: skip
    return {"args": [*LASEC, *given, *more], "cwd": place, "text": True}


def told(place):
    """What the job has told so far, and by which batches."""
    return pa_table(place).to_pandas()


def pa_table(place):
    return pyarrow.dataset.dataset(place / "out", format="parquet", partitioning="hive").to_table()


def test_a_job_is_run_stopped_and_gone_on_with(tmp_path):
    lasec.LASEC_SS(dimension=3, drift=0.001, aggressiveness=0.5).save(tmp_path / "fresh.lasec")
    more(tmp_path, 0)
    done = subprocess.run(**command(tmp_path), capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # Spark's own words are in the log
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Spark 4.")
    assert "Budgeted LASEC-SS, 3 features, 72 bytes per key" in done.stdout
    batch, rows, _, asked, learned, dead = lines[-2].split()
    assert (batch, rows, dead) == ("0", "120", "0")
    assert 0 < int(learned) == int(asked) <= ROWS
    assert lines[-1] == "processed 120 rows in 1 batch"
    more(tmp_path, 1)
    pipe = subprocess.PIPE
    with subprocess.Popen(**command(tmp_path, "--every", "1s"), stdout=pipe, stderr=pipe) as going:
        for line in going.stdout:
            if line.split()[:2] == ["1", "120"]:
                break
        going.send_signal(signal.SIGINT)
        rest, errors = going.communicate(timeout=120)
    assert going.returncode == 130, errors
    assert rest.splitlines()[-1] == "processed 120 rows in 1 batch"
    assert errors == "lasec: stopped; run the same command to continue\n"
    table = told(tmp_path)
    events = table[table["kind"].isin(["prediction", "question"])]
    assert sorted(events["id"]) == sorted(f"{n}-{i}" for n in range(2) for i in range(ROWS))
    assert (events["batch"] == events["id"].str[0].astype(int)).all()
    first = table[(table["kind"] == "question") & (table["batch"] == 0)]
    assert len(first) == int(asked)
    given = ["export", "tenant3", "tenant3.lasec", "--checkpoint", "memory", "--shards", "4"]
    done = subprocess.run([*LASEC[:-1], *given, "--model", "fresh.lasec"], cwd=tmp_path, text=True,
                          capture_output=True, check=False, timeout=300)  # fmt: skip
    rounds = 2 * ROWS // 5
    assert done.stdout.startswith(f"wrote tenant3.lasec: {rounds} rows"), done.stderr
    assert lasec.Learner.load(tmp_path / "tenant3.lasec").rows == rounds


def refused(place, *more, env=None, **names):
    env = os.environ | (env or {})
    done = subprocess.run(**command(place, *more, **names), env=env, capture_output=True,
                          check=False, timeout=100)  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_model_that_has_learned_is_refused(tmp_path):
    learner = lasec.LASEC_SS(dimension=3, drift=0.001)
    learner.ask([1.0, 2.0, 3.0])
    learner.save(tmp_path / "old.lasec")
    assert "has seen 1 rows" in refused(tmp_path, model="old.lasec")


def test_without_java_there_is_a_line_about_it(tmp_path):
    words = refused(tmp_path, env={"PATH": str(tmp_path), "JAVA_HOME": ""})
    assert words.startswith("lasec: Spark needs Java: install Java 17 or newer")


def test_an_old_java_is_named(tmp_path):
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    old.chmod(0o755)
    words = refused(tmp_path, env={"PATH": f"{tmp_path}:/bin", "JAVA_HOME": ""})
    assert "Java 17 or newer" in words
    assert words.rstrip().endswith("is Java 8")


def test_without_pyspark_there_is_a_line_about_it(tmp_path):
    code = "import sys; sys.modules['pyspark'] = None; from lasec.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "spark", "run", "a", "-c", "b"],
                          capture_output=True, text=True, check=False, timeout=100)  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2, "lasec: Spark needs pyspark: pip install '.[spark]' in a checkout of lasec\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--features", "dense"], "there is no features 'dense'"),
        (["--kafka-out", "told"], "either --out or --kafka-out"),
        (["--max-age", "soon"], "must be a duration such as"),
        (["--conf", "spark.ui.port"], "expected NAME=VALUE"),
        (["--conf-file", "none.conf"], "--conf-file none.conf: no such file"),
        (["--forget-after", "40d"], "forget_after: expected at least 5.184e+06"),
    ],
)
def test_what_does_not_go_together_is_said(tmp_path, more, words):
    lasec.LASEC_SS(dimension=3, drift=0.001).save(tmp_path / "fresh.lasec")
    assert words in refused(tmp_path, *more)


def test_the_log_of_spark_is_private(tmp_path):
    log = tmp_path / "memory" / LOG
    log.parent.mkdir()
    log.touch(0o644)
    place = Endpoints("e", None, "out", str(log.parent), None, None, "parquet", "array", None)
    for _ in range(2):
        with _hushed(place):
            os.write(2, b"words of Spark")
        assert log.stat().st_mode & 0o777 == 0o600
        assert log.read_text() == "words of Spark"
        log.unlink()


def test_settings_of_a_file_are_in_no_list_of_processes(tmp_path):
    (tmp_path / "own.conf").write_text("spark.hadoop.secret hunter2\n")
    code = (
        "from pathlib import Path\n"
        "from lasec.cli.jobs import Settings\n"
        "from lasec.spark import session\n"
        "Settings(1, 1, 'local[1]', '1d', '0', None, None, (), Path('own.conf')).read_file()\n"
        "spark = session('local[1]', spark__driver__host='127.0.0.1', spark__ui__enabled='false')\n"
        "lines = [path.read_bytes() for path in Path('/proc').glob('[0-9]*/cmdline')]\n"
        "print(spark.conf.get('spark.hadoop.secret'), any(b'own.conf' in line for line in lines),\n"
        "      any(b'hunter2' in line for line in lines))\n"
        "spark.stop()\n"
    )
    (tmp_path / "script.py").write_text(code)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, text=True,
                          capture_output=True, check=False, timeout=300)  # fmt: skip
    assert done.stdout == "hunter2 True False\n", done.stderr


def test_the_library_and_the_help_do_without_spark():
    code = (
        "import sys, lasec, lasec.cli.app; "
        "sys.exit(' '.join({'pyspark', 'py4j', 'pandas'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          timeout=100)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("memory", "keys", "form"),
    [
        ("8g", None, "tracker"),  # nobody knows how many keys there will be
        ("8g", 43_926, "tracker"),  # 195,552 bytes each
        ("8g", 43_927, "tracker-small"),
        ("512m", 10_000, "tracker-small"),
        (None, 10**6, "tracker"),
    ],
)
def test_the_form_of_the_tracker_is_that_which_fits(memory, keys, form):
    room = Room(memory, keys)
    assert room.form("tracker", 50, "array") == form
    assert room.form("tracker", 50, "sparse") == "tracker"  # grows with what occurs
    assert room.form("lasec-ss", 50, "array") == "lasec-ss"


def test_what_fits_is_told():
    job = lasec.spark.Job(lasec.LASEC_SS(dimension=50, drift=0.01))
    assert Room("1g").line(job) == "1g hold the models of 101,296 keys"
    words = ", fewer than 200,000: the others are read from the state when needed"
    assert Room("1g", 200_000).line(job).endswith(words)
    assert Room().line(job) == ""
    with pytest.raises(ValueError, match="--memory must be a size such as '8g' or '512m'"):
        Room("lots").line(job)
