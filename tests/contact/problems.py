"""Contact problems: random ones, with rows J on a few dofs, so that forces are often not unique, and all kinds of laws;
and some of a humanoid that folds up on the floor."""

from pathlib import Path

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


def humanoid_problem(name: str) -> sc.contact.Problem:
    """One of `humanoid.npz`, in its own units: cones of one row are those of limits. "feet_and_limits": points of one
    foot that are pulled apart by 1e-8 of the approach, which friction holds until one slips. "folded", "turning": feet,
    knees and limits at once; the softened problems of "turning" have a solution that ends at eps = 2e-4."""
    with np.load(Path(__file__).with_name("humanoid.npz")) as file:
        rows, lower, b = (file[f"{name}_{part}"] for part in ("rows", "S", "b"))
    S = np.zeros((len(b), len(b)))
    S[np.tril_indices(len(b))] = lower
    S += np.tril(S, -1).T
    return sc.contact.Problem(S, b, [sc.contact.Cone((1.0,) * (int(count) - 1)) for count in rows])
