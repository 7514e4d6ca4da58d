"""Independence of dofs where loops and couplings tie some of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.kinematics.partition import partition
from soacraft.kinematics.rows import Constraints
from soacraft.model.states.ties import tied_dofs
from soacraft.model.tree.multibody import Multibody


def require_independent(mb: Multibody, dofs: npt.NDArray[np.intp], what: str) -> None:
    """Raise `StateError` where loops and couplings, at the present state, do not let these dofs all move by themselves.
    Others may follow them. O(m nv^2).

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(3)
    >>> gear = mb.couple("gear", {"link2": 1.0, "link1": -2.0})
    >>> require_independent(mb, np.array([0, 2]), "a Tracker")
    """
    if not tied_dofs(mb)[dofs].any():
        return
    wanted = np.zeros(mb.nv, dtype=np.bool_)
    wanted[dofs] = True
    free = partition(Constraints(mb, mb.current.replace(forces=())), wanted=wanted).independent
    held = np.setdiff1d(dofs, free)
    if len(held):
        names, may = mb.dof_names, [mb.dof_names[i] for i in np.intersect1d(free, dofs)]
        raise StateError(
            f"{what} moves each dof by itself, and loops or couplings of {mb.name!r} tie {names[held[0]]!r} to others "
            f"of them: give limb=..., a limb whose dofs are independent, of {', '.join(map(repr, may)) or 'none'}; "
            "what is tied to them follows."
        )
