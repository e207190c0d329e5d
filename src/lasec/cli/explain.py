"""``lasec explain``: the words that speak for a class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from lasec.cli import options as o
from lasec.cli.inputs import model_file
from lasec.cli.output import few, honest, put, put_facts
from lasec.errors import TableError
from lasec.tables import TableLearner
from lasec.tables.encoder import BETWEEN

LOOKED_AT = 20_000  # words, those that came most often
SELDOM = 3  # words that came less often say more about chance than about a class


class Spoken(NamedTuple):
    """A word, how often it came, and how far it alone moves the log odds of a class."""

    word: str
    times: int
    effect: float


@honest
def explain(
    file: o.ModelFile = None,
    model: o.Model = Path("model.lasec"),
    top: Annotated[int, o.option("--top", None, "Number of words of each class.", min=1)] = 15,
    as_json: o.AsJson = False,
) -> None:
    """Show the words that speak for each class, in a model of texts.

    A word is weighed by how far it moves the odds of the class, in a text of this word alone
    against an empty one, with all numbers at their means. Categories of columns with many are
    treated alike. Words that were hashed into the same column cannot be told apart. With --ngrams
    in the model, n-grams are listed as well: < and > are the ends of a word.
    """
    desk = TableLearner.load(model_file(file or model))
    found = spoken(desk, top)
    if as_json:
        listed = {str(name): [word._asdict() for word in words] for name, words in found.items()}
        put({"version": 1, "classes": listed})
        return
    shown = {name: few([word.word for word in words], top) for name, words in found.items()}
    put_facts(((f"  {name}", words) for name, words in shown.items()), "words by class", 22)


def spoken(desk: TableLearner, top: int) -> dict[Any, list[Spoken]]:
    """The words that speak for each class, the strongest first.

    >>> import lasec, pyarrow as pa
    >>> from lasec.tables import Encoder
    >>> rows = [{"text": "win a free prize now"}, {"text": "see you at lunch today"}]
    >>> encoder = Encoder.fit(pa.RecordBatch.from_pylist(rows), words=2**18)
    >>> tracker = lasec.Tracker(2**18, rule=lasec.rules.SparseTracking(), classes=["ham", "spam"])
    >>> desk = TableLearner(tracker, encoder)
    >>> for _ in range(5):
    ...     desk.learn(rows[0], "spam")
    ...     desk.learn(rows[1], "ham")
    >>> sorted(word.word for word in spoken(desk, top=5)["spam"])
    ['a', 'free', 'now', 'prize', 'win']
    """
    encoder, learner = desk.encoder, desk.learner
    if not encoder.words or not encoder.vocabulary:
        raise TableError("explain needs a model of texts: one that has a column of text as words")
    if not learner.told:
        raise TableError("this model has learned no label yet: there is nothing to explain")
    words = [w for w in encoder.vocabulary.most(LOOKED_AT) if encoder.vocabulary[w] >= SELDOM]
    likely = learner.predict_proba(encoder.rows_of(words)).clip(1e-12, 1.0 - 1e-12)
    odds = np.log(likely / (1.0 - likely))
    effects = odds[1:] - odds[0]
    found = {}
    for place, name in enumerate(learner.classes):
        order = (-effects[:, place]).argsort(kind="stable")[:top]
        found[name] = [
            Spoken(
                words[i].replace(BETWEEN, "="), encoder.vocabulary[words[i]],
                round(float(effects[i, place]), 4),
            )
            for i in order.tolist() if effects[i, place] > 0.0
        ]  # fmt: skip
    return found
