"""Facts about a body for the panel of a page."""

from __future__ import annotations

import numpy as np

from soacraft.model.modal import ModalData
from soacraft.model.tree.frames.frame import Body

#: Modes of a flexible body that the panel names.
MODES = 12


def about(body: Body) -> list[list[str]]:
    """Rows of a name and a text: parent, hinge, mass, centre of mass, principal moments, modes, nodes.

    >>> import soacraft as sc
    >>> about(sc.load("double_pendulum").bodies[1])[:3]
    [['parent', 'upper'], ['hinge', 'lower: Pin, 1 dof'], ['mass', '1 kg']]
    """
    inertia, hinge = body.inertia, body.hinge
    moments = np.linalg.eigvalsh(np.asarray(inertia.moment))
    dofs = f"{hinge.nv} dof" + ("" if hinge.nv == 1 else "s")
    rows = [
        ["parent", body.parent.name if isinstance(body.parent, Body) else "inertial frame"],
        ["hinge", f"{body.hinge_name}: {type(hinge).__name__}, {dofs}"],
        ["mass", f"{inertia.mass:.6g} kg"],
        ["centre of mass", f"{_numbers(np.asarray(inertia.com))} m"],
        ["principal moments", f"{_numbers(np.maximum(moments, 0.0))} kg m²"],
    ]
    if body.modal is not None and body.modal.n:
        named = [_mode(body.modal, j) for j in range(min(body.modal.n, MODES))]
        rows.append(["modes", f"{body.modal.n}: {', '.join(named)}{', ...' if body.modal.n > MODES else ''}"])
    if body.nodes:
        rows.append(["nodes", ", ".join(node.name for node in body.nodes)])
    return rows


def _mode(data: ModalData, j: int) -> str:
    """A mode by its kind, or by its name."""
    return data.kinds[j] or data.modes[j]


def _numbers(x: np.ndarray) -> str:
    return ", ".join(f"{value:.4g}" for value in x + 0.0)
