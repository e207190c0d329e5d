"""``lasec run`` on a long file, against pyarrow that only reads it: time, and memory at the peak.

The file is Covertype, from the folder in ``LASEC_DATA`` or from its public source; as CSV at half,
full and double length, and as Parquet and JSON lines. Each process is started anew; both are
measured in turn, three times, and medians are given.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROWS = 581_012
LENGTHS = {"half.csv": 0.5, "covertype.csv": 1.0, "double.csv": 2.0}
READ = {
    ".csv": "import sys, pyarrow.csv as c; print(sum(b.num_rows for b in c.open_csv(sys.argv[1])))",
    ".parquet": "import sys, pyarrow.parquet as p; "
    "print(sum(b.num_rows for b in p.ParquetFile(sys.argv[1]).iter_batches(8_192)))",
    ".jsonl": "import sys, pyarrow.json as j; "
    "print(sum(b.num_rows for b in j.open_json(sys.argv[1])))",
}
LASEC = "from lasec.cli import main; main()"
# A process inherits the peak of the one that started it, so each looks at its own memory.
PEAK = r"""
import atexit, re, sys
def peak():
    with open("/proc/self/status") as file:
        sys.stderr.write(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
atexit.register(peak)
"""


def process(code: str, *arguments: str) -> tuple[float, float]:
    """Seconds and peak megabytes of a process of its own."""
    started = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PEAK + code, *arguments], check=True, capture_output=True, text=True
    )
    return time.perf_counter() - started, int(done.stderr.split()[-1]) / 1024.0


def files(folder: Path, quick: bool) -> Iterator[tuple[Path, int]]:
    """Covertype in several lengths and formats, and how many rows each has."""
    whole = folder / "covertype.csv"
    process(LASEC, "datasets", "covertype", "--out", str(whole))
    if quick:
        yield cut(whole, folder / "short.csv", ROWS // 20), ROWS // 20
        return
    for name, share in LENGTHS.items():
        rows = round(ROWS * share)
        yield whole if share == 1.0 else cut(whole, folder / name, rows), rows
    for ending in ("parquet", "jsonl"):
        other = folder / f"covertype.{ending}"
        process(LASEC, "datasets", "covertype", "--out", str(other))
        yield other, ROWS


def cut(whole: Path, part: Path, rows: int) -> Path:
    """So many rows of a file, from its beginning, and again."""
    with open(whole, "rb") as source, open(part, "wb") as target:
        names = source.readline()
        target.write(names)
        while rows:
            text = source.readline()
            if not text:
                source.seek(len(names))
                continue
            target.write(text)
            rows -= 1
    return part


def table(quick: bool) -> Iterator[dict[str, Any]]:
    """A line for each file."""
    with tempfile.TemporaryDirectory() as place:
        for file, rows in files(Path(place), quick):
            run = (LASEC, "run", str(file), "--label", "cover", "--positive", "2", "--json")
            read = (READ[file.suffix], str(file))
            process(*run, "--limit", "20000")  # compiles
            runs, reads = [], []
            for _ in range(1 if quick else 3):
                reads.append(process(*read))
                runs.append(process(*run))
            seconds, peak = (statistics.median(column) for column in zip(*runs, strict=True))
            bare, bare_peak = (statistics.median(column) for column in zip(*reads, strict=True))
            yield {
                "file": file.name,
                "rows": rows,
                "file_mb": round(file.stat().st_size / 1e6, 1),
                "lasec_s": round(seconds, 2),
                "rows_per_s": round(rows / seconds),
                "peak_mb": round(peak),
                "pyarrow_s": round(bare, 2),
                "pyarrow_peak_mb": round(bare_peak),
                "ratio": round(seconds / bare, 1),
            }
