"""Every form of a learner that a session, a table or the service saves comes back as it was."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import lasec
from lasec.persistence.record import dump, load
from lasec.queries import Uniform
from lasec.rules import Lenses, SparseTracking, Tracking
from lasec.service.desks import opened
from lasec.session.saved import KeptRows, SessionFile, read_learner
from lasec.tables import Encoder, TableLearner

RNG = np.random.default_rng(0)
X = RNG.poisson(0.7, size=(80, 5)).astype(float)
Y = np.where(X[:, 0] > 0.0, "spam", "ham")
FORMS = {
    "dense": (lambda: lasec.Tracker(seed=0), X),
    "wide": (lambda: lasec.Tracker(seed=0, rule=Tracking(block=2)), X),
    "words": (lambda: lasec.Tracker(seed=0), csr_array(X)),
    "mixed": (lambda: lasec.Tracker(seed=0, rule=SparseTracking(dense=2)), csr_array(X)),
    "lenses": (lambda: lasec.Tracker(seed=0, rule=Lenses(warm_up=20, features=40)), X),
    "weighted": (lambda: lasec.Tracker(seed=0, class_weight="balanced"), csr_array(X)),
    "another query": (
        lambda: lasec.Learner(SparseTracking(), Uniform(0.5), dimension=5),
        csr_array(X),
    ),
    "a paper's": (lambda: lasec.LASEC_SS(5, seed=0), X),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of_three", [False, True], ids=["two classes", "three"])
def test_what_is_saved_is_what_is_loaded(form, of_three):
    make, rows = FORMS[form]
    model, names = make(), np.where(X[:, 1] > 1.0, "eggs", Y) if of_three else Y
    session = lasec.Session(model)
    for i in range(60):
        if (
            decision := session.ask(rows[[i]] if isinstance(rows, csr_array) else rows[i], id=i)
        ).asked:
            session.tell(decision.ticket, names[i].item())
    data, head = (
        session.to_bytes(),
        pa.RecordBatch.from_pydict({f"x{j}": X[:, j] for j in range(5)}),
    )
    table = TableLearner(model, Encoder.fit(head), classes=sorted(set(names))).to_bytes()
    again = (
        lasec.Session.from_bytes(data).learner,
        opened(data).session.learner,
        opened(model.to_bytes()).session.learner,
        opened(table).session.learner,
        TableLearner.from_bytes(table)[0].learner,
        read_learner(model.to_bytes()),
        type(model).from_bytes(model.to_bytes()),
    )
    for loaded in again:
        assert type(loaded) is type(model)
        assert loaded.rule == model.rule
        assert type(loaded.state) is type(model.state)
        assert loaded.to_bytes() == model.to_bytes()
        np.testing.assert_array_equal(loaded.margins(rows[60:]), model.margins(rows[60:]))


@pytest.mark.parametrize("sparse", [False, True])
def test_remembered_rows_of_another_width_are_refused_with_the_file(sparse):
    """Else the label that comes for one of them would be refused, days later."""
    wide = csr_array([[0.0, 2.0, 3.0]]) if sparse else [0.0, 2.0, 3.0]
    narrow = csr_array([[0.0, 2.0]]) if sparse else [0.0, 2.0]
    learner = lasec.Tracker(3, rule=SparseTracking() if sparse else None, rate=0.001, seed=0)
    learner.learn(wide, -1)
    session = lasec.Session(learner, remember=2)
    kept = dict.fromkeys(("a", "b"), wide)
    session.rows.update(kept)
    assert lasec.Session.from_bytes(session.to_bytes()).tell("a", 1).settled
    session.rows.update(a=narrow, b=wide)  # one of before the model was widened
    after = lasec.Session.from_bytes(session.to_bytes())
    assert after.tell("a", 1).settled
    assert after.tell("b", 1).settled
    session.rows["a"] = csr_array([[0.0] * 7 + [1]]) if sparse else wide
    data = session.to_bytes()
    if not sparse:
        file = load(SessionFile, data)
        data = dump(replace(file, rows=KeptRows(["a"], {"rows": np.ones((1, 4))})))
    with pytest.raises(lasec.errors.StateError, match=r"rows|invalid"):
        lasec.Session.from_bytes(data)
