"""SID_FEM as text, from modal data, in the orders of FEMBS, which `sid.py` tells."""

from __future__ import annotations

import json
import re

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.flexible.readers.sid import PAIRS, SIX, centrifugal
from soacraft.model.modal import ModalData, ModalNode
from soacraft.model.modal.inertia import axial, moment
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


def sid_text(data: ModalData) -> str:
    """The text of a SID_FEM file. Nodes have numbers: those of "fe:17" where all are called so, else from 1 on. Their
    names and those of modes are in a block after the end of the part, where other programs stop to read."""
    n = data.n
    if n == 0:
        raise ModelFileError("a SID_FEM file needs modes: these modal data have none.")
    both = data.Q if data.T is None else data.Q + data.T  # [k, j]: of Q_kj + T_kj
    N, Q = data.N, data.Q
    gr = -2.0 * (N.transpose(0, 2, 1) - np.trace(N, axis1=1, axis2=2)[:, None, None] * np.eye(3))
    rows, columns = zip(*SIX, strict=True)  # of J
    J, J1 = moment(data.second), moment(N + N.transpose(0, 2, 1)).transpose(1, 2, 0)
    lines = [
        f"{len(data.nodes)} {n} :No. nodes, No. modes",
        "part",
        "new modal",
        "refmod",
        f"mass = {data.mass!r}",
        f"nelastq = {n}",
    ]
    lines += [f"ielastq ({k + 1}) = {_words(kind or data.modes[k])}" for k, kind in enumerate(data.kinds)]
    lines += ["end refmod", "frame"]
    for number, node in zip(_numbers(data), data.nodes.values(), strict=True):
        lines += _node(node, number, n)
    lines.append("end frame")
    lines += _taylor("mdCM", data.first[:, None], data.p.T[:, None, :])
    lines += _taylor("J", J[rows, columns][:, None], J1[rows, columns][:, None])
    lines += _taylor("Ct", data.p, None if data.S is None else data.S.transpose(0, 2, 1))
    lines += _taylor("Cr", axial(N), axial(both).transpose(1, 2, 0))
    lines += _taylor("Me", data.M, None, 2, modes=n)
    lines += _taylor("Gr", gr.transpose(1, 2, 0).reshape(3, 3 * n), None, modes=n)
    lines += _taylor("Ge", 2.0 * axial(Q).transpose(1, 2, 0).reshape(n, 3 * n), None, modes=n)
    lines += _taylor("Oe", centrifugal(N, PAIRS), centrifugal(both, PAIRS).transpose(1, 2, 0))
    lines += _taylor("ksigma", np.zeros((n, 1)), None, 0, modes=n)
    lines += _taylor("Ke", data.K, None, 2, modes=n)
    assert data.D is not None
    lines += _taylor("De", data.D, None, 2, modes=n)
    return "\n".join([*lines, "end modal", "end part", *_names(data), ""])


def _numbers(data: ModalData) -> list[int]:
    """The numbers of the nodes."""
    if all(re.fullmatch(r"fe:[1-9]\d{0,8}", name, re.ASCII) for name in data.nodes):
        return [int(name[3:]) for name in data.nodes]
    return list(range(1, len(data.nodes) + 1))


def _names(data: ModalData) -> list[str]:
    """Names of nodes and modes, in the order of the file, as texts of JSON: any character in ASCII."""
    nodes = [f"node({k}) = {json.dumps(name)}" for k, name in enumerate(data.nodes, 1)]
    modes = [f"mode({k}) = {json.dumps(name)}" for k, name in enumerate(data.modes, 1)]
    return ["names", *nodes, *modes, "end names"]


def _words(text: str) -> str:
    return "".join(x if x.isascii() and x.isprintable() and x != "=" else "?" for x in text)


def _node(node: ModalNode, number: int, n: int) -> list[str]:
    R, l = node.pose.rotation, node.pose.translation
    lines = [f"new node = {number}", "rframe = body ref"]
    lines += _taylor("origin", l[:, None], node.gam[:, None, :])
    lines += _taylor("phi", node.gam, node.gam2, modes=n)
    lines += _taylor("psi", node.lam, node.lam2, modes=n)
    lines += _taylor("AP", R, (skew(node.lam.T) @ R).transpose(1, 2, 0))
    return [*lines, "end node"]


def _taylor(name: str, m0: Array, m1: Array | None, structure: int = 3, modes: int = 0) -> list[str]:
    """m0 (rows, columns), m1 (rows, columns, n); structure 2 is symmetric, with one half written, 0 has no entries."""
    rows, columns = m0.shape
    n = modes if m1 is None else m1.shape[2]
    order = 0 if m1 is None else 1
    lines = [name] + [
        f"{x} = {y}" for x, y in dict(order=order, nrow=rows, ncol=columns, nq=n, nqn=0, structure=structure).items()
    ]
    for i in range(rows if structure else 0):
        for j in range(i + 1 if structure == 2 else columns):
            lines.append(f"m0({i + 1},{j + 1}) = {float(m0[i, j])!r}")
    for i in range(rows if m1 is not None else 0):
        for j in range(i + 1 if structure == 2 else columns):
            assert m1 is not None
            lines += [f"m1({i + 1},{k + 1},{j + 1}) = {float(m1[i, j, k])!r}" for k in range(n)]
    return [*lines, f"end {name}"]
