"""The known streams: what each is, how it is ordered, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

BUNDLED = "bundled"


class Known(NamedTuple):
    """One known stream, before it is opened.

    ``columns`` counts its features, ``classes`` the values of its column ``label``. ``order`` says
    in which sense the rows are in the order of time, and is empty where they are not.
    ``persistence`` is the accuracy of predicting the previous label, where it is known: report it
    next to any result on the stream. ``origin`` is where :func:`~lasec.streams.open_dataset` gets
    the rows where no folder has the ``file``: "bundled" streams are part of lasec, and ``license``
    holds their terms.

    >>> import lasec
    >>> elec2 = next(known for known in lasec.streams.catalogue() if known.name == "elec2")
    >>> elec2.rows, elec2.label, elec2.persistence, elec2.origin
    (45312, 'up', 0.853, 'OpenML 151')
    """

    name: str
    title: str
    rows: int
    columns: int
    label: str
    classes: int
    order: str
    persistence: float | None
    origin: str
    reference: str
    note: str
    file: str
    positive: int | None = 1
    time: str | None = None
    license: str = ""


def catalogue() -> tuple[Known, ...]:
    """The streams that :func:`~lasec.streams.open_dataset` knows by name.

    >>> [known.name for known in catalogue() if known.origin == "bundled"]
    ['sms', 'covertype_small', 'flights_small']
    """
    return _KNOWN


_BLACKARD = (
    "J. A. Blackard and D. J. Dean. Comparative Accuracies of Artificial Neural Networks and "
    "Discriminant Analysis in Predicting Forest Cover Types. Computers and Electronics in "
    "Agriculture 24(3), 2000."
)
_WICKHAM = "H. Wickham. nycflights13: Flights that Departed NYC in 2013. R package."

_KNOWN = (
    Known(
        "usps", "Handwritten digits of 16 x 16 grey values", 9_298, 256, "digit", 10,
        "", None, "OpenML 41082",
        "J. J. Hull. A Database for Handwritten Text Recognition Research. IEEE Transactions on "
        "Pattern Analysis and Machine Intelligence 16(5), 1994.",
        "the first 7,291 rows are the usual training part", "usps.npz", positive=None,
    ),
    Known(
        "elec2", "Electricity prices in New South Wales, up or down", 45_312, 8, "up", 2,
        "time, every 30 minutes", 0.853, "OpenML 151",
        "M. Harries. Splice-2 Comparative Evaluation: Electricity Pricing. UNSW-CSE-TR-9905, 1999.",
        "the original description tells to ignore date and nswprice", "elec2.npz",
    ),
    Known(
        "sms", "Text messages, spam or ham", 5_574, 1, "spam", 2, "", 0.767, BUNDLED,
        "T. A. Almeida, J. M. Gomez Hidalgo and A. Yamakami. Contributions to the Study of SMS "
        "Spam Filtering: New Collection and Results. DocEng 2011.",
        "", "sms_spam.jsonl.gz", license="CC BY 4.0",
    ),
    Known(
        "covertype", "Forest cover of cells of land, class 2 or another", 581_012, 54, "cover", 7,
        "", 0.906, "scikit-learn fetch_covtype",
        _BLACKARD,
        "rows follow the survey area; persistence is that of all seven classes in the first "
        "100,000 rows", "covertype.npz", positive=2,
    ),
    Known(
        "covertype_small", "Every 40th row of covertype", 14_526, 54, "cover", 7,
        "", 0.541, BUNDLED, _BLACKARD,
        "rows follow the survey area; persistence is that of all seven classes",
        "covertype_small.npz", positive=2,
        license="CC BY 4.0; copyright Jock A. Blackard and Colorado State University",
    ),
    Known(
        "kdd", "Network connections, attack or normal", 494_021, 41, "attack", 2,
        "", 0.999, "scikit-learn fetch_kddcup99",
        "S. Stolfo, W. Fan, W. Lee, A. Prodromidis and P. Chan. KDD Cup 1999 Data. UCI KDD "
        "Archive, 1999.",
        "the subset of 10 %; long runs of one label; persistence is that of the first 100,000 "
        "rows", "kddcup99_10percent.npz",
    ),
    Known(
        "flights_small", "Every 20th flight out of New York in 2013", 16_368, 10, "late", 2,
        "time of scheduled departure", 0.599, BUNDLED,
        _WICKHAM, "late: it arrived after the scheduled minute", "nycflights13_small.npz",
        license="CC0 1.0",
    ),
)  # fmt: skip
