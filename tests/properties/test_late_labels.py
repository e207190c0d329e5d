"""Labels that come late, out of order, twice, for unknown tickets, or never."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lasec
from catalogue import PAIRS, build
from lasec.nested import leaves

DIMENSION = 3
rows = st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=DIMENSION, max_size=DIMENSION)
labels = st.sampled_from([-1, 1])


@pytest.mark.parametrize(("learning_rule", "query"), PAIRS, ids=repr)
@given(
    events=st.lists(st.tuples(rows, labels, st.integers(0, 12), st.booleans()), max_size=25),
    update=st.sampled_from(["mistakes", "labels"]),
)
@settings(max_examples=15)
def test_delayed_labels_are_learned_in_the_order_of_arrival(learning_rule, query, events, update):
    """The state equals a bare sequential replay of the labels that came, in order of arrival."""
    learner = build(learning_rule, DIMENSION, query, learn_from=update, seed=4)
    draws = lasec.uniforms(4, 0, len(events) + 1)
    twin = learning_rule.init(DIMENSION)
    due = {}

    def arrive(now):
        for ticket, x, y in due.pop(now, []):
            learner.tell(ticket, y)
            raw = learning_rule.margin(twin, x, ticket + 1).raw
            if update == "labels" or (1 if raw >= 0 else -1) != y:
                learning_rule.update(twin, x, float(y), draws[ticket, 1], ticket + 1)

    for now, (row, y, delay, lost) in enumerate(events):
        x = np.array(row)
        decision = learner.ask(x)
        learning_rule.note(twin, x)
        assert decision.asked == (draws[now, 0] < decision.propensity)
        if decision.asked and not lost:
            due.setdefault(now + delay, []).append((decision.ticket, x, y))
        arrive(now)
    for now in sorted(due):
        arrive(now)

    near = 1e-3 if any(array.dtype == np.float32 for array in leaves(twin)) else 1e-9
    for ours, theirs in zip(leaves(learner.state), leaves(twin), strict=True):
        # Of what cancels, some digits more are lost: polynomials of rows reach 1,000.
        np.testing.assert_allclose(ours, theirs, rtol=near, atol=10.0 * near)


class Conversation(RuleBasedStateMachine):
    """A learner beside a plain dict of what it should remember."""

    @initialize(limit=st.integers(1, 4), seed=st.integers(0, 9))
    def begin(self, limit, seed):
        self.learner = lasec.LASEC_SS(DIMENSION, aggressiveness=0.5, seed=seed, max_pending=limit)
        self.limit, self.open, self.closed, self.told = limit, [], set(), 0
        self.rows = self.asked = self.dropped = 0

    @rule(row=rows)
    def ask(self, row):
        before = [array.copy() for array in self.learner.state]
        decision = self.learner.ask(row)
        for old, new in zip(before, self.learner.state, strict=True):
            np.testing.assert_array_equal(old, new)
        assert decision.ticket == self.rows
        self.rows += 1
        if not decision.asked:
            self.closed.add(decision.ticket)
            return
        self.asked += 1
        self.open.append(decision)
        if len(self.open) > self.limit:
            self.closed.add(self.open.pop(0).ticket)
            self.dropped += 1

    @precondition(lambda self: self.open)
    @rule(data=st.data(), y=labels)
    def tell(self, data, y):
        decision = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        outcome = self.learner.tell(decision.ticket, y)
        assert outcome.decision == decision
        assert outcome.correct == (decision.label == y)
        assert outcome.updated == outcome.mistake
        self.closed.add(decision.ticket)
        self.told += 1

    @precondition(lambda self: self.closed)
    @rule(data=st.data(), y=labels)
    def tell_again_or_unasked_or_dropped(self, data, y):
        self.refused(data.draw(st.sampled_from(sorted(self.closed))), y, "is not open")

    @rule(ahead=st.integers(0, 5), y=labels)
    def tell_a_ticket_of_the_future(self, ahead, y):
        self.refused(self.rows + ahead, y, "was never given out")

    def refused(self, ticket, y, why):
        before = self.learner.to_bytes()
        with pytest.raises(lasec.TicketError, match=why):
            self.learner.tell(ticket, y)
        assert self.learner.to_bytes() == before

    @rule(row=rows, y=labels)
    def tell_row(self, row, y):
        outcome = self.learner.learn(row, y)
        assert outcome.decision.propensity == 0.0
        self.closed.add(self.rows)
        self.rows += 1
        self.told += 1

    @rule()
    def move(self):
        """Ship it to another process: nothing changes."""
        self.learner = lasec.Learner.from_bytes(self.learner.to_bytes())

    @invariant()
    def counters_agree(self):
        if not hasattr(self, "learner"):
            return
        learner = self.learner
        assert learner.pending == tuple(decision.ticket for decision in self.open)
        expected = (self.rows, self.asked, self.told, self.dropped)
        assert (learner.rows, learner.asked, learner.told, learner.dropped) == expected


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=60, stateful_step_count=30)
