import math

import numpy as np
import pytest

import lasec
from labels.synthetic import metered, told, tossed, world
from lasec.metrics import Meter, means, sums
from lasec.metrics.proportion import student
from lasec.persistence.container import pack, unpack


def naive(chunk):
    """The definition, row by row."""
    z, q, p, plus = chunk.asked, chunk.propensity, chunk.p, chunk.label > 0
    guess, wrong = np.where(plus, 1 - p, p), (chunk.label != chunk.y) * 1.0
    return 1 - (guess + z * (wrong - guess) / q).sum() / len(chunk)


def everything(meter, sequence=True):
    """All that a meter says."""
    said = []
    for over in ("all",) + ("window",) * bool(meter.window):
        kinds = ("normal",) + ("anytime",) * sequence
        said += [meter.estimate(over=over, interval=interval) for interval in kinds]
    return np.array(said)


def play(meter, chunk, delay=lambda t: 0, look=lambda t: False, upto=None, since=0, mail=None):
    """The loop, with answers ``delay(t)`` rows later; gives what is still in the mail."""
    mail = {} if mail is None else mail
    for t, decision in enumerate(chunk.decisions()[:upto]):
        if t < since:
            continue
        meter.ask(decision)
        wait = delay(t)
        if decision.asked and wait is not None:
            mail.setdefault(t + wait, []).append(told(decision, chunk.y[t]))
        for outcome in mail.pop(t, ()):
            meter.tell(outcome)
        if look(t):
            meter.estimate()
    return mail


def test_the_definition():
    chunk = tossed(world(3_000, 1, rate=0.2), 1)
    meter = metered(chunk, window=640)
    got = meter.estimate()
    assert got.value == pytest.approx(naive(chunk), rel=1e-10)
    assert (got.rows, got.labels, got.until) == (3_000, chunk.asked.sum(), 3_000)
    got = meter.estimate(over="window")
    assert got.value == pytest.approx(naive(chunk[-got.rows :]), rel=1e-10)


def test_the_interval_is_that_of_the_definition():
    chunk = tossed(world(2_000, 3, rate=0.3), 1)
    z, q = chunk.asked, chunk.propensity
    wrong = chunk.label != chunk.y
    guess = np.where(chunk.label > 0, 1 - chunk.p, chunk.p)
    u = z * (1 - q) * (wrong - guess) ** 2 / q**2
    reach = student(0.9, u.sum() ** 2 / (u**2).sum() - 1) * np.sqrt(u.sum()) / 2_000
    got = metered(chunk).estimate(level=0.9)
    assert (got.low, got.high) == pytest.approx((got.value - reach, got.value + reach), rel=1e-10)


def test_the_loop_and_the_chunk_are_the_same():
    chunk = tossed(world(5_000, 2), 2)
    options = {"window": 777}
    whole, loop, parts = metered(chunk, **options), Meter(**options), Meter(**options)
    play(loop, chunk, look=lambda t: t % 501 == 0)
    for start in range(0, 5_000, 313):
        parts.extend(chunk[start : start + 313], chunk.y[start : start + 313])
    np.testing.assert_allclose(everything(loop), everything(whole), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(everything(parts), everything(whole), rtol=1e-12, atol=1e-12)


def test_answers_in_any_order():
    chunk = tossed(world(3_000, 2), 2)
    rng = np.random.default_rng(0)
    meter = Meter()
    mail = play(meter, chunk, delay=lambda t: int(rng.integers(0, 900)))
    assert meter.open > 0
    for outcomes in mail.values():
        for outcome in outcomes:
            meter.tell(outcome)
    assert meter.open == 0
    want = everything(metered(chunk))
    np.testing.assert_allclose(everything(meter), want, rtol=1e-10, atol=1e-11)


def test_only_settled_rounds_are_spoken_of():
    chunk = tossed(world(4_000, 5), 5)
    meter = Meter(window=640)
    play(meter, chunk, delay=lambda t: 700)
    got = meter.estimate()
    first = meter._sums.questions[min(meter._sums.questions)].round
    assert first - 20 < got.until <= first
    assert got == pytest.approx(metered(chunk[: got.until]).estimate(), rel=1e-10)


@pytest.mark.slow
def test_delay_does_not_bias_but_counting_open_rounds_would():
    truth = world(1_000, 11)
    honest, hasty = [], []
    for seed in range(300):
        chunk = tossed(truth, seed)
        meter = Meter(window=64)
        play(meter, chunk, delay=lambda t: 300)
        got = meter.estimate()
        honest.append((truth.label != truth.y)[: got.until].mean() - (1.0 - got.value))
        known = chunk.asked & (np.arange(1_000) < 700)
        value = (known * (chunk.label != chunk.y) / chunk.propensity).sum() / 1_000
        hasty.append(value - (truth.label != truth.y).mean())
    assert abs(np.mean(honest)) < 0.015
    assert np.mean(hasty) < -0.06


def test_a_window_is_about_as_long_as_asked():
    chunk = tossed(world(3_000, 6), 6)
    for window in (1, 20, 33, 100, 1_000):
        meter = Meter(window=window)
        meter.extend(chunk, chunk.y)
        for stop in range(3):
            got = meter.estimate(over="window")
            assert window <= got.rows <= window + 2 * math.ceil(window / 32), (window, stop)
            meter.ask(lasec.Decision(1, 0.5, 1.0, 0.5, asked=False, ticket=3_000 + stop))


@pytest.mark.slow
def test_unbiased_and_covered_and_the_plain_mean_is_not():
    truth = world(2_000, 7, rate=0.1, trust=0.95)
    want = naive(world_known(truth))
    off, plain, hits = [], [], 0
    for seed in range(600):
        chunk = tossed(truth, seed)
        meter = metered(chunk, window=None)
        plain.append((chunk.label == chunk.y)[chunk.asked].mean() - want)
        got = meter.estimate()
        off.append(got.value - want)
        hits += want in got
    assert np.mean(plain) < -0.035 < 10 * np.mean(off)
    assert abs(np.mean(off)) < 4 * np.std(off) / np.sqrt(600)
    assert 0.925 < hits / 600 < 0.985, hits


def world_known(chunk):
    return type(chunk)(**{**vars(chunk), "asked": np.ones(len(chunk), dtype=bool),
                          "propensity": np.ones(len(chunk))})  # fmt: skip


@pytest.mark.slow
def test_windows_are_covered_under_drift():
    truth = world(3_000, 8, rate=0.15)
    right = (truth.label == truth.y) * 1.0
    hits = 0
    for seed in range(300):
        meter = metered(tossed(truth, seed), window=640)
        got = meter.estimate(over="window")
        hits += right[-got.rows :].mean() in got
    assert hits / 300 > 0.91, hits / 300


def test_all_labels_give_the_truth():
    chunk = world_known(world(500, 9))
    for kind in ("normal", "anytime"):
        got = metered(chunk).estimate(interval=kind)
        assert got[:3] == pytest.approx([chunk.accuracy] * 3, abs=1e-9)


@pytest.mark.slow
def test_losses_at_random_are_put_right():
    truth = world(3_000, 12, rate=0.3)
    off, hits = [], 0
    for seed in range(150):
        chunk = tossed(truth, seed)
        gone = np.random.default_rng([seed, 2]).random(3_000) < 0.4
        meter = Meter(patience=100)
        play(meter, chunk, delay=lambda t, gone=gone: None if gone[t] else t % 50)
        assert meter.lost == pytest.approx(0.4 * meter.asked, rel=0.3)
        got = meter.estimate()
        want = (truth.label == truth.y)[: got.until].mean()
        off.append(got.value - want)
        hits += want in got
    assert abs(np.mean(off)) < 4 * np.std(off) / np.sqrt(150) + 0.004
    assert hits / 150 > 0.9


def test_losses_do_not_pull_the_sequence_to_the_model():
    truth = world(5_000, 18, rate=0.5, trust=0.2)
    off, hits = [], 0
    for seed in range(10):
        gone = np.random.default_rng([seed, 3]).random(5_000) < 0.6
        meter = Meter(window=1_600, patience=20)
        play(meter, tossed(truth, seed), delay=lambda t, gone=gone: None if gone[t] else 0)
        got = meter.estimate(over="window", interval="anytime")
        want = (truth.label == truth.y)[got.until - got.rows : got.until].mean()
        off.append((got.low + got.high) / 2.0 - want)
        hits += want in got
    assert abs(np.mean(off)) < 0.03
    assert hits == 10


def test_when_one_looks_does_not_matter_even_with_losses():
    chunk = tossed(world(4_000, 13, rate=0.3), 13)
    said = []
    for look in (lambda t: False, lambda t: t % 97 == 0, lambda t: t % 1024 == 1023):
        meter = Meter(patience=60, window=500)
        play(meter, chunk, delay=lambda t: None if t % 3 == 0 else t % 80, look=look)
        assert meter.lost > 100
        assert meter.ignored > 50
        said.append(everything(meter))
    np.testing.assert_allclose(said[1], said[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(said[2], said[0], rtol=1e-11, atol=1e-12)


def test_patience_counts_as_lose_does():
    decisions = [lasec.Decision(1, 0.4, 1.0, 0.5, asked=t == 0, ticket=t) for t in range(12)]
    patient, told_so = Meter(patience=10), Meter()
    for decision in decisions:
        patient.ask(decision)
        told_so.ask(decision)
    told_so.cancel(0)
    patient.tell(told(decisions[0], 1))
    assert (patient.lost, patient.ignored, patient.labels, patient.open) == (1, 1, 0, 0)
    name = "_state.waiting.1.block"
    ours, theirs = (unpack(meter.to_bytes())[1][name] for meter in (patient, told_so))
    np.testing.assert_array_equal(ours, theirs)
    in_time = Meter(patience=10)
    for decision in decisions[:11]:
        in_time.ask(decision)
    in_time.tell(told(decisions[0], 1))
    in_time.ask(decisions[11])
    assert (in_time.lost, in_time.labels) == (0, 1)


@pytest.mark.parametrize("cut", [1, 777, 1_024, 2_500])
def test_saving_in_the_middle_is_invisible(cut):
    chunk = tossed(world(4_000, 14, rate=0.3), 14)
    options = {"window": 300, "patience": 90}
    delay = lambda t: None if t % 5 == 0 else t % 70  # noqa: E731
    straight, first = Meter(**options), Meter(**options)
    play(straight, chunk, delay)
    mail = play(first, chunk, delay, upto=cut)
    second = Meter.from_bytes(first.to_bytes())
    assert repr(second) == repr(first)
    play(second, chunk, delay, since=cut, mail=mail)
    np.testing.assert_allclose(everything(second), everything(straight), rtol=1e-11, atol=1e-12)
    for name in ("rows", "asked", "labels", "lost", "ignored", "open", "blind"):
        assert getattr(second, name) == getattr(straight, name)


def test_a_damaged_meter_is_refused():
    meter = metered(tossed(world(500, 1), 1))
    header, arrays = unpack(meter.to_bytes())
    with pytest.raises(lasec.StateError, match="not a meter"):
        Meter.from_bytes(pack(header | {"kind": "session"}, arrays))
    with pytest.raises(lasec.StateError, match=r"total has the shape \(3,\)"):
        Meter.from_bytes(pack(header, arrays | {"_state.total": np.zeros(3)}))
    with pytest.raises(lasec.StateError, match="invalid"):
        Meter.from_bytes(pack(header, {}))
    extra = {"_state.silent.0": np.array([3]), "_state.silent.1": np.array([3])}
    with pytest.raises(lasec.StateError, match="the counters contradict each other"):
        Meter.from_bytes(pack(header, arrays | extra))
    with pytest.raises(lasec.StateError, match="no known use"):
        Meter.from_bytes(pack(header, arrays | {"more": np.zeros(3)}))


def test_memory_does_not_grow_with_the_rounds():
    def size(rounds):
        meter = Meter(window=320)
        play(meter, tossed(world(rounds, 15), 15), delay=lambda t: 200)
        waiting = meter._sums.waiting
        return len(waiting), len(meter._sums.questions), len(meter.to_bytes())

    short, long = size(3_000), size(30_000)
    assert long[0] <= 22
    assert long[1] < 60
    assert long[2] < 1.3 * short[2]


def test_blind_rounds():
    chunk = tossed(world(2_000, 16, rate=0.2), 16)
    blind = np.arange(2_000) % 4 == 0
    q, asked = np.where(blind, 0.0, chunk.propensity), chunk.asked & ~blind
    mixed = type(chunk)(**{**vars(chunk), "propensity": q, "asked": asked})
    meter, only = metered(mixed, window=None), metered(mixed[~blind], window=None)
    assert meter.blind == 500
    sure = np.where(chunk.label > 0, chunk.p, 1.0 - chunk.p)
    want = (1_500 * only.accuracy.value + sure[blind].sum()) / 2_000
    assert meter.accuracy.value == pytest.approx(want, rel=1e-10)
    for interval in ("normal", "anytime"):  # a quarter of the rows can be anything
        assert meter.estimate(interval=interval).width > only.estimate(interval=interval).width
        assert meter.estimate(interval=interval).width > 0.25
        assert chunk.accuracy in meter.estimate(interval=interval)


def test_rounds_that_nobody_could_ask_do_not_make_it_sure():
    """The model is sure of itself and always wrong once the budget is spent."""
    n = 1_000
    seen = np.arange(n) < 500
    asked = seen & (np.random.default_rng(1).random(n) < 0.2)
    columns = (np.full(n, 1, dtype=np.int8), np.full(n, 0.9), np.zeros(n), np.where(seen, 0.2, 0.0))
    records = lasec.Records(*columns, asked, ~seen, asked, first=0)
    y = np.where(seen, 1, -1)
    meter = Meter(window=None)
    meter.extend(records, y)
    assert 0.5 in meter.accuracy
    assert meter.blind == 500


def test_without_labels_there_is_no_value():
    meter = Meter()
    for t in range(3):
        for interval in ("normal", "anytime"):
            got = meter.estimate(interval=interval)
            assert math.isnan(got.value)
            assert (got.low, got.high) == (0.0, 1.0)
        meter.ask(lasec.Decision(1, 0.2, 1.0, 0.5, asked=False, ticket=t))


def test_what_is_refused_changes_nothing():
    meter = Meter()
    good = lasec.Decision(1, 0.2, 1.0, 0.5, asked=True, ticket=4)
    meter.ask(good)
    for wrong in (
        good, good._replace(ticket=3), good._replace(ticket=5, label=2),
        good._replace(ticket=5, label=0.5), good._replace(ticket=5, label=math.nan),
        good._replace(ticket=5, propensity=1.5), good._replace(ticket=5, propensity=math.nan),
        good._replace(ticket=5, margin=math.nan), good._replace(ticket=5, propensity=0.0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="decision"):
            meter.ask(wrong)
    with pytest.raises(lasec.TicketError, match="never seen"):
        meter.tell(told(good._replace(ticket=5), 1))
    with pytest.raises(lasec.TicketError, match="never seen"):
        meter.cancel(5)
    meter.tell(told(good._replace(ticket=2), 1))
    assert (meter.rows, meter.asked, meter.labels, meter.ignored) == (1, 1, 0, 1)
    chunk = tossed(world(10, 1), 1)
    with pytest.raises(ValueError, match="tickets"):
        meter.extend(chunk, chunk.y)
    chunk.margin[3] = math.nan
    with pytest.raises(ValueError, match="NaN"):
        Meter().extend(chunk, chunk.y)


def test_questions_that_a_meter_cannot_answer():
    meter = Meter(window=None)
    for wrong in ({"over": "window"}, {"interval": "exact"}, {"level": 1.0}, {"over": "decay"}):
        with pytest.raises(ValueError, match=r"."):
            meter.estimate(**wrong)
    for wrong in ({"window": 0}, {"patience": -1}):
        with pytest.raises(ValueError, match=r"window|patience"):
            Meter(**wrong)


def test_with_a_tracker_whose_free_rows_take_tickets():
    X, y = lasec.streams.walking(speed=0.01, seed=3)
    tracker, meter, right = lasec.Tracker(rate=0.2), Meter(), []
    for t, (x, label) in enumerate(zip(X[:3_000], y, strict=False)):
        if t % 10 == 0:
            meter_ignores = tracker.learn(x, int(label))
            assert meter_ignores.decision.propensity == 0.0
            continue
        decision = tracker.ask(x)
        meter.ask(decision)
        right.append(decision.label == label)
        if decision.asked:
            meter.tell(tracker.tell(decision.ticket, int(label)))
    assert (meter.rows, meter.open, meter.blind) == (2_700, 0, 0)
    assert np.mean(right) in meter.accuracy
    assert np.mean(right) in meter.estimate(interval="anytime")


def test_a_window_without_an_asked_error_is_not_too_certain():
    """Errors are rare and hardly ever asked: the model's own doubt then widens the interval."""
    rng = np.random.default_rng(5)
    covered, silent = [], 0
    for _ in range(300):
        n, q = 1_000, 0.01
        wrong, asked = rng.random(n) < 0.05, rng.random(n) < q
        columns = [np.full(n, value) for value in (1, 0.9, 0.1, q)]
        records = lasec.Records(
            columns[0].astype(np.int8), *columns[1:], asked, wrong, asked, first=0
        )
        meter = Meter(window=n)
        meter.extend(records, np.where(wrong, -1, 1))
        estimate = meter.accuracy
        if math.isnan(estimate.value):  # nothing was asked at all
            continue
        silent += not (asked & wrong).any()
        covered.append(1.0 - wrong.mean() in estimate)
    assert silent > 100
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize("rounds", [150, 5_000])
@pytest.mark.parametrize("lost", [0.0, 0.3])
def test_one_row_of_sums_estimates_what_a_meter_does(rounds, lost):
    """Also where a share of the answers is lost, and where rows could not be queried."""
    chunk = tossed(world(rounds, seed=8, rate=0.3), seed=9)
    chunk.propensity[:20], chunk.asked[:20] = 0.0, False
    meter, heard = Meter(window=None), np.random.default_rng(1).random(rounds) >= lost
    for decision, y, here in zip(chunk.decisions(), chunk.y, heard, strict=True):
        meter.ask(decision)
        if decision.asked:
            meter.tell(told(decision, y)) if here else meter.cancel(decision.ticket)
    guess, q, some = sums.doubt(chunk.label, chunk.margin), chunk.propensity, chunk.asked & heard
    row = sums.of_rows(guess, q).sum(axis=0)
    row += sums.of_losses(q[chunk.asked]).sum(axis=0)
    answers = sums.of_answers(guess[some], q[some], (chunk.label != chunk.y)[some])
    row += (answers - sums.of_losses(q[some])).sum(axis=0)  # they came after all
    assert means.accuracy(row, until=rounds) == pytest.approx(meter.accuracy, rel=1e-9)
    assert (meter.lost > 0) == (lost > 0.0)


def test_withheld_labels_do_not_escape_the_worst_case():
    """Half of the errors are given up: the interval is wrong then, and the worst case is not."""
    covered = 0
    for seed in range(8):
        X, y = lasec.streams.walking(3_000, dimension=10, speed=0.02, seed=seed)
        session = lasec.Session(lasec.Tracker(rate=0.1, seed=seed))
        withheld, right, lost = np.random.default_rng(seed).random(3_000) < 0.5, [], 0
        for t, x in enumerate(X):
            decision = session.ask(x)
            known = decision.label is not None
            if known:
                right.append(decision.label == y[t])
            if decision.asked and decision.label != y[t] and withheld[t]:
                session.cancel(decision.ticket)
                lost += known
            elif decision.asked:
                session.tell(decision.ticket, int(y[t]))
        right = np.array(right)
        assert right.size == 3_000 - session.meter.unpredicted
        for over, rows in (
            ("all", right),
            ("window", right[-session.accuracy(over="window").rows :]),
        ):
            got = session.accuracy(over=over)
            assert got.worst_low <= rows.mean() <= got.worst_high
            assert 0.0 <= got.worst_low < got.low < got.high <= got.worst_high <= 1.0
        got = session.accuracy()
        assert session.meter.lost - session.meter.unpredicted <= got.lost == lost
        assert session.meter.lost >= lost > 10
        assert f"; {got.lost} answers lost: between {got.worst_low:.3f} and" in repr(got)
        covered += right.mean() in got
    assert covered < 4


def test_the_worst_case_is_all_that_the_lost_rows_can_be():
    chunk = tossed(world(4_000, 21, rate=0.3), 21)
    gone = chunk.asked & (np.arange(4_000) % 7 == 0)
    meter = Meter(window=500)
    play(meter, chunk, delay=lambda t: 0 if not gone[t] else None)
    for ticket in np.flatnonzero(gone).tolist():
        meter.cancel(ticket)
    again = Meter.from_bytes(meter.to_bytes())
    for over in ("all", "window"):
        got = meter.estimate(over=over)
        lost = gone[got.until - got.rows : got.until]
        slack = (lost / chunk.propensity[got.until - got.rows : got.until]).sum() / got.rows
        assert got.lost == lost.sum() > 10
        ends = max(0.0, got.low - slack), min(1.0, got.high + slack)
        assert (got.worst_low, got.worst_high) == pytest.approx(ends, abs=1e-12)
        assert again.estimate(over=over) == got
    for interval in ("anytime", "normal"):
        got = meter.estimate(interval=interval)
        assert got.worst_low <= got.low <= got.high <= got.worst_high
        assert got.worst_high - got.worst_low > got.width


def test_where_no_answer_is_lost_the_worst_case_is_the_interval():
    got = metered(tossed(world(2_000, 22, rate=0.3), 22)).accuracy
    assert (got.lost, got.worst_low, got.worst_high) == (0, got.low, got.high)
    assert "lost" not in repr(got)
