"""What an adaptive budget spends early, written from the equations of lasec.learner.adaptive."""

SPEEDS = [0, 1, 5, 20, 0]
HAZARDS = [1, 1 / 4, 1 / 16, 1 / 64]
LAPSES = [1 / 300, 1 / 30, 1 / 10, 1 / 3, 2 / 3, 1]


def boost_of(rule, posterior, born, query, past, labels, owed, usual, rows):
    """The labels that are spent early from a row on, and the rows over which they are repaid."""
    L = query.horizon - past if past < query.horizon else query.horizon
    if past < 1 or L < 200:
        return 0.0, L
    gap = noise = 0.0
    for i in range(5 * len(born)):
        age, k = rows - born[i // 5], rule.drift * SPEEDS[i % 5]
        n = max(query.rate, labels / past) * sum((1 - k) ** back for back in range(int(age)))
        for h, hazard in enumerate(HAZARDS):
            best = (n + query.rate * L - owed) / (1 + (rule.hazard * hazard + k) * L)
            for number, lapse in enumerate(LAPSES):
                pi = posterior[h][number][i]
                gap += pi * max(0.0, best - n)
                noise += pi * rule.lapse * lapse
    value = min(1.0, max(0.0, (1 - 2 * noise - usual) / 0.4))
    room = query.adapt * query.rate * L - owed
    early = min(value * gap, room) * 2_000 / query.horizon
    return min(max(early, 0.0), 900 * query.rate), L
