"""Numbers of the independent dofs of a solver, by name."""

import numpy as np


def by_name(s, q, x):
    """{dof: values} for x (..., m), in the order of `s.independent` at q, or at the first q of a batch."""
    x = np.asarray(x, dtype=float)
    names = s.independent(q if np.ndim(q) == 1 else q.reshape(-1, q.shape[-1])[0])
    assert x.shape[-1] == len(names)
    return {name: x[..., i : i + 1] for i, name in enumerate(names)}
