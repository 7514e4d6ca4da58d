"""Names that mean something already, and which names an operator of the user's own may have."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

from soacraft.errors import ModelError
from soacraft.ops.table import NAMES
from soacraft.ops.vectors import VECTORS

#: Operators that depend on the velocity.
ALONG_VELOCITY = ("coriolis", "B_hat", "X_v", "W_v", "dH_v", "dE_phi_v", "dM_v")
#: Functions that give the operators of derivatives.
FOR_DERIVATIVES = ("X", "W", "dH", "dE_phi", "dM", "W_nd", "W_nd_v")
#: Functions that occur in the text of an expression.
FUNCTIONS = ("diag_of", "root_rate")


def check_name(name: Any, taken: tuple[str, ...] = FOR_DERIVATIVES) -> str:
    """A name for an operator of the user's own: an identifier that means nothing else."""
    if not isinstance(name, str) or not name.isidentifier() or iskeyword(name) or name.startswith("_"):
        raise ModelError(f"an operator cannot be called {name!r}; a name such as S or my_operator is wanted.")
    if name in (*NAMES, "B", "I", *VECTORS, *ALONG_VELOCITY, *FUNCTIONS, *taken):
        raise ModelError(f"{name} is an operator or vector of the papers; choose another name.")
    return name


def latex_of(name: str) -> str:
    """A name as LaTeX shows it: one letter in italics, a word upright."""
    return name if len(name) == 1 else rf"\mathrm{{{name}}}".replace("_", r"\_")
