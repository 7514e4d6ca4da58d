"""The recursions of the papers as plain functions, one file each, on any tree of blocks.

They read like the paper and are the specification of the compiled sweeps in `_backend`. Vectors are columns (d, m);
every block may carry leading batch axes. `A` is a function A(p, k), the weight of the edge from k to its parent p.
"""

from soacraft.recursions.articulated_body import articulated_body
from soacraft.recursions.composite_body import composite_body
from soacraft.recursions.forward_dynamics import forward_dynamics
from soacraft.recursions.gather import gather, gather_tilde
from soacraft.recursions.lyapunov import backward_lyapunov, forward_lyapunov
from soacraft.recursions.mass_matrix import mass_matrix
from soacraft.recursions.newton_euler import newton_euler
from soacraft.recursions.products import block_of_AsXB, block_of_AXBs
from soacraft.recursions.scatter import scatter, scatter_tilde

__all__ = [
    "articulated_body",
    "backward_lyapunov",
    "block_of_AXBs",
    "block_of_AsXB",
    "composite_body",
    "forward_dynamics",
    "forward_lyapunov",
    "gather",
    "gather_tilde",
    "mass_matrix",
    "newton_euler",
    "scatter",
    "scatter_tilde",
]


def __dir__() -> list[str]:
    return __all__
