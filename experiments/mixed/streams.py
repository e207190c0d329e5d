"""Tables with texts and other columns, made of real data in the order of time.

Three are mails and comments, with how they are written, the video, hour and weekday as columns.
Columns that tell the label by the way a corpus was made are left out: the date of the Enron mails
(spam is years younger than ham) and the time of the YouTube comments (245 of them, all spam, have
the time of the comment before). In two others the numbers of a stream stand beside texts that have
nothing to do with them: messages of the SMS collection.

Settings were chosen on ``youtube``, ``enron1`` and ``elec2, other texts``.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from experiments.data import data_folder
from experiments.real import open_dataset
from lasec.tables import table_of

NOISE = ", other texts"
STREAMS = ("youtube", "enron1", "spamassassin", f"elec2{NOISE}", f"noaa{NOISE}")
UNSEEN = ("spamassassin", f"noaa{NOISE}")
TEXTS = ("subject", "text")
LABEL = "label"
_ROWS = 5_574  # of the SMS collection


@lru_cache(maxsize=1)
def table(name: str, size: float = 1.0) -> pa.RecordBatch:
    """A stream as a table, its first rows by ``size``, with the label as text."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError(f"{name}: set LASEC_DATA, or give --data")
    data = open_dataset(name.removesuffix(NOISE), folder)
    y = np.where(np.asarray(data.columns[data.label]) == 1, "yes", "no")
    columns: dict[str, Any]
    if name.endswith(NOISE):
        columns = {part: np.asarray(data.columns[part])[:_ROWS] for part in data.features}
        columns["text"] = list(map(str, open_dataset("sms", folder).columns["text"]))
        y = y[:_ROWS]
    else:
        columns = mails(name, data.columns)
    rows = max(300, round(len(y) * size))
    read = table_of({part: v[:rows] for part, v in ({LABEL: y} | columns).items()})
    return pa.Table.from_batches(read.batches()).combine_chunks().to_batches()[0]


def mails(name: str, given: Any) -> dict[str, Any]:
    """The columns of mails or comments."""
    columns: dict[str, Any] = {}
    for part in TEXTS:
        if part in given:
            texts = list(map(str, given[part]))
            columns |= {part: texts} | written(part, texts)
    if "video" in given:
        columns["video"] = list(map(str, given["video"]))
    return columns | (when(given["time"]) if name == "spamassassin" else {})


def written(part: str, texts: list[str]) -> dict[str, list[float]]:
    """How texts are written: their length in characters, and the share of some of them.

    >>> list(written("text", ["WIN 10 £"]).values())
    [[8.0], [0.375], [0.25], [0.125]]
    """
    kinds = {
        "capitals": str.isupper,
        "digits": str.isdigit,
        "marks": lambda sign: not sign.isalnum() and not sign.isspace(),
    }
    found = {f"{part}_length": [float(len(text)) for text in texts]}
    for kind, holds in kinds.items():
        found[f"{part}_{kind}"] = [sum(map(holds, text)) / max(1, len(text)) for text in texts]
    return found


def when(times: Any) -> dict[str, list[str]]:
    """Hour and weekday, as categories.

    >>> when(["2001-06-25T11:18:19Z"])
    {'hour': ['h11'], 'weekday': ['Mon']}
    """
    read = [datetime.fromisoformat(str(time)) for time in times]
    return {
        "hour": [f"h{time.hour:02d}" for time in read],
        "weekday": [time.strftime("%a") for time in read],
    }
