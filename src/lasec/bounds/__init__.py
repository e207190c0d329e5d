"""The paper's mistake bounds as numbers for given runs, and the parameters that they suggest.

Moroshko and Crammer, *Selective Sampling with Drift*, AISTATS 2014, section 4. Each bound compares
the algorithm with a sequence of reference vectors u_t; a synthetic stream has the true ones. With M
the set of rows with an update (mistakes whose label was queried), m their number, V_m the sum
over M of ``|u_k - u_{k-1}|^2`` (u_1, u_2, ... being the references of those rows), and X the
largest ``|x_t|``::

    L = sum over t of max(0, gamma - y_t u_t'x_t)         the references' hinge loss
    A = b |u_1|^2 + c V_m + sum over M of (u_t'x_t)^2
    B = sum over M of x_t' D_k^-1 x_t
    C = (d/c) max((3 X^2 + sqrt(X^4 + 4 X^2 c))/2, b + X^2)
    B' = ln|D_m / b| + tr(D_0)/c,   so that   B <= B' + m C                        (10)

===============  =========================  =======================================================
in the paper     here                       the bound
===============  =========================  =======================================================
Theorem 2, (6)   :func:`supervised`         m <= L/gamma + sqrt(A B)/gamma
Lemma 7, (11)    :func:`solved`             the same with B <= B' + m C, solved for m
Corollary 8      :func:`corollary_8`        Lemma 7 where c is set from the amount of drift
Theorem 4, (7)   :func:`selective`          E[mistakes] <= E[L_M]/gamma + a E[A]/(2 gamma^2)
                                            + E[B]/(2a), where L_M is the loss over M alone
after Lemma 7    :func:`explicit`           Theorem 4 with B' + T C for B
Corollary 9      :func:`corollary_9`        the same where c is set from the amount of drift
===============  =========================  =======================================================

Any gamma > 0 gives a bound; by default it is the one that makes the bound smallest, found exactly.
As gamma grows without limit, Theorem 2 and Lemma 7 tend to the number of rows T, so that their
smallest values are never above it. The others tend to E[m] + B/(2a).

**What the expectation is over.** The paper fixes one sequence of examples and takes expectations
over the algorithm's own random draws. Then V_m is random too, because M is: here it is inside the
expectation, as a part of A. Give runs of one stream with several seeds for that reading. Runs of
several streams, each with draws of its own, are as good: the bound holds for each sequence, and so
for the average over sequences at one gamma and one a. Either way the expectations are estimated by
means over the runs given.

Without drift (c = inf) the bounds hold for V_m = 0 only (Remarks 3 and 6: those of the second-order
perceptron) and are infinite otherwise.

:func:`mixture` is not the paper's: a bound for the mixture of a Tracker, against the best of its
own hypotheses (:mod:`lasec.bounds.mixture`).
"""

from lasec.bounds.advice import Advice, advise
from lasec.bounds.mixture import Mixture, mixture
from lasec.bounds.selective import best_aggressiveness, corollary_9, explicit, selective
from lasec.bounds.supervised import corollary_8, lemma_7, solved, supervised
from lasec.bounds.terms import Bound, Terms, terms

__all__ = [
    "Advice",
    "Bound",
    "Mixture",
    "Terms",
    "advise",
    "best_aggressiveness",
    "corollary_8",
    "corollary_9",
    "explicit",
    "lemma_7",
    "mixture",
    "selective",
    "solved",
    "supervised",
    "terms",
]
