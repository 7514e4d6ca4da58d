"""MBDyn's modal text file (`.fem`, of its modal joint): record groups of nodes, shapes, matrices and lumped masses.

    1 revision, nodes, modes (normal + attachment + constraint - rejected)    8 shapes: (t, theta) of nodes, by mode
    2 labels of nodes     3, 4 initial modal coordinates and rates            9, 10, 13 modal mass, stiffness, damping
    5, 6, 7 coordinates of nodes                                              11 lumped masses, 12 inertia of the body

The moments of the modes come from the lumped masses at the nodes; the modal mass and inertia of the file are compared.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from soacraft.errors import ModelError
from soacraft.flexible.given import lump
from soacraft.flexible.moments import field_moments, rigid_mass
from soacraft.flexible.readers.text import MODES, NODES, TextFile
from soacraft.model.modal import ModalData, ModalNode
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import cross

#: Largest difference of modal mass and inertia in the file from those of its lumped masses: the digits that programs
#: print.
SAME = 1e-3
_GROUP = re.compile(r"\*\*\s*RECORD GROUP\s+(\d{1,4})\b", re.IGNORECASE)
_WORDS = {
    2: "labels of nodes", 3: "initial modal displacements", 4: "initial modal velocities", 5: "x of nodes",
    6: "y of nodes", 7: "z of nodes", 8: "mode shapes", 9: "modal mass", 10: "modal stiffness", 11: "lumped masses",
    12: "inertia of the body", 13: "modal damping",
}  # fmt: skip
_NEEDED = (2, 5, 6, 7, 8, 9, 10, 11)


def read_mbdyn(path: Path) -> ModalData:
    """The modal data of an MBDyn file."""
    file = TextFile(path)
    groups = _Groups(file)
    n, count = groups.modes, groups.nodes
    labels = [file.whole(line, word, 0, 10**9, "the label of a node") for line, word in groups.words(2, count)]
    if len(set(labels)) < count:
        raise file.fail(groups.line(2), "the label of a node occurs twice.")
    places = np.stack([groups.numbers(k, count) for k in (5, 6, 7)], axis=1)
    shapes = groups.numbers(8, 6 * count * n).reshape(n, count, 6).transpose(1, 2, 0)
    M, K = (groups.numbers(k, n * n).reshape(n, n) for k in (9, 10))
    D = groups.numbers(13, n * n).reshape(n, n) if groups.has(13) else None
    moments = _moments(groups, places, shapes)
    off = _compared(groups, moments, M)
    for k in (3, 4):
        if groups.has(k) and groups.numbers(k, n).any():
            file.ignored(f"record group {k}", groups.line(k), f"{_WORDS[k]}: set the state of the model", dynamic=True)
    nodes = {
        f"fe:{label}": ModalNode(Pose(translation=x), u[:3], u[3:])
        for label, x, u in zip(labels, places, shapes, strict=True)
    }
    note = f"modal mass in the file and of its lumped masses agree to {off:.1g}"
    try:
        return ModalData(
            **moments, K=K, D=D, nodes=nodes, points=places, shapes=shapes[:, :3],
            kinds=("MBDyn",) * n, notes=("read from a modal file of MBDyn", note, "no geometric stiffening"),
            import_report=file.done(geometric=False),
        )  # fmt: skip
    except ModelError as problem:
        raise file.fail(0, str(problem)) from None


class _Groups:
    """The words of the record groups, with their lines, and the sizes in the first."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self._words: dict[int, list[tuple[int, str]]] = {}
        self._lines: dict[int, int] = {}
        current: list[tuple[int, str]] | None = None
        head: tuple[int, list[str]] | None = None
        for k, line in file.lines():
            mark = _GROUP.match(line)
            if mark is not None:
                number = int(mark[1])
                if number in self._words:
                    raise file.fail(k, f"record group {number} occurs twice, first in line {self._lines[number]}.")
                current = self._words[number] = []
                self._lines[number] = k
            elif line.startswith("**") or current is None:
                continue
            elif 1 in self._words and len(self._words) == 1:
                words = line.split()
                if head is None and len(words) == 6 and all(x.isascii() and x.isdigit() for x in words[1:]):
                    head = k, words
            else:
                current += [(k, word) for word in line.split()]
        if 1 not in self._words or head is None:
            raise file.fail(0, "is no modal file of MBDyn: it needs '** RECORD GROUP 1' with a line of six sizes.")
        at, words = head
        self.nodes = file.whole(at, words[1], 1, NODES, "the number of nodes")
        parts = [file.whole(at, x, 0, MODES, "a number of modes") for x in words[2:]]
        self.modes = parts[0] + parts[1] + parts[2] - parts[3]
        if not 1 <= self.modes <= MODES:
            raise file.fail(at, f"modes are 1 to {MODES}, got {self.modes}.")
        file.used("record group 1", self._lines[1], words[0])
        self._tell()

    def _tell(self) -> None:
        file = self.file
        missing = next((k for k in _NEEDED if k not in self._words), None)
        if missing == 11:
            raise file.fail(0, "has no record group 11: without lumped masses the moments of the modes are not known.")
        if missing is not None:
            raise file.fail(0, f"record group {missing}, {_WORDS[missing]}, is missing.")
        for k, line in self._lines.items():
            if k in _WORDS and k not in (3, 4, 9, 12):
                file.used(f"record group {k}", line, _WORDS[k])
            elif k > 13:
                file.ignored(f"record group {k}", line, "invariants follow from the lumped masses")
            elif k == 0:
                raise file.fail(line, "record groups count from 1.")

    def has(self, k: int) -> bool:
        """True if the file has a group."""
        return k in self._words

    def line(self, k: int) -> int:
        """Line at which a group begins."""
        return self._lines[k]

    def drop_row_of_zeros(self, k: int, count: int) -> None:
        """Leaves out six zeros after what a group must have: femgen writes them after the last lumped mass."""
        words = self._words[k]
        if len(words) == count + 6 and not any(self.file.number(*word) for word in words[count:]):
            del words[count:]
            self.file.ignored(f"record group {k}", words[-1][0] + 1, "a row of zeros after the last node")

    def words(self, k: int, count: int) -> list[tuple[int, str]]:
        """The words of a group, with their lines; as many as there must be."""
        words = self._words[k]
        if len(words) != count:
            raise self.file.fail(
                self._lines[k],
                f"record group {k}, {_WORDS[k]}, must have {count} numbers for {self.nodes} nodes and {self.modes} "
                f"modes, got {len(words)}.",
            )
        return words

    def numbers(self, k: int, count: int) -> Array:
        """The numbers of a group."""
        return np.array([self.file.number(line, word) for line, word in self.words(k, count)])


def _moments(groups: _Groups, places: Array, shapes: Array) -> dict[str, Any]:
    """Moments of lumped masses and moments of inertia at the nodes."""
    groups.drop_row_of_zeros(11, 6 * groups.nodes)
    lumped = groups.numbers(11, 6 * groups.nodes).reshape(-1, 6)
    points, masses, motions = [], [], []
    for k, m in enumerate(lumped):
        if np.ptp(m[:3]) > SAME * np.abs(m[:3]).max():
            text = f"the lumped mass of the {k + 1}. node differs along x, y and z: {m[0]:.6g}, {m[1]:.6g}, {m[2]:.6g}."
            raise groups.file.fail(groups.line(11), text)
        try:
            for d, part in lump(np.diag(m), k):
                points.append(places[k] + d)
                masses.append(part)
                motions.append(shapes[k, :3] + cross(shapes[k, 3:].T, d).T)
        except ModelError as problem:
            raise groups.file.fail(groups.line(11), str(problem)) from None
    if not points:
        raise groups.file.fail(groups.line(11), "all lumped masses are zero.")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        return field_moments(np.array(points), csr_array(diags_array(np.array(masses))), np.array(motions))


def _compared(groups: _Groups, moments: dict[str, Any], M: Array) -> float:
    """Difference of the modal mass of the file from that of its lumped masses; likewise the inertia; large ones are
    refused.
    """
    size = np.sqrt(np.maximum(np.diagonal(moments["M"]), np.finfo(float).tiny))
    with np.errstate(over="ignore", invalid="ignore"):
        off = float(np.abs((M - moments["M"]) / np.outer(size, size)).max())
    if not off <= SAME:
        raise groups.file.fail(
            groups.line(9),
            f"the modal mass differs from that of the lumped masses by {off:.2g} of it: the moments of the modes would "
            "be of another field. Give lumped masses in the FE model that the modes are made of.",
        )
    groups.file.used("record group 9", groups.line(9), "modal mass", f"taken from the lumped masses, {off:.1g} from it")
    if groups.has(12):
        header = groups.numbers(12, 13)
        m, c, J = header[0], header[1:4], header[4:].reshape(3, 3)
        computed = rigid_mass(float(moments["mass"]), moments["first"], moments["second"])
        other = rigid_mass(m, m * c, 0.5 * np.trace(J) * np.eye(3) - J + m * np.outer(c, c))
        scale = np.sqrt(np.repeat((computed[0, 0], np.diagonal(computed)[3:].max()), 3))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            gap = float(np.abs((computed - other) / np.outer(scale, scale)).max())
        if not gap <= SAME:
            raise groups.file.fail(
                groups.line(12), f"the inertia of the body differs from that of the lumped masses by {gap:.2g} of it."
            )
        note = f"taken from the lumped masses, {gap:.1g} from it"
        groups.file.used("record group 12", groups.line(12), "inertia of the body", note)
    return off
