"""The known streams: what each is, how it is ordered, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

BUNDLED = "bundled"
FILE = "not bundled"


class Known(NamedTuple):
    """One known stream, before it is opened.

    ``columns`` counts its features, ``classes`` the values of its column ``label``. ``order`` says
    in which sense the rows are in the order of time, and is empty where they are not.
    ``persistence`` is the accuracy of predicting the previous label, where it is known: report it
    next to any result on the stream. ``origin`` is where :func:`~lasec.streams.open_dataset` gets
    the rows: "bundled" streams are part of lasec, "not bundled" ones need a file named ``file``.
    ``license`` holds the terms of the bundled streams.

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


_KATAKIS = "I. Katakis, G. Tsoumakas and I. Vlahavas."
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
        "noaa", "Daily weather at Bellevue, Nebraska, rain or none", 18_159, 8, "rain", 2,
        "time, daily", 0.680, FILE,
        "R. Elwell and R. Polikar. Incremental Learning of Concept Drift in Nonstationary "
        "Environments. IEEE Transactions on Neural Networks 22(10), 2011.",
        "two rows have an impossible pressure, as in the source", "noaa_weather.npz",
    ),
    Known(
        "spam_katakis", "Mails as sets of words, spam or ham", 9_324, 1, "spam", 2,
        "time", 0.916, FILE,
        f"{_KATAKIS} Tracking Recurring Contexts Using Ensemble Classifiers: An Application to "
        "Email Filtering. Knowledge and Information Systems 22, 2010.",
        "39,916 words, which are only known by number; long runs of one label",
        "spam_katakis.npz",
    ),
    Known(
        "spamassassin", "Mails with their text, spam or ham", 6_046, 2, "spam", 2,
        "time of receipt", 0.871, FILE,
        "The Apache SpamAssassin Project. Public Mail Corpus, 2002-2006.",
        "almost only spam until June 2002, almost only ham in October 2002",
        "spamassassin_text.jsonl.gz", time="time",
    ),
    Known(
        "enron1", "Mails of one Enron employee, spam or ham", 5_172, 2, "spam", 2,
        "as interleaved by the authors", 0.532, FILE,
        "V. Metsis, I. Androutsopoulos and G. Paliouras. Spam Filtering with Naive Bayes - Which "
        "Naive Bayes? CEAS 2006.",
        "ham and spam are of different years", "enron1_text.jsonl.gz", time="date",
    ),
    Known(
        "youtube", "Comments on five music videos, spam or not", 1_956, 2, "spam", 2,
        "time of posting", 0.695, FILE,
        "T. C. Alberto, J. V. Lochter and T. A. Almeida. TubeSpam: Comment Spam Filtering on "
        "YouTube. ICMLA 2015.",
        "245 comments have the time of the one before", "youtube_spam.jsonl.gz", time="time",
    ),
    Known(
        "sms", "Text messages, spam or ham", 5_574, 1, "spam", 2, "", 0.767, BUNDLED,
        "T. A. Almeida, J. M. Gomez Hidalgo and A. Yamakami. Contributions to the Study of SMS "
        "Spam Filtering: New Collection and Results. DocEng 2011.",
        "", "sms_spam.jsonl.gz", license="CC BY 4.0",
    ),
    Known(
        "usenet1", "Newsgroup messages, interesting or not", 1_500, 99, "interesting", 2,
        "simulated: the interests switch every 300 rows", None, FILE,
        f"{_KATAKIS} An Ensemble of Classifiers for Coping with Recurring Contexts in Data "
        "Streams. ECAI 2008.",
        "real messages, simulated drift", "usenet1.npz",
    ),
    Known(
        "usenet2", "Newsgroup messages, interesting or not", 1_500, 99, "interesting", 2,
        "simulated: the interests switch every 300 rows", None, FILE,
        f"{_KATAKIS} An Ensemble of Classifiers for Coping with Recurring Contexts in Data "
        "Streams. ECAI 2008.",
        "as usenet1, the share of interesting messages stays the same", "usenet2.npz",
    ),
    Known(
        "phishing", "Web sites, legitimate or phishing", 11_055, 46, "legitimate", 2, "", None,
        FILE,
        "R. M. Mohammad, F. Thabtah and L. McCluskey. An Assessment of Features Related to "
        "Phishing Websites Using an Automated Technique. ICITST 2012.",
        "categories are expanded to columns of 0 and 1", "phishing_websites.npz",
    ),
    Known(
        "phishing_river", "Web pages, phishing or not", 1_250, 9, "phishing", 2, "", None, FILE,
        "N. Abdelhamid, A. Ayesh and F. Thabtah. Phishing Detection Based Associative "
        "Classification Data Mining. Expert Systems with Applications 41, 2014.",
        "the one that comes with River", "phishing_river.npz",
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
        "flights", "Flights from New York in 2013, late or on time", 327_346, 10, "late", 2,
        "time of scheduled departure", None, FILE,
        _WICKHAM, "late: it arrived after the scheduled minute", "nycflights13.npz",
    ),
    Known(
        "flights_small", "Every 20th row of flights", 16_368, 10, "late", 2,
        "time of scheduled departure", 0.599, BUNDLED,
        _WICKHAM, "late: it arrived after the scheduled minute", "nycflights13_small.npz",
        license="CC0 1.0",
    ),
    Known(
        "luxembourg", "Internet use of persons in Luxembourg, high or low", 1_901, 31, "high", 2,
        "time", None, FILE,
        "I. Zliobaite. Combining Similarity in Time and Space for Training Set Formation under "
        "Concept Drift. Intelligent Data Analysis 15(4), 2011.",
        "column x2 alone determines the label: do not use it to compare learners; the source does "
        "not say which of the classes is high", "luxembourg.npz",
    ),
    Known(
        "powersupply", "The hour of the day by the supply of power in Italy", 29_928, 2, "hour",
        24, "time, hourly", None, FILE,
        "X. Zhu. Stream Data Mining Repository, 2010.",
        "the label goes round in a circle", "powersupply.npz", positive=None,
    ),
    Known(
        "outdoor", "Forty objects filmed in a garden, by color histograms", 4_000, 21, "object",
        40, "time", 0.903, FILE,
        "V. Losing, B. Hammer and H. Wersing. Interactive Online Learning for Obstacle "
        "Classification on a Mobile Robot. IJCNN 2015.",
        "ten approaches of ten pictures to each object", "outdoor.npz", positive=None,
    ),
)  # fmt: skip
