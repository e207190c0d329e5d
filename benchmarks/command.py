"""``lasec run`` on a long file, against pyarrow that only reads it: time, and memory at the peak.

The file is Covertype, from the folder in ``LASEC_DATA`` or from its public source; as CSV at half,
full and double length, and as Parquet and JSON lines. Each process is started anew; both are
measured in turn, three times, and medians are given.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

READ = {
    "csv": "import sys, pyarrow.csv as c; print(sum(b.num_rows for b in c.open_csv(sys.argv[1])))",
    "parquet": "import sys, pyarrow.parquet as p; "
    "print(sum(b.num_rows for b in p.ParquetFile(sys.argv[1]).iter_batches(8_192)))",
    "jsonl": "import sys, pyarrow.json as j; "
    "print(sum(b.num_rows for b in j.open_json(sys.argv[1])))",
}


def process(*arguments: str) -> tuple[float, float]:
    """Seconds and peak megabytes of a process of its own."""
    started = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL) as running:  # noqa: S603
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{arguments[:4]} ended with {running.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024.0


def files(folder: Path, quick: bool) -> Iterator[tuple[str, Path]]:
    """Covertype in several lengths and formats."""
    whole = folder / "covertype.csv"
    process("-m", "lasec.cli", "datasets", "covertype", "--out", str(whole))
    names, *rows = whole.read_bytes().splitlines(keepends=True)
    half, double = folder / "half.csv", folder / "double.csv"
    half.write_bytes(names + b"".join(rows[: len(rows) // (20 if quick else 2)]))
    yield "CSV, half", half
    if quick:
        return
    yield "CSV", whole
    double.write_bytes(names + b"".join(rows) * 2)
    del rows
    yield "CSV, twice", double
    for ending, title in (("parquet", "Parquet"), ("jsonl", "JSON lines")):
        other = folder / f"covertype.{ending}"
        process("-m", "lasec.cli", "datasets", "covertype", "--out", str(other))
        yield title, other


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """A line for each file."""
    with tempfile.TemporaryDirectory() as place:
        for title, file in files(Path(place), quick):
            run = (
                "-m",
                "lasec.cli",
                "run",
                str(file),
                "--label",
                "cover",
                "--positive",
                "2",
                "--json",
            )
            read = ("-c", READ[file.suffix[1:]], str(file))
            process(*run, "--limit", "20000")  # compiles
            runs, reads = [], []
            for _ in range(1 if quick else 3):
                reads.append(process(*read))
                runs.append(process(*run))
            seconds, peak = (statistics.median(column) for column in zip(*runs, strict=True))
            bare, bare_peak = (statistics.median(column) for column in zip(*reads, strict=True))
            rows = round(
                581_012
                * {"half.csv": 0.05 if quick else 0.5, "double.csv": 2.0}.get(file.name, 1.0)
            )
            yield {
                "file": title,
                "rows": rows,
                "file_mb": round(file.stat().st_size / 1e6, 1),
                "lasec_s": round(seconds, 2),
                "rows_per_s": round(rows / seconds),
                "peak_mb": round(peak),
                "pyarrow_s": round(bare, 2),
                "pyarrow_peak_mb": round(bare_peak),
                "ratio": round(seconds / bare, 1),
            }
