"""The row of selective sampling, and the three ways of asking."""

from types import SimpleNamespace

import numpy as np


def coin(a):
    """Cesa-Bianchi, Gentile, Zaniboni (2006): probability a/(a + |p|)."""
    return lambda p, r, t: a / (a + abs(p))


def threshold(kappa):
    """Cesa-Bianchi, Gentile, Orabona (2009): ask iff r > t^-kappa."""
    return lambda p, r, t: float(r > 1.0 / t**kappa)


def always(p, r, t):
    return 1.0


def play(model, query, X, y, coins, drops, mistakes_only=True):
    """Predict, ask, learn; gives columns of what happened in each row."""
    rows = []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        p, r = model.margin(x)
        predicted = 1 if p >= 0 else -1
        probability = query(p, r, t)
        asked = coins[t - 1] < probability
        mistake = predicted != label
        updated = asked and (mistake or not mistakes_only)
        if updated:
            model.update(x, label, drops[t - 1])
        rows.append((p, r, probability, predicted, asked, mistake, updated))
    names = ("margin", "r", "propensity", "label", "asked", "mistake", "updated")
    return SimpleNamespace(**dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True)))
