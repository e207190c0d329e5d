"""The options that several commands share, and what they say together."""

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

File = Annotated[
    str, typer.Argument(help="CSV, Parquet, JSON lines or svmlight file; a known stream; or -.")
]
Label = Annotated[str | None, typer.Option("--label", "-l", help="The column of labels.")]
Algorithm = Annotated[
    str, typer.Option("--algorithm", "-a", help="tracker, lasec-ss, sop-ss, perceptron-ss, ...")
]
Algorithms = Annotated[str, typer.Option("--algorithms", "-a", help="Their names, with commas.")]
Rate = Annotated[float, typer.Option("--rate", "-r", help="The share of labels to ask for.")]
PerDay = Annotated[
    float | None, typer.Option("--labels-per-day", help="A budget by time; needs --time.")
]
Time = Annotated[str | None, typer.Option("--time", help="The column that says when a row came.")]
Positive = Annotated[
    str | None, typer.Option("--positive", help="This class against all the others.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter, as in --set drift=0.001.")
]
Category = Annotated[
    list[str] | None, typer.Option("--category", help="A column of categories, also where numbers.")
]
Text = Annotated[list[str] | None, typer.Option("--text", help="A column of texts.")]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="A column not to read.")]
HashBuckets = Annotated[
    int | None,
    typer.Option("--hash-buckets", min=1, help="Columns for hashed categories and tokens."),
]
Standardize = Annotated[
    bool,
    typer.Option("--standardize/--no-standardize", help="Put numbers on a common scale, or not."),
]
Format = Annotated[str | None, typer.Option("--format", help="csv, parquet, jsonl or svmlight.")]
Separator = Annotated[str | None, typer.Option("--separator", help="Between the cells of a CSV.")]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Random seed; without it, one is drawn and kept in the model."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Stop after so many rows.")]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of the known streams' files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Model = Annotated[Path, typer.Option("--model", "-m", help="The model's file.")]
MaxAge = Annotated[
    str | None,
    typer.Option(
        "--max-age",
        help=f"Questions expire after so many rows (as in 5000; default {ROWS:,}), or with --time "
        f"after so long (as in 12h; default {DAYS}d).",
    ),
]
Alarms = Annotated[
    bool, typer.Option("--alarms", help="Warn of drops in accuracy and of changed inputs.")
]
Lead = Annotated[
    float,
    typer.Option("--lead", min=0.0, help="A row dated more seconds ahead of now moves no clock."),
]


class Reading(NamedTuple):
    """How a table is to be read."""

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
        """What must be the same where a run is resumed, by the names that saved runs have."""
        given = self._asdict()
        given["width"], given["standardise"] = given.pop("hash_buckets"), given.pop("standardize")
        return {k: v for k, v in given.items() if k not in ("data", "format", "separator")}

    @property
    def texts(self) -> frozenset[str]:
        """The columns that are text, whatever they look like."""
        return frozenset(filter(None, [self.label, *self.category, *self.text]))

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of columns that were told."""
        told = dict.fromkeys(self.category, Kind.CATEGORY)
        told |= dict.fromkeys(self.text, Kind.TEXT)
        return told | dict.fromkeys(self.ignore, Kind.IGNORED)


class Asking(NamedTuple):
    """How labels are to be asked for."""

    rate: float = 0.1
    per_day: float | None = None
    seed: int | None = None
    settings: tuple[str, ...] = ()
    max_open: int = 0
    max_age: str | None = None
    lead: float = LEAD
    annotators: int = 1

    def budget(self, time: str | None) -> Budgeted | None:
        """The budget, if it is more than a rate."""
        if self.per_day is not None:
            if time is None:
                raise TableError("--labels-per-day needs --time: which column says when a row came")
            return Budgeted.every("1d", labels=self.per_day, max_open=self.max_open)
        return Budgeted(self.rate, max_open=self.max_open) if self.max_open else None

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
            raise TableError(f"--max-age {self.max_age}: without --time it is a number of rows")
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
            f"--set {setting}: expected a name and a number, as in drift=0.001"
        ) from None
    return name.strip(), int(number) if number.is_integer() and "." not in value else number
