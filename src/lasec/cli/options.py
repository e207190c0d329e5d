"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from lasec.clock import LEAD
from lasec.errors import TableError
from lasec.parameters import seconds
from lasec.sources import Source
from lasec.tables import Kind
from lasec.tables.cells import as_label
from lasec.tables.kinds import nearest
from lasec.tables.spec import DAYS, ROWS, LabelBudget, TableSpec

BUDGET, COLUMNS, INPUT, OUTPUT = "Label budget", "Columns", "Input", "Output"  # groups of options
ANSWERS, NEW = "Answers", "Options for a new model"


def option(flags: str, name: str | None, help: str, **more: Any) -> Any:  # noqa: A002
    """An option of a command: its flags, what stands for its value, and its help."""
    return typer.Option(*flags.split(), metavar=name, help=help, **more)


of_budget, of_columns, of_input = (
    partial(option, rich_help_panel=group) for group in (BUDGET, COLUMNS, INPUT)
)
of_output, of_answers, of_new = (
    partial(option, rich_help_panel=group) for group in (OUTPUT, ANSWERS, NEW)
)


def share(given: str | float) -> float:
    """A share of something: a number, or a percentage.

    >>> share("0.1"), share("10%"), share("2.5 %")
    (0.1, 0.1, 0.025)
    """
    text = str(given).strip()
    try:
        return float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        raise typer.BadParameter(
            f"expected a share, such as 0.1 or 10%, got {text[:80]!r}"
        ) from None


File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet, JSON lines or svmlight file, compressed or not; the name of a known "
        "stream (lasec datasets); or - for standard input.",
    ),
]
ModelFile = Annotated[Path | None, typer.Argument(help="Model file, or the directory of a run.")]
Algorithm = Annotated[
    str,
    option(
        "--algorithm -a", "NAME", "tracker, uniform, lasec-ss, sop-ss, perceptron-ss, arow-ss, ..."
    ),
]
Format = Annotated[
    str | None,
    of_input(
        "--format",
        "NAME",
        "csv, parquet, jsonl or svmlight. Default: by name, or by the first bytes.",
    ),
]
RowFormat = Annotated[
    str | None,
    of_input(
        "--format", "NAME",
        "csv, parquet, jsonl or svmlight. Default: by the name of the file; else jsonl.",
    ),
]  # fmt: skip
Separator = Annotated[
    str | None, of_input("--separator", "CHARACTER", "Separator of a CSV file. Default: detected.")
]
Limit = Annotated[int | None, of_input("--limit", "N", "Stop after so many rows.", min=1)]
Data = Annotated[
    Path | None,
    of_input("--data", "DIRECTORY", "Directory with files of known streams. Default: LASEC_DATA."),
]
AsJson = Annotated[bool, of_output("--json", None, "Print JSON, for scripts.")]
Model = Annotated[Path, option("--model -m", "FILE", "Model file, or the directory of a run.")]
Alarms = Annotated[bool, of_output("--alarms", None, "Warn when accuracy drops or inputs change.")]


class Reading(NamedTuple):
    """How to read a table."""

    label: Annotated[
        str | None,
        of_columns(
            "--label -l", "COLUMN",
            "Label column, with any classes; an empty cell is a row without a label.",
        ),
    ] = None  # fmt: skip
    positive: Annotated[
        str | None,
        of_columns(
            "--positive", "CLASS",
            "Separate this class from all others; without it, every class is predicted.",
        ),
    ] = None  # fmt: skip
    time: Annotated[
        str | None,
        of_columns(
            "--time", "COLUMN", "Column with the time of each row: times, or seconds since 1970."
        ),
    ] = None
    category: Annotated[
        tuple[str, ...],
        of_columns(
            "--category", "COLUMN", "Read a column as categories, even if it holds numbers."
        ),
    ] = ()
    text: Annotated[tuple[str, ...], of_columns("--text", "COLUMN", "Read a column as text.")] = ()
    ignore: Annotated[tuple[str, ...], of_columns("--ignore", "COLUMN", "Ignore a column.")] = ()
    standardize: Annotated[
        bool,
        of_columns(
            "--standardize/--no-standardize", None,
            "Standardize numbers by the mean and deviation of the rows so far.",
        ),
    ] = True  # fmt: skip
    format: Format = None
    separator: Separator = None
    data: Data = None
    ngrams: Annotated[
        str | None,
        of_columns(
            "--ngrams", "LENGTHS",
            "In tables of texts, count the character n-grams of words as well: 4-5, for example.",
        ),
    ] = None  # fmt: skip

    @property
    def lengths(self) -> tuple[int, int] | None:
        """The shortest and the longest n-grams, if they are to be counted.

        >>> Reading(ngrams="4-5").lengths, Reading(ngrams="3").lengths
        ((4, 5), (3, 3))
        """
        if self.ngrams is None:
            return None
        low, _, high = self.ngrams.partition("-")
        try:
            return int(low), int(high or low)
        except ValueError:
            raise TableError(
                f"--ngrams {self.ngrams}: expected one length or two, such as 4-5"
            ) from None

    @property
    def choice(self) -> dict[str, Any]:
        """What must be the same when a run is resumed."""
        given = self._asdict().items()
        return {name: v for name, v in given if name not in ("data", "format", "separator")}

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

    rate: Annotated[
        float,
        of_budget(
            "--rate -r", "SHARE", "Share of rows whose label is queried: 0.1, or 10%.", parser=share
        ),
    ] = 0.1
    per_day: Annotated[
        float | None,
        of_budget("--labels-per-day", "N", "Labels per day, in place of --rate; needs --time."),
    ] = None
    seed: Annotated[
        int | None,
        option("--seed", "N", "Random seed. Default: a random one, which lasec info shows.", min=0),
    ] = None
    settings: Annotated[
        tuple[str, ...],
        option("--set", "NAME=VALUE", "Parameter of the algorithm, such as drift=0.001."),
    ] = ()
    max_open: Annotated[
        int,
        of_budget(
            "--max-open", "N",
            "Query less as the number of open questions nears this; 0 is no limit.", min=0,
        ),
    ] = 0  # fmt: skip
    max_age: Annotated[
        str | None,
        of_budget(
            "--max-age", "AGE",
            f"Open questions expire after so many rows (such as 5000; default {ROWS:,}) or, with "
            f"--time, after so long (such as 12h; default {DAYS}d).",
        ),
    ] = None  # fmt: skip
    lead: Annotated[
        float,
        of_budget(
            "--lead", "SECONDS",
            "Seconds that --time may be ahead of this machine's clock; a later row is processed, "
            "but does not advance the budget.", min=0.0,
        ),
    ] = LEAD  # fmt: skip
    annotators: Annotated[
        int,
        of_new(
            "--annotators", "N",
            "Wait for so many answers to a question, and learn their majority.", min=1,
        ),
    ] = 1  # fmt: skip
    audit: Annotated[
        float | None,
        of_budget(
            "--audit", "SHARE",
            "Share of the labels that are drawn evenly from all rows, which makes estimates "
            "precise [default: 0.5].", parser=share,
        ),
    ] = None  # fmt: skip
    class_weight: Annotated[
        str | None,
        option(
            "--class-weight", "WEIGHTS",
            "For rare classes: balanced, or what it costs to miss each class, such as fraud=20.",
        ),
    ] = None  # fmt: skip
    total: Annotated[
        int | None,
        of_budget(
            "--labels", "N",
            "At most so many labels in all, spread over the rows; in place of --rate.", min=1,
        ),
    ] = None  # fmt: skip
    warm_up: Annotated[
        float | None,
        of_budget(
            "--warm-up", "LABELS",
            "Labels that are queried early and repaid; at most a tenth of all. 0 for none.",
        ),
    ] = None  # fmt: skip
    source: Annotated[
        tuple[str, ...],
        of_budget(
            "--source", "NAME:price=P",
            "Give twice: a cheap judge, such as gpt:price=1, then experts, such as "
            "people:price=50. A judge's answers come from column=C (lasec run), or from "
            "command=CMD.",
        ),
    ] = ()  # fmt: skip
    money: Annotated[
        str | None,
        of_budget(
            "--money", "AMOUNT",
            "What both sources may cost a row, such as 1; or a day: 500/day, with --time.",
        ),
    ] = None  # fmt: skip
    rows: int | None = None  # of the file, where that is known: the warm-up is repaid by its end

    def budget(self, time: str | None) -> LabelBudget:
        """The label budget; one by the day needs rows that have times."""
        if self.per_day is not None and time is None:
            raise TableError("--labels-per-day needs --time: the column with the time of a row")
        return LabelBudget(
            self.rate, self.per_day, self.total, self.audit, self.max_open, self.warm_up, self.rows,
            *self.amount(time),
        )  # fmt: skip

    def spec(
        self, algorithm: str, reading: Reading, classes: Sequence[str] = (), **more: Any
    ) -> TableSpec:
        """All of a new model; weights of classes are those of ``classes``, if there are any.

        >>> Asking(max_age="12h").spec("tracker", Reading(time="when")).max_age
        43200.0
        """
        weights = self.weights()
        for name in weights if isinstance(weights, dict) and classes else ():
            if name not in classes:
                raise nearest(name, list(classes), "class")
        return TableSpec(
            classes, algorithm, self.budget(reading.time), weights, self.parameters(), self.seed,
            self.oldest(reading.time), lead=self.lead, annotators=self.annotators,
            label=str(reading.label), positive=reading.positive, time=reading.time,
            kinds=reading.kinds, standardize=reading.standardize, ngrams=reading.lengths,
            sources=[priced.source for priced in self.sources], **more,
        )  # fmt: skip

    @property
    def sources(self) -> list[Answering]:
        """The sources, and where the answers of each come from.

        >>> both = ("gpt:price=1,max_open=9,column=said", "people:price=50")
        >>> Asking(source=both).sources[0].source.max_open, Asking(source=both).sources[0].column
        (9, 'said')
        """
        return [_source(given) for given in self.source]

    @property
    def command(self) -> str | None:
        """The command that answers for the judge, if there is one."""
        return self.sources[0].command if self.source else None

    def amount(self, time: str | None) -> tuple[float | None, bool]:
        """What both sources may cost, where there are two, and whether it is that of a day.

        >>> Asking(money="2/row").amount(None), Asking(money="500/day").amount("when")
        ((2.0, False), (500.0, True))
        """
        if self.money is None:
            return None, False
        amount, _, per = self.money.partition("/")
        try:
            given = float(amount)
        except ValueError:
            raise TableError(f"--money {self.money}: expected an amount, such as 1") from None
        if per not in ("", "row", "day") or (per == "day") > (time is not None):
            raise TableError(f"--money {self.money}: expected 1, 1/row, or with --time 500/day")
        return given, per == "day"

    def over(self, rows: int | None) -> Asking:
        """The same, for a file of so many rows, over which a total is spread.

        >>> Asking(total=500).over(None)
        Traceback (most recent call last):
        lasec.errors.TableError: --labels: how many rows there are is not known here: give --limit
        """
        if self.total is not None and rows is None:
            raise TableError("--labels: how many rows there are is not known here: give --limit")
        if self.total is not None and self.per_day is not None:
            raise TableError("--labels and --labels-per-day: give one or the other")
        return self._replace(rows=rows)

    def weights(self) -> Any:
        """The weights of classes, if they have any.

        >>> Asking(class_weight="fraud=20").weights(), Asking(class_weight="balanced").weights()
        ({'fraud': 20.0}, 'balanced')
        """
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight
        try:
            pairs = [part.rpartition("=") for part in self.class_weight.split(",")]
            return {as_label(name): float(weight) for name, _, weight in pairs}
        except ValueError:
            raise TableError(
                f"--class-weight {self.class_weight}: expected balanced, or weights such as "
                "fraud=20"
            ) from None

    def oldest(self, time: str | None) -> float | None:
        """How long a question stays open, in seconds where rows have times, if that was given.

        >>> Asking(max_age="12h").oldest("when"), Asking(max_age="500").oldest(None)
        (43200.0, 500.0)
        """
        if self.max_age is None:
            return None
        return span("--max-age", self.max_age, timed=time is not None)

    def parameters(self) -> dict[str, Any]:
        """The parameters that were set.

        >>> Asking(settings=("drift=0.001", "budget=100")).parameters()
        {'drift': 0.001, 'budget': 100}
        """
        return dict(_parameter(setting) for setting in self.settings)


def span(option: str, given: str, *, timed: bool) -> float:
    """A number of rows, or a duration in seconds where rows have times.

    >>> span("--delay", "500", timed=False), span("--delay", "12h", timed=True)
    (500.0, 43200.0)
    """
    if given.strip().isdecimal():
        return float(given)
    if not timed:
        raise TableError(f"{option} {given}: expected a number of rows; a duration needs --time")
    return seconds(option, given)


class Answering(NamedTuple):
    """A source as an option has it: the column of its answers, or the command that gives them."""

    source: Source
    column: str | None
    command: str | None


def _source(given: str) -> Answering:
    """A source as an option has it; a command comes last, and may hold colons and commas."""
    given, _, command = given.partition(",command=")
    name, _, rest = given.rpartition(":")
    found = dict(part.split("=", 1) for part in rest.split(",") if "=" in part)
    try:
        price, most = float(found.pop("price")), int(found.pop("max_open", 0))
        made = Source(name.strip(), price, max_open=most)
    except (KeyError, ValueError):
        made = Source("")
    column = found.pop("column", None)
    if not made.name or found:
        raise TableError(f"--source {given}: expected a name and a price, such as gpt:price=1")
    return Answering(made, column, command or None)


def _parameter(setting: str) -> tuple[str, float]:
    name, _, value = setting.partition("=")
    try:
        number = float(value)
    except ValueError:
        raise TableError(
            f"--set {setting}: expected a name and a number, such as drift=0.001"
        ) from None
    return name.strip(), int(number) if number.is_integer() and "." not in value else number
