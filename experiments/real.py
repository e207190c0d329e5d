"""All real streams of the experiments: those that lasec knows, and those that are only a file."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np

from lasec.streams import Dataset, Known, catalogue
from lasec.streams import open_dataset as known_to_lasec
from lasec.streams.readers import Columns, read


def _of(
    name: str, title: str, rows: int, columns: int, label: str, classes: int, file: str,
    persistence: float | None = None, note: str = "", positive: int | None = 1,
    time: str | None = None,
) -> Known:  # fmt: skip
    return Known(
        name, title, rows, columns, label, classes, "", persistence, "a file", "", note, file,
        positive, time,
    )  # fmt: skip


_FILES = (
    # R. Elwell and R. Polikar. Incremental Learning of Concept Drift in Nonstationary Environments.
    # IEEE Transactions on Neural Networks 22(10), 2011. By day.
    _of("noaa", "Daily weather at Bellevue, Nebraska, rain or none", 18_159, 8, "rain", 2,
        "noaa_weather.npz", 0.680, "two rows have an impossible pressure, as in the source"),
    # I. Katakis, G. Tsoumakas and I. Vlahavas. Tracking Recurring Contexts Using Ensemble
    # Classifiers: An Application to Email Filtering. Knowledge and Information Systems 22, 2010.
    _of("spam_katakis", "Mails as sets of words, spam or ham", 9_324, 1, "spam", 2,
        "spam_katakis.npz", 0.916, "39,916 words, only known by number; long runs of one label"),
    # The Apache SpamAssassin Project. Public Mail Corpus, 2002-2006. By time of receipt.
    _of("spamassassin", "Mails with their text, spam or ham", 6_046, 2, "spam", 2,
        "spamassassin_text.jsonl.gz", 0.871,
        "almost only spam until June 2002, almost only ham in October 2002", time="time"),
    # V. Metsis, I. Androutsopoulos and G. Paliouras. Spam Filtering with Naive Bayes - Which Naive
    # Bayes? CEAS 2006. As interleaved by the authors.
    _of("enron1", "Mails of one Enron employee, spam or ham", 5_172, 2, "spam", 2,
        "enron1_text.jsonl.gz", 0.532, "ham and spam are of different years", time="date"),
    # T. C. Alberto, J. V. Lochter and T. A. Almeida. TubeSpam: Comment Spam Filtering on YouTube.
    # ICMLA 2015. By time of posting.
    _of("youtube", "Comments on five music videos, spam or not", 1_956, 2, "spam", 2,
        "youtube_spam.jsonl.gz", 0.695, "245 comments have the time of the one before",
        time="time"),
    # I. Katakis, G. Tsoumakas and I. Vlahavas. An Ensemble of Classifiers for Coping with Recurring
    # Contexts in Data Streams. ECAI 2008. The interests are simulated: they switch every 300 rows.
    _of("usenet1", "Newsgroup messages, interesting or not", 1_500, 99, "interesting", 2,
        "usenet1.npz"),
    _of("usenet2", "Newsgroup messages, interesting or not", 1_500, 99, "interesting", 2,
        "usenet2.npz", note="the share of interesting messages stays the same"),
    # R. M. Mohammad, F. Thabtah and L. McCluskey. An Assessment of Features Related to Phishing
    # Websites Using an Automated Technique. ICITST 2012. In no order of time.
    _of("phishing", "Web sites, legitimate or phishing", 11_055, 46, "legitimate", 2,
        "phishing_websites.npz", note="categories are expanded to columns of 0 and 1"),
    # N. Abdelhamid, A. Ayesh and F. Thabtah. Phishing Detection Based Associative Classification
    # Data Mining. Expert Systems with Applications 41, 2014. From River, in no order of time.
    _of("phishing_river", "Web pages, phishing or not", 1_250, 9, "phishing", 2,
        "phishing_river.npz"),
    # H. Wickham. nycflights13: Flights that Departed NYC in 2013. R package. By departure.
    _of("flights", "Flights from New York in 2013, late or on time", 327_346, 10, "late", 2,
        "nycflights13.npz", note="late: it arrived after the scheduled minute"),
    # I. Zliobaite. Combining Similarity in Time and Space for Training Set Formation under Concept
    # Drift. Intelligent Data Analysis 15(4), 2011. By time.
    _of("luxembourg", "Internet use of persons in Luxembourg, high or low", 1_901, 31, "high", 2,
        "luxembourg.npz", note="column x2 alone determines the label: compare no learners on it"),
    # X. Zhu. Stream Data Mining Repository, 2010. By hour; the label goes round in a circle.
    _of("powersupply", "The hour of the day by the supply of power in Italy", 29_928, 2, "hour",
        24, "powersupply.npz", positive=None),
    # V. Losing, B. Hammer and H. Wersing. Interactive Online Learning for Obstacle Classification
    # on a Mobile Robot. IJCNN 2015. Ten approaches of ten pictures to each object, by time.
    _of("outdoor", "Forty objects filmed in a garden, by color histograms", 4_000, 21, "object",
        40, "outdoor.npz", 0.903, positive=None),
)  # fmt: skip
KNOWN = {known.name: known for known in (*catalogue(), *_FILES)}


def open_dataset(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """A stream by name, as ``lasec.streams.open_dataset`` gives those that lasec knows."""
    known = KNOWN[name]
    if known not in _FILES:
        return known_to_lasec(name, folder)
    file = Path(folder or os.environ.get("LASEC_DATA", "")) / known.file
    columns = _words(known, file) if name == "spam_katakis" else read(known, file)
    return Dataset(name, columns, known.label, known.positive, known.time)


def _words(known: Known, file: Path) -> Columns:
    """Each row of a sparse matrix of 0 and 1 as a text of the words that it has: "w12 w345"."""
    with np.load(file) as data:
        words = [f"w{index}" for index in data["indices"].tolist()]
        ends, y = data["indptr"].tolist(), data["y"].astype(np.int64)
    texts = [" ".join(words[a:b]) for a, b in pairwise(ends)]
    return {"text": texts, known.label: y}
