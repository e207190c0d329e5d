"""Jobs that share a transaction, of which some are undone."""

from __future__ import annotations

import random


def carry_out(store, seed):
    """Jobs that write in every way, at random; gives the tenants that have to be there."""
    draw, kept = random.Random(seed), {name for (name,) in store.read("SELECT tenant FROM tenants")}
    insert = "INSERT INTO tenants VALUES (?, ?)"
    with store.transaction() as tx:
        for job in range(draw.randint(1, 6)):
            tx.mark()
            mine = set(kept)
            for step in range(draw.randint(0, 5)):
                name = f"{seed}-{job}-{step}"
                how = draw.choice(["put", "other", "run", "read", "delete"])
                if how == "put":
                    tx.put(insert, name, 1.0)
                elif how == "other":
                    tx.put("INSERT INTO tenants (tenant, made) VALUES (?, ?)", name, 1.0)
                elif how == "run":
                    assert tx.run(insert, name, 1.0) == 1
                elif how == "delete" and mine:
                    name = draw.choice(sorted(mine))
                    tx.put("DELETE FROM tenants WHERE tenant = ?", name)
                    mine.discard(name)
                    continue
                else:
                    assert {found for (found,) in tx.read("SELECT tenant FROM tenants")} == mine
                    continue
                mine.add(name)
            if draw.random() < 0.5:
                tx.undo()
            else:
                kept = mine
    return sorted(kept)
