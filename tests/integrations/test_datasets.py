"""The known streams: every file opens as the catalogue says, and refusals say what to do."""

import gzip
import json

import numpy as np
import pytest
from experiments.real import KNOWN
from experiments.real import open_dataset as open_any

from lasec import Tracker
from lasec.streams import open_dataset, shifting_classes, usps

SPAM = {"spam_katakis", "spamassassin", "enron1", "youtube", "sms"}

# Rows by value of the label, as published with the files.
COUNTS = {
    "usps": [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821],
    "elec2": [26_075, 19_237],
    "noaa": [12_461, 5_698],
    "spam_katakis": [6_937, 2_387],
    "spamassassin": [4_150, 1_896],
    "enron1": [3_672, 1_500],
    "youtube": [951, 1_005],
    "sms": [4_827, 747],
    "usenet1": [800, 700],
    "usenet2": [1_000, 500],
    "phishing": [4_898, 6_157],
    "phishing_river": [702, 548],
    "covertype": [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510],
    "kdd": [97_278, 396_743],
    "covertype_small": [5_285, 7_108, 873, 64, 236, 439, 521],
    "flights": [194_342, 133_004],
    "flights_small": [9_705, 6_663],
    "luxembourg": [977, 924],
    "outdoor": [100] * 40,
}


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("LASEC_DATA", raising=False)


@pytest.fixture(scope="module")
def opened(data_folder):
    made = {}

    def get(name):
        if name not in made:
            made[name] = open_any(name, data_folder)
        return made[name]

    return get


@pytest.mark.parametrize("name", KNOWN)
def test_every_file_opens_as_the_catalogue_says(opened, name):
    data, known = opened(name), KNOWN[name]
    assert (data.name, data.label, data.positive, data.time) == (
        name, known.label, known.positive, known.time,
    )  # fmt: skip
    assert len(data) == known.rows
    assert len(data.features) == known.columns
    assert {len(column) for column in data.columns.values()} == {known.rows}
    for column in data.columns.values():
        if isinstance(column, list):
            assert all(type(text) is str for text in column[:100])
        else:
            assert np.isfinite(column).all()
    assert list(data.columns)[-1] == data.label
    values, counts = np.unique(data.columns[data.label], return_counts=True)
    assert len(values) == known.classes
    if name == "powersupply":
        assert (counts.min(), counts.max()) == (1_246, 1_248)
    else:
        assert counts.tolist() == COUNTS[name]
    assert known.positive is None or known.positive in values


@pytest.mark.parametrize("name", [k.name for k in KNOWN.values() if k.persistence is not None])
def test_persistence_is_that_of_the_rows(opened, name):
    y = opened(name).columns[KNOWN[name].label]
    if name in ("covertype", "kdd"):  # of the first rows, as the note says
        assert "first 100,000 rows" in KNOWN[name].note
        y = y[:100_000]
    assert np.mean(y[1:] == y[:-1]) == pytest.approx(KNOWN[name].persistence, abs=6e-4)


def test_every_file_of_the_folder_is_known(data_folder):
    files = {file.name for file in data_folder.iterdir() if file.suffix in (".npz", ".gz")}
    assert files == {known.file for known in KNOWN.values() if not known.name.endswith("_small")}


def test_numbers_become_a_stream(opened, data_folder):
    with np.load(data_folder / "covertype.npz") as raw:
        X, y = opened("covertype").stream()
        assert X.dtype == np.float64
        np.testing.assert_array_equal(X, raw["X"])
        np.testing.assert_array_equal(y, np.where(raw["y"] == 2, 1, -1))


def test_names_become_columns_of_0_and_1(opened, data_folder):
    data = opened("kdd")
    with pytest.raises(ValueError, match=r"protocol_type, service, flag are no numbers: .*one_hot"):
        data.stream()
    wide = data.one_hot()
    assert wide.stream().X.shape == (494_021, 38 + 3 + 66 + 11)
    with np.load(data_folder / "kddcup99_10percent.npz") as raw:
        http = raw["categories_service"].tolist().index("http")
        service = raw["X"][:, raw["columns"].tolist().index("service")]
        np.testing.assert_array_equal(wide.columns["service=http"], service == http)
    services = [column for name, column in wide.columns.items() if name.startswith("service=")]
    assert (np.sum(services, axis=0) == 1.0).all()


@pytest.mark.parametrize("name", sorted(SPAM))
def test_words_can_be_learned_from(opened, name):
    data = opened(name)
    with pytest.raises(ValueError, match=r"no numbers: .*hashed\(\)"):
        data.stream()
    X, y = data.hashed(width=64)
    lengths = np.linalg.norm(X, axis=1)
    assert (np.isclose(lengths, 1.0) | (lengths == 0.0)).all()
    X, y = X[:2_000], y[:2_000]
    constant = max(np.mean(y > 0), np.mean(y < 0))
    assert Tracker(rate=0.5).run(X, y).accuracy > constant - 0.01


def test_the_words_of_katakis_are_the_sparse_matrix(opened, data_folder):
    texts = opened("spam_katakis").columns["text"]
    with np.load(data_folder / "spam_katakis.npz") as raw:
        indices, indptr = raw["indices"], raw["indptr"]
    assert sum(text == "" for text in texts) == 16
    for row in (0, 17, 9_323):
        words = [f"w{index}" for index in indices[indptr[row] : indptr[row + 1]]]
        assert texts[row].split() == words


def test_several_classes_have_no_stream_of_their_own(opened):
    data = opened("outdoor")
    with pytest.raises(ValueError, match="no usual binary task"):
        data.stream()
    X = np.column_stack(list(data.features.values()))
    stream = shifting_classes(X, data.columns["object"], every=1_000)
    assert stream.X.shape == (4_000, 21)


def test_a_file_a_folder_and_the_environment_give_the_same(data_folder, monkeypatch):
    by_file = open_dataset("elec2", data_folder / "elec2.npz").stream()
    monkeypatch.setenv("LASEC_DATA", str(data_folder))
    by_environment = open_dataset("elec2").stream()
    np.testing.assert_array_equal(by_file.X, by_environment.X)
    np.testing.assert_array_equal(usps()[0], usps(data_folder)[0])


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("elec", "elec2"), ("flights_smal", "flights_small"), ("covtype", "covertype"), ("q", "usps")],
)
def test_an_unknown_name_is_told_the_nearest(asked, hint):
    with pytest.raises(ValueError, match=f"no stream '{asked}': .*{hint}"):
        open_dataset(asked)


def test_a_path_that_is_not_there_is_not_replaced_by_a_download(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"elec2\.npz: there is no such file"):
        open_dataset("elec2", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"mine\.npz: .*an array X of 45,312 x 8"):
        open_dataset("elec2", tmp_path / "mine.npz")


def test_a_file_of_your_own(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "elec2.npz", X=rng.random((30, 8)), y=np.arange(30) % 2)
    data = open_dataset("elec2", tmp_path)
    assert list(data.columns) == [f"x{j}" for j in range(8)] + ["up"]
    assert data.stream().y.tolist() == [-1, 1] * 15
    np.savez(tmp_path / "elec2.npz", X=rng.random((30, 7)), y=np.arange(30) % 2)
    with pytest.raises(ValueError, match=r"X of \(30, 7\)"):
        open_dataset("elec2", tmp_path)
    with gzip.open(tmp_path / "mine.jsonl.gz", "wt") as lines:
        lines.writelines(
            json.dumps({"y": k, "text": f"hello {k}", "group": "spam"}) + "\n" for k in (0, 1)
        )
    mails = open_dataset("sms", tmp_path / "mine.jsonl.gz")
    assert mails.columns["text"] == ["hello 0", "hello 1"]
    assert list(mails.columns) == ["text", "spam"]  # the group would tell the label


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """The cache of scikit-learn, as if these rows had been fetched."""
    joblib = pytest.importorskip("joblib")
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))

    def keep(folder, **arrays):
        (tmp_path / folder).mkdir()
        for name, array in arrays.items():
            joblib.dump(array, tmp_path / folder / name)

    return keep


def test_covertype_as_scikit_learn_has_it(cached, opened):
    ours = opened("covertype")
    rows = np.column_stack([column[:50] for column in ours.features.values()]).astype(float)
    cached("covertype", samples_py3=rows, targets_py3=ours.columns["cover"][:50].astype("i4"))
    theirs = open_dataset("covertype")
    assert list(theirs.columns) == list(ours.columns)
    for name, column in theirs.columns.items():
        np.testing.assert_array_equal(column, ours.columns[name][:50])


def test_kdd_as_scikit_learn_has_it(cached, opened):
    ours = opened("kdd")
    rows = [0, 7_600, 100_000, 494_020]
    pick = {name: [column[row] for row in rows] for name, column in ours.columns.items()}
    table = np.empty((4, 41), dtype=object)
    for j, name in enumerate(ours.features):
        table[:, j] = [v.encode() if isinstance(v, str) else v for v in pick[name]]
    target = np.array([b"smurf." if v else b"normal." for v in pick["attack"]], dtype=object)
    cached("kddcup99_10-py3", samples=table, targets=target)
    theirs = open_dataset("kdd")
    assert list(theirs.columns) == list(ours.columns)
    for name, column in theirs.columns.items():
        assert list(column) == pick[name], name


def test_openml_as_scikit_learn_hands_it_over(monkeypatch, opened):
    pandas = pytest.importorskip("pandas")
    sklearn_datasets = pytest.importorskip("sklearn.datasets")
    elec2, digits = opened("elec2"), opened("usps")

    def fetch(*, data_id, as_frame, **_):
        if data_id == 151:  # the day is a category there, the class a word
            X = pandas.DataFrame({k: v[:9] for k, v in elec2.features.items()})
            X["day"] = X["day"].astype(int).astype(str).astype("category")
            y = pandas.Series(np.where(elec2.columns["up"][:9] == 1, "UP", "DOWN"))
            return X, y.astype("category")
        X = np.column_stack([column[:9] for column in digits.features.values()])
        return X, np.array([str(digit + 1) for digit in digits.columns["digit"][:9]], dtype=object)

    monkeypatch.setattr(sklearn_datasets, "fetch_openml", fetch)
    for ours in (elec2, digits):
        theirs = open_dataset(ours.name)
        assert list(theirs.columns) == list(ours.columns)
        for name, column in theirs.columns.items():
            np.testing.assert_array_equal(column, ours.columns[name][:9])
