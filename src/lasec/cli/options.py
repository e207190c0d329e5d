"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from lasec.clock import LEAD
from lasec.errors import TableError
from lasec.parameters import seconds
from lasec.queries import Budgeted
from lasec.tables import Kind

ROWS, DAYS = 100_000, 30  # how long a question stays open, unless --max-age says otherwise
BUDGET, COLUMNS, INPUT, OUTPUT = "Label budget", "Columns", "Input", "Output"  # groups of options

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet, JSON lines or svmlight file, compressed or not; the name of a known "
        "stream (lasec datasets); or - for standard input.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        metavar="COLUMN",
        help="Label column, with two classes.",
        rich_help_panel=COLUMNS,
    ),
]
Algorithm = Annotated[
    str,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help="tracker, uniform, lasec-ss, sop-ss, perceptron-ss, arow-ss, ...",
    ),
]
Algorithms = Annotated[
    str,
    typer.Option(
        "--algorithms", "-a", metavar="NAMES", help="Names of algorithms, separated by commas."
    ),
]
Rate = Annotated[
    float,
    typer.Option(
        "--rate",
        "-r",
        metavar="SHARE",
        help="Share of rows whose label is queried.",
        rich_help_panel=BUDGET,
    ),
]
PerDay = Annotated[
    float | None,
    typer.Option(
        "--labels-per-day",
        metavar="N",
        help="Labels per day, in place of --rate; needs --time.",
        rich_help_panel=BUDGET,
    ),
]
Audit = Annotated[
    float | None,
    typer.Option(
        "--audit",
        metavar="SHARE",
        help="About which part of the labels is spread evenly, to measure with [default: 0.5].",
        rich_help_panel=BUDGET,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column with the time of each row: times, or seconds since 1970.",
        rich_help_panel=COLUMNS,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="CLASS",
        help="Positive class, against all others; needed for more than two classes.",
        rich_help_panel=COLUMNS,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Parameter of the algorithm, such as drift=0.001."
    ),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        metavar="COLUMN",
        help="Read a column as categories, even if it holds numbers.",
        rich_help_panel=COLUMNS,
    ),
]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text", metavar="COLUMN", help="Read a column as text.", rich_help_panel=COLUMNS
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="COLUMN", help="Ignore a column.", rich_help_panel=COLUMNS),
]
HashBuckets = Annotated[
    int | None,
    typer.Option(
        "--hash-buckets",
        metavar="N",
        min=1,
        help="Hash all categories and tokens into so many features. Default: up to 32 categories "
        "are one-hot, more are hashed into 64 features, texts into 256.",
        rich_help_panel=COLUMNS,
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize",
        help="Standardize numbers by the mean and deviation of the rows so far.",
        rich_help_panel=COLUMNS,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, parquet, jsonl or svmlight. Default: by name, or by the first bytes.",
        rich_help_panel=INPUT,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHARACTER",
        help="Separator of a CSV file. Default: detected.",
        rich_help_panel=INPUT,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        help="Random seed. Default: a random one, which lasec info shows.",
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", metavar="N", min=1, help="Stop after so many rows.", rich_help_panel=INPUT
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIRECTORY",
        help="Directory with files of known streams. Default: LASEC_DATA.",
        rich_help_panel=INPUT,
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, for scripts.", rich_help_panel=OUTPUT)
]
Model = Annotated[
    Path,
    typer.Option("--model", "-m", metavar="FILE", help="Model file, or the directory of a run."),
]
MaxAge = Annotated[
    str | None,
    typer.Option(
        "--max-age",
        metavar="AGE",
        help=f"Open questions expire after so many rows (such as 5000; default {ROWS:,}) or, with "
        f"--time, after so long (such as 12h; default {DAYS}d).",
        rich_help_panel=BUDGET,
    ),
]
Alarms = Annotated[
    bool,
    typer.Option(
        "--alarms", help="Warn when accuracy drops or inputs change.", rich_help_panel=OUTPUT
    ),
]
Lead = Annotated[
    float,
    typer.Option(
        "--lead",
        metavar="SECONDS",
        min=0.0,
        help="Seconds that --time may be ahead of this machine's clock; a later row is processed, "
        "but does not advance the budget.",
        rich_help_panel=BUDGET,
    ),
]


class Reading(NamedTuple):
    """How to read a table."""

    label: str | None = None
    positive: str | None = None
    time: str | None = None
    category: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    hash_buckets: int | None = None
    standardize: bool = True
    format: str | None = None
    separator: str | None = None
    data: Path | None = None

    @property
    def choice(self) -> dict[str, Any]:
        """What must be the same when a run is resumed, by the names in saved runs."""
        given = self._asdict()
        given["width"], given["standardise"] = given.pop("hash_buckets"), given.pop("standardize")
        return {k: v for k, v in given.items() if k not in ("data", "format", "separator")}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are read as text even if they look like numbers."""
        return frozenset(filter(None, [self.label, *self.category, *self.text]))

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of columns that were given."""
        told = dict.fromkeys(self.category, Kind.CATEGORY)
        told |= dict.fromkeys(self.text, Kind.TEXT)
        return told | dict.fromkeys(self.ignore, Kind.IGNORED)


class Asking(NamedTuple):
    """How to query labels."""

    rate: float = 0.1
    per_day: float | None = None
    seed: int | None = None
    settings: tuple[str, ...] = ()
    max_open: int = 0
    max_age: str | None = None
    lead: float = LEAD
    annotators: int = 1
    audit: float | None = None

    def budget(self, time: str | None) -> Budgeted | None:
        """The label budget, if it is more than a rate.

        >>> Asking(0.2).budget(None) is None, Asking(0.2, audit=0.8).budget(None).audit
        (True, 0.8)
        """
        options: dict[str, Any] = {"max_open": self.max_open}
        if self.audit is not None:
            options["audit"] = self.audit
        if self.per_day is not None:
            if time is None:
                raise TableError("--labels-per-day needs --time: the column with the time of a row")
            return Budgeted.every("1d", labels=self.per_day, **options)
        plain = self.max_open == 0 and self.audit is None
        return None if plain else Budgeted(self.rate, **options)

    def oldest(self, time: str | None) -> float:
        """How long a question stays open: in seconds where rows have times, else in rows.

        >>> Asking(max_age="12h").oldest("when"), Asking(max_age="500").oldest(None)
        (43200.0, 500.0)
        """
        if self.max_age is None:
            return ROWS if time is None else DAYS * 86_400.0
        if self.max_age.strip().isdecimal():
            return float(self.max_age)
        if time is None:
            raise TableError(
                f"--max-age {self.max_age}: expected a number of rows; a duration needs --time"
            )
        return seconds("--max-age", self.max_age)

    def parameters(self) -> dict[str, Any]:
        """The parameters that were set.

        >>> Asking(settings=("drift=0.001", "budget=100")).parameters()
        {'drift': 0.001, 'budget': 100}
        """
        return dict(_parameter(setting) for setting in self.settings)


def _parameter(setting: str) -> tuple[str, float]:
    name, _, value = setting.partition("=")
    try:
        number = float(value)
    except ValueError:
        raise TableError(
            f"--set {setting}: expected a name and a number, such as drift=0.001"
        ) from None
    return name.strip(), int(number) if number.is_integer() and "." not in value else number
