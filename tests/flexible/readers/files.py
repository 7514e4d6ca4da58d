"""Files as other programs write them, from modal data and matrices."""

from __future__ import annotations

import numpy as np
from tests.model.modal.trees import symmetric

from soacraft.model.modal import ModalData, ModalNode
from soacraft.spatial.pose import Pose


def cloud_nodes(rng, n, points=6, geometric=False, turns=True):
    """Point masses with shapes (translations and turns) at places, and the modal data of them."""
    m, r = rng.uniform(0.1, 0.4, points), rng.standard_normal((points, 3))
    phi, psi = 0.2 * rng.standard_normal((points, 3, n)), 0.2 * rng.standard_normal((points, 3, n))
    K = rng.standard_normal((n, n))
    more = {}
    if geometric:
        phi2 = symmetric(0.1 * rng.standard_normal((points, 3, n, n)))
        more = dict(S=np.einsum("k,kaij->ija", m, phi2), T=np.einsum("k,ka,kbij->ijab", m, r, phi2))
    else:
        phi2 = [None] * points
    nodes = {f"fe:{k + 1}": ModalNode(Pose(translation=r[k]), phi[k], psi[k], phi2[k]) for k in range(points)}
    data = ModalData(
        mass=m.sum(), first=m @ r, second=np.einsum("k,ka,kb->ab", m, r, r), p=np.einsum("k,kaj->ja", m, phi),
        N=np.einsum("k,ka,kbj->jab", m, r, phi), Q=np.einsum("k,kai,kbj->ijab", m, phi, phi),
        M=np.einsum("k,kai,kaj->ij", m, phi, phi), K=K @ K.T, D=0.1 * np.eye(n), nodes=nodes, **more,
    )  # fmt: skip
    return data, m, r, phi, psi


def mbdyn_text(m, r, phi, psi, M, K, D=None, labels=None, rotary=None, inertia=None, start=None):
    """As femgen and mboct-mbdyn write it."""
    points, _, n = phi.shape
    labels = range(1, points + 1) if labels is None else labels
    rotary = np.zeros((points, 3)) if rotary is None else rotary
    start = np.zeros(n) if start is None else start

    def row(x):
        return " ".join(f"{y:.16e}" for y in np.ravel(x))

    lines = ["** MBDyn MODAL DATA FILE", "** NODE SET ALL", "** RECORD GROUP 1, HEADER",
             "**   REVISION.  NODE. NORMAL, ATTACHMENT, CONSTRAINT, REJECTED MODES.",
             f"VER2  {points}  {n}  0  0  0", "**", "** RECORD GROUP 2, FINITE ELEMENT NODE LIST",
             " ".join(map(str, labels)), "**", "** RECORD GROUP 3, INITIAL MODAL DISPLACEMENTS", row(start),
             "** RECORD GROUP 4, INITIAL MODAL VELOCITIES", row(np.zeros(n))]  # fmt: skip
    for k, axis in enumerate("XYZ"):
        lines += [f"** RECORD GROUP {5 + k}, NODAL {axis} COORDINATES", *(f"{x:.16e}" for x in r[:, k]), "**"]
    lines.append("** RECORD GROUP 8, MODE SHAPES")
    for j in range(n):
        lines.append(f"**    NORMAL MODE SHAPE #  {j + 1}")
        lines += [row([phi[k, :, j], psi[k, :, j]]) for k in range(points)]
    lines += ["** RECORD GROUP 9, MODAL MASS MATRIX", *map(row, M), "** RECORD GROUP 10, MODAL STIFFNESS MATRIX"]
    lines += [*map(row, K), "** RECORD GROUP 11, DIAGONAL OF LUMPED MASS MATRIX"]
    lines += [row([[x] * 3, y]) for x, y in zip(m, rotary, strict=True)]
    if inertia is not None:
        mass, c, J = inertia
        lines += ["** RECORD GROUP 12, RIGID BODY INERTIA MATRIX", row([mass]), row(c), *map(row, J)]
    if D is not None:
        lines += ["** RECORD GROUP 13, MODAL DAMPING MATRIX", *map(row, D)]
    return "\n".join([*lines, "**", ""])


def op4_text(name, X, *, sparse=False, big=False, digits=16, words=2, form=6):
    """As OUTPUT4 writes it, columns from the first to the last nonzero, or strings of them."""
    rows, columns = X.shape
    width = digits + 7
    per = 80 // width

    def numbers(values):
        parts = [f"{x:{width}.{digits}E}" for x in values]
        return ["".join(parts[k : k + per]) for k in range(0, len(parts), per)]

    head = f"{columns:8d}{-rows if big else rows:8d}{form:8d}{2:8d}{name:<8s}1P,{per}E{width}.{digits}"
    lines = [head]
    for j in range(columns):
        there = np.flatnonzero(X[:, j])
        if not len(there):
            continue
        if not sparse:
            values = X[there[0] : there[-1] + 1, j]
            lines += [f"{j + 1:8d}{there[0] + 1:8d}{words * len(values):8d}", *numbers(values)]
            continue
        strings = np.split(there, np.flatnonzero(np.diff(there) > 1) + 1)
        heads = sum(words * len(x) + (2 if big else 1) for x in strings)
        lines.append(f"{j + 1:8d}{0:8d}{heads:8d}")
        for x in strings:
            length, row = words * len(x), x[0] + 1
            lines.append(f"{length + 1:8d}{row:8d}" if big else f"{65536 * (length + 1) + row:8d}")
            lines += numbers(X[x, j])
    return "\n".join([*lines, f"{columns + 1:8d}{1:8d}{1:8d}", *numbers([1.0]), ""])
