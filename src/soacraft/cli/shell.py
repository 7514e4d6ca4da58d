"""`soacraft shell`: IPython with a model and its operators already named."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import soacraft as sc
from soacraft.cli.loading import AS_IT_IS, Loading
from soacraft.errors import MissingPackageError
from soacraft.ops.table import NAMES

BANNER = """soacraft {version}: {model!r}, {bodies} bodies, {dofs} dofs, {axes} axes{papers}.{loops}
  mb       the model; change mb.q and every expression gives its new value
  ops      all operators and stacked vectors (ops.V, ops.alpha, ops.C, ...)
  {names} B I
Try:  massmat = H*phi*M*phi.T*H.T;  massmat.explain();  massmat.inv * np.ones(mb.nv)
"""

#: Words of the banner for the axes.
AXES = {
    "body": " (the papers' are inertial: --axes inertial)",
    "inertial": " (the papers')",
    "origin": " (phi is I; the papers' are inertial: --axes inertial)",
}


def names_for(model: str, axes: str = "body", how: Loading = AS_IT_IS) -> dict[str, Any]:
    """Names that the shell has at its start."""
    mb = how.load(model)
    q, v = mb.random_state(seed=0)
    mb.set_state(q, v)
    ops = sc.operators(mb, axes=axes, ignore_loops=True)
    named = {name: getattr(ops, name) for name in NAMES}
    return {"sc": sc, "np": np, "mb": mb, "ops": ops, "B": ops.B, "I": sc.I, **named}


def shell(model: str, axes: str = "body", command: str | None = None, how: Loading = AS_IT_IS) -> int:
    """Open IPython on a model or a file, or run one piece of code with the same names."""
    try:
        # an optional dependency
        from IPython.terminal.embed import InteractiveShellEmbed
    except ImportError as problem:
        raise MissingPackageError(
            f"soacraft shell needs the package IPython ({problem}): pip install 'soacraft[shell]'."
        ) from None
    names = names_for(model, axes, how)
    mb = names["mb"]
    banner = BANNER.format(
        version=sc.__version__,
        model=mb.name,
        bodies=len(mb),
        dofs=mb.nv,
        axes=axes,
        papers=AXES[axes],
        names=" ".join(NAMES),
        loops=" Its loops and couplings are ignored." if mb.is_closed else "",
    )
    ipython: Any = cast(Any, InteractiveShellEmbed)(banner1=banner, user_ns=names)
    if command is None:
        ipython()
        return 0
    return 0 if ipython.run_cell(command).success else 1
