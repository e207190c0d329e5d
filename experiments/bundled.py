"""Write the streams that come with the package: ``python -m experiments.bundled FOLDER``.

FOLDER has ``covertype.npz``, ``nycflights13.npz`` and ``sms_spam.jsonl.gz``. Every 40th row of the
first and every 20th row of the second is kept, so that a small file still covers the whole survey
and the whole year. Licenses and changes are in ``src/lasec/streams/data/LICENSES.md``.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).parents[1] / "src" / "lasec" / "streams" / "data"
STEPS = {"covertype": 40, "nycflights13": 20}
DROPPED = {"arr_delay"}  # minutes of delay: they tell the label


def write(source: Path, target: Path = DATA) -> None:
    """Write the three files into ``target``."""
    for name, step in STEPS.items():
        thin(source / f"{name}.npz", target / f"{name}_small.npz", step)
    text = gzip.decompress((source / "sms_spam.jsonl.gz").read_bytes())
    (target / "sms_spam.jsonl.gz").write_bytes(gzip.compress(text, mtime=0))


def thin(source: Path, target: Path, step: int) -> None:
    """Keep every ``step``-th row; columns lie together, because that way they compress better."""
    with np.load(source) as data:
        arrays = {name: data[name] for name in data.files if name not in DROPPED}
    arrays["X"] = np.asfortranarray(arrays["X"][::step])
    arrays["y"] = arrays["y"][::step]
    np.savez_compressed(target, **arrays)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
