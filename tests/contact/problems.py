"""Random contact problems: rows J on a few dofs, so that forces are often not unique, with all kinds of laws."""

import numpy as np

import soacraft as sc

ROWS = {1: (), 3: (1.0, 1.0), 4: (1.0, 1.0, 0.1), 6: (1.0, 1.0, 0.1, 0.05, 0.05)}


def random_problem(seed: int, *, friction: float = 1.0, most: int = 30, laws: bool = False) -> sc.contact.Problem:
    """u = J (v + W J* p): b is in the range of J, so a solution exists (p = 0 with v = 0 moved)."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, most + 1))
    dofs = int(rng.integers(1, 3 * count + 4))
    chosen: list[sc.contact.Cone | sc.contact.Bounded | sc.contact.Bilateral] = []
    for i in range(count):
        pick = rng.random()
        if laws and pick < 0.15:
            chosen.append(sc.contact.Bounded(float(rng.uniform(0, 2)), name=f"c{i}"))
        elif laws and pick < 0.25:
            chosen.append(sc.contact.Bilateral(name=f"c{i}"))
        else:
            mu = friction * 10 ** rng.uniform(-2, 0)
            rows = ROWS[int(rng.choice([1, 3, 3, 3, 4, 6]))]
            chosen.append(sc.contact.Cone(tuple(mu * x for x in rows), name=f"c{i}"))
    rows = sum(x.rows for x in chosen)
    J = rng.normal(size=(rows, dofs))
    if rng.random() < 0.3 and rows > 6:  # the same contact twice
        J[3:6] = J[:3]
    weight = 10 ** rng.uniform(-2, 2, dofs) if rng.random() < 0.5 else np.ones(dofs)
    return sc.contact.Problem((J * weight) @ J.T, J @ rng.normal(size=dofs), chosen)
