"""SID_FEM: standard input data of a flexible body as text (Wallrapp 1993; Schwertassek and Wallrapp 1999, table 6.9).

Blocks in blocks, each from its name to `end name`: part, modal, refmod (mass, modes), frame with nodes, and Taylor
expansions m0 + sum over modes of m1 q, with m1(row, mode, column):

    mdCM (3 x 1)     sum m r                    Gr  (3 x 3n)   -2 sum m r~ phi_k~      origin, AP of a node: place, axes
    J    (6 x 1)     moment of inertia          Ge  (n x 3n)    2 sum m phi_k x phi_j  phi, psi: gam, lam, (3 x n)
    Ct   (n x 3)     sum m phi_j                Oe  (n x 6)     sum m phi_j . (w x (w x r)) by xx, yy, zz, xy, yz, xz
    Cr   (n x 3)     sum m r x phi_j            Me, Ke, De (n x n), ksigma (n x 1)

N is in Gr, the antisymmetric part of Q in Ge, its trace in Me, the symmetric part of Q + T in the first order of Oe, S
in that of Ct. Of Q and T the motion knows the sum alone. What says the same twice is compared.

So FEMBS writes it; J is xx, yy, zz, xy, xz, yz, and the columns of Gr and Ge are modes for each axis. Other writers
have J as 3 x 3, axes for each mode, m1(row, column, mode), or other columns of Oe: of two orders, that is taken in
which the file says the same twice.

Nodes have numbers there. After `end part`, where others stop to read, our own files have a block `names`: node(k) and
mode(k) = a name as a text of JSON, of the k-th node and mode of the file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.errors import ModelError, ModelFileError
from soacraft.flexible.readers.sid_blocks import Block, entry, needed, parsed, rows_said
from soacraft.flexible.readers.text import MODES, NODES, TextFile
from soacraft.model.modal import ModalData, ModalNode
from soacraft.model.modal.inertia import axial, moment
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import skew

#: Digits to which what a file says twice agrees.
SAME = 1e-4
#: Pairs of axes of the columns of Oe, and the order of some other writers.
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
OTHER_PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
#: Places of J in a matrix, where it is 6 x 1.
SIX = OTHER_PAIRS


def read_sid(path: Path) -> ModalData:
    """The modal data of a SID_FEM file."""
    file = TextFile(path)
    top = parsed(file)
    modal = needed(file, needed(file, top, "part"), "modal")
    head = needed(file, modal, "refmod")
    line, text = entry(file, head, "nelastq")
    n = file.whole(line, text, 1, MODES, "nelastq")
    mass = file.number(*entry(file, head, "mass"))
    kinds = [""] * n
    for line, _, index, text in head.indexed:
        if len(index) != 1 or not 1 <= index[0] <= n:
            raise file.fail(line, f"ielastq has an index from 1 to {n}.")
        kinds[index[0] - 1] = " ".join(text.split())[:60]
    file.used("refmod", head.line)
    terms = _Terms(file, modal, n)
    try:
        moments = terms.moments(mass)
        nodes = terms.nodes()
        names = _Names(file, top.find("names"), len(nodes), n)
        nodes = dict(zip(names.nodes or nodes, nodes.values(), strict=True))
        geometric = moments.get("S") is not None
        said = "geometric stiffening as the file has it" if geometric else "no geometric stiffening"
        return ModalData(
            **moments, nodes=nodes, modes=names.modes, kinds=tuple(kinds), notes=("read from a SID_FEM file", said),
            import_report=file.done(geometric),
        )  # fmt: skip
    except ModelFileError:
        raise
    except ModelError as problem:
        raise file.fail(0, str(problem)) from None


class _Names:
    """Names of the nodes and of the modes of a file; empty where it has none."""

    def __init__(self, file: TextFile, block: Block | None, nodes: int, modes: int) -> None:
        self._file = file
        texts: dict[str, dict[int, str]] = {"node": {}, "mode": {}}
        for line, what, index, text in block.indexed if block is not None else []:
            most = {"node": nodes, "mode": modes}.get(what, 0)
            if len(index) != 1 or not 1 <= index[0] <= most:
                raise file.fail(line, f"{what}{index} is no node, or no mode, of the file.")
            name = self._name(line, text)
            if name in texts[what].values():
                raise file.fail(line, f"two are called {name!r:.60}.")
            texts[what][index[0]] = name
        for what, most in (("node", nodes), ("mode", modes)):
            if texts[what] and len(texts[what]) != most:
                line = block.line if block else 0
                raise file.fail(line, f"{len(texts[what])} of {most} have names: each {what} needs one.")
        self.nodes = tuple(texts["node"][k] for k in sorted(texts["node"]))
        self.modes = tuple(texts["mode"][k] for k in sorted(texts["mode"]))
        if block is not None:
            file.used("names", block.line)

    def _name(self, line: int, text: str) -> str:
        try:
            name = json.loads(text) if text.startswith('"') else None  # a text, so nothing is nested
        except ValueError:
            name = None
        if not isinstance(name, str) or not 0 < len(name) <= 1000:
            raise self._file.fail(line, f"a name is a text of JSON of up to 1000 characters, got {text!r:.40}.")
        return name


class _Terms:
    """The Taylor expansions of a body of n modes."""

    def __init__(self, file: TextFile, modal: Block, n: int) -> None:
        self.file, self.modal, self.n = file, modal, n
        self._order: int | None = None  # which index of m1 counts modes: 2 or 3
        terms = {"refmod", "frame", "mdcm", "j", "ct", "cr", "me", "gr", "ge", "oe", "ksigma", "ke", "de"}
        for x in modal.blocks:
            if x.name.lower() not in terms:
                file.ignored(x.name, x.line, "nobody knows it")
        self._find_order()

    def _find_order(self) -> None:
        """m1(row, mode, column) or m1(row, column, mode), by the largest indices of expansions with few columns."""
        blocks = [x for x in (self.modal.find(name) for name in ("mdCM", "J", "Ct", "Cr", "Oe")) if x is not None]
        frame = self.modal.find("frame")
        inner = [x for node in (frame.blocks if frame else []) for x in node.blocks]
        blocks += [x for x in inner if x.name.lower() in ("origin", "ap")]
        fits = {2, 3}
        for x in blocks:
            columns = {"mdcm": 1, "origin": 1, "oe": 6, "j": 1 if rows_said(x) == "6" else 3}.get(x.name.lower(), 3)
            for _, name, index, _ in x.indexed:
                if name == "m1" and len(index) == 3:
                    fits -= {2} if index[1] > self.n or index[2] > columns else set()
                    fits -= {3} if index[2] > self.n or index[1] > columns else set()
        if not fits:
            raise self.file.fail(self.modal.line, "m1 has neither indices (row, mode, column) nor (row, column, mode).")
        self._order = min(fits)

    def taylor(self, block: Block | None, rows: int, columns: int) -> tuple[Array, Array | None]:
        """m0 (rows, columns) and m1 (rows, columns, n), None of order 0; zero where the block is absent."""
        if block is None:
            return np.zeros((rows, columns)), None
        file = self.file
        order, structure = (file.whole(*entry(file, block, x), 0, 4, x) for x in ("order", "structure"))
        for name, size in (("nrow", rows), ("ncol", columns)):
            line, text = entry(file, block, name)
            absent = structure == 0 and text == "0"
            if not absent and file.whole(line, text, 0, 10**9, name) != size:
                raise file.fail(line, f"{name} of {block.name!r} must be {size}, got {text:.20}.")
        m0, m1 = np.zeros((rows, columns)), np.zeros((rows, columns, self.n)) if order > 0 else None
        for line, name, index, text in block.indexed:
            value = file.number(line, text)
            if name == "m0" and len(index) == 2:
                self._put(m0, (index[0], index[1]), value, structure == 2, line)
            elif name == "m1" and len(index) == 3 and m1 is not None:
                place = index if self._order == 3 else (index[0], index[2], index[1])
                self._put(m1, place, value, structure == 2, line)
            else:
                raise file.fail(line, f"{name}{index} is not read in {block.name!r} of order {order}.")
        if structure == 4:
            m0 = np.eye(rows, columns)
        return m0, m1

    def _put(self, m: Array, place: tuple[int, ...], value: float, mirrored: bool, line: int) -> None:
        if any(not 1 <= k <= size for k, size in zip(place, m.shape, strict=True)):
            raise self.file.fail(line, f"an index is outside of {' x '.join(map(str, m.shape))}.")
        at = tuple(k - 1 for k in place)
        m[at] = value
        if mirrored:
            m[(at[1], at[0], *at[2:])] = value

    def _top(self, name: str, rows: int, columns: int) -> tuple[Array, Array | None]:
        block = self.modal.find(name)
        if block is not None:
            self.file.used(name, block.line)
        return self.taylor(block, rows, columns)

    def moments(self, mass: float) -> dict[str, Any]:
        """Arguments of `ModalData`, from the expansions of the body."""
        n = self.n
        first, moved = self._top("mdCM", 3, 1)
        J, J1 = self._moment()
        p, S = self._top("Ct", n, 3)
        Cr, Cr1 = self._top("Cr", n, 3)
        M, K, D = (self._top(x, n, n)[0] for x in ("Me", "Ke", "De"))
        gr, ge = self._top("Gr", 3, 3 * n)[0], self._top("Ge", n, 3 * n)[0]
        arranged = [_by_axis(gr, ge, n), _by_mode(gr, ge, n)]
        fits = [x for x in arranged if self._fits(*x, Cr, J1, None if S is not None and S.any() else Cr1, M)]
        N, turning = (fits or arranged)[0]  # turning [j, k]: sum m phi_k x phi_j
        if fits and fits[0] is arranged[1]:
            self._said("Gr", "columns by modes")
        size = float(np.abs(N).max())
        self._same("Cr", Cr, axial(N), "Gr", size)
        if J1 is not None:
            self._same("J", J1.transpose(2, 0, 1), moment(N + N.mT), "Gr", size)
        if moved is not None:
            self._same("mdCM", moved[:, 0].T, p, "Ct", float(np.abs(p).max()))
        oe, oe1 = self._top("Oe", n, 6)
        pairs = self._pairs(oe, N)
        symmetric = np.zeros((n, n, 3, 3))  # of Q_kj + T_kj
        if oe1 is not None:
            symmetric = _from_centrifugal(oe1.transpose(0, 2, 1), pairs)
        ksigma = self.modal.find("ksigma")
        if ksigma is not None and any(float(self.file.number(k, text)) for k, _, _, text in ksigma.indexed):
            self.file.ignored("ksigma", ksigma.line, "the modal forces of stresses at rest are left out", dynamic=True)
        # [j, k] -> [k, j]: moments Q_kj = sum m phi_k phi_j*
        anti = -0.5 * skew(turning.transpose(1, 0, 2))
        sym = symmetric.transpose(1, 0, 2, 3)
        turning_rate = sym + (anti if Cr1 is None else -0.5 * skew(Cr1.transpose(2, 0, 1)))
        moments = dict(mass=mass, first=first[:, 0], second=0.5 * np.trace(J) * np.eye(3) - J, p=p, N=N, M=M, K=K, D=D)
        if S is None or not S.any():
            self._same("Ge", turning.transpose(1, 0, 2), axial(turning_rate), "Cr", float(np.abs(M).max()))
            Q = _with_trace(turning_rate, M)
            return moments | dict(Q=0.5 * (Q + Q.transpose(1, 0, 3, 2)))
        S = S.transpose(0, 2, 1)  # (n, n, 3)
        Q = 0.5 * (anti + anti.transpose(1, 0, 3, 2)) + (M / 3.0)[:, :, None, None] * np.eye(3)
        T = turning_rate - Q
        return moments | dict(Q=Q, S=0.5 * (S + S.transpose(1, 0, 2)), T=0.5 * (T + T.transpose(1, 0, 2, 3)))

    def _moment(self) -> tuple[Array, Array | None]:
        """J and its first order as matrices; a file has them, or six numbers of them."""
        block = self.modal.find("J")
        if block is None or rows_said(block) != "6":
            return self._top("J", 3, 3)
        six, six1 = self._top("J", 6, 1)
        place = [SIX.index((min(i, j), max(i, j))) for i in range(3) for j in range(3)]
        first = None if six1 is None else six1[place].reshape(3, 3, self.n)
        return six[place].reshape(3, 3), first

    def _fits(self, N: Array, turning: Array, Cr: Array, J1: Array | None, Cr1: Array | None, M: Array) -> bool:
        """True if N agrees with Cr and J, and the turning with Cr1."""
        size = float(np.abs(N).max())
        off = self._off(Cr, axial(N), size)
        if J1 is not None:
            off = max(off, self._off(J1.transpose(2, 0, 1), moment(N + N.mT), size))
        if Cr1 is not None:
            off = max(off, self._off(turning, Cr1.transpose(0, 2, 1), float(np.abs(M).max())))
        return off <= SAME

    def _said(self, name: str, note: str) -> None:
        block = self.modal.find(name)
        self.file.used(name, block.line if block else 0, note=note)

    def _pairs(self, oe: Array, N: Array) -> tuple[tuple[int, int], ...]:
        """The order of the columns of Oe, which its m0 and Gr tell."""
        for pairs in (PAIRS, OTHER_PAIRS):
            if self._off(oe, centrifugal(N, pairs), float(np.abs(N).max())) <= SAME:
                if pairs is OTHER_PAIRS:
                    self._said("Oe", "columns xx, yy, zz, xy, xz, yz")
                return pairs
        self._same("Oe", oe, centrifugal(N, PAIRS), "Gr", float(np.abs(N).max()))
        return PAIRS

    @staticmethod
    def _off(x: Array, y: Array, size: float) -> float:
        """Difference of two arrays, relative to a size of theirs."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.abs(x - y).max(initial=0.0) / (size or 1.0))

    def _same(self, name: str, x: Array, y: Array, other: str, size: float) -> None:
        off = self._off(x, y, size)
        if not off <= SAME:
            block = self.modal.find(name)
            raise self.file.fail(
                block.line if block else 0,
                f"{name} and {other} have the same moments of the modes, and differ by {off:.2g} of the largest: their "
                "signs or their order are others than those of Schwertassek and Wallrapp, or one of them leaves out "
                "moments of inertia of nodes.",
            )

    # -- nodes -------------------------------------------------------------------------------------------------------

    def nodes(self) -> dict[str, ModalNode]:
        """The nodes of the frame."""
        frame = self.modal.find("frame")
        nodes: dict[str, ModalNode] = {}
        for x in frame.blocks if frame is not None else []:
            name = f"fe:{x.value or len(nodes) + 1}"
            valid = x.name.lower() == "node" and re.fullmatch(r"fe:[\w.-]{1,40}", name) is not None
            if not valid or name in nodes or len(nodes) >= NODES:
                raise self.file.fail(x.line, f"{x.name!r} {x.value!r:.40} is no node, or one of that number is there.")
            nodes[name] = self._node(x, name)
            self.file.used("node", x.line, name)
        return nodes

    def _node(self, x: Block, name: str) -> ModalNode:
        n = self.n
        place = self.taylor(x.find("origin"), 3, 1)[0][:, 0]
        gam, gam2 = self.taylor(x.find("phi"), 3, n)
        lam, lam2 = self.taylor(x.find("psi"), 3, n)
        R = self._axes(x, lam, name)
        sigma = x.find("sigma")
        if sigma is not None and any(float(self.file.number(k, text)) for k, _, _, text in sigma.indexed):
            self.file.ignored("node/sigma", sigma.line, "stresses are not read", name)
        second = [None if y is None or not y.any() else 0.5 * (y + y.mT) for y in (gam2, lam2)]
        return ModalNode(Pose(R, place), gam, lam, *second)

    def _axes(self, x: Block, lam: Array, name: str) -> Array:
        """The rotation of a node; AP is it or its transpose, which its first order tells."""
        block = x.find("AP")
        R, R1 = self.taylor(block, 3, 3)
        if block is None or not R.any() or self._off(R, np.eye(3), 1.0) <= SAME:
            return np.eye(3)
        moved, size = skew(lam.T), float(np.abs(lam).max())
        if R1 is not None and R1.any():
            R1 = R1.transpose(2, 0, 1)
            if self._off(R1, moved @ R, size) <= SAME:
                return R
            if self._off(R1, -R @ moved, size) <= SAME:
                return R.T
        self.file.ignored("node/AP", block.line, "it may turn either way: the node has the axes of the body", name)
        return np.eye(3)


def _by_axis(gr: Array, ge: Array, n: int) -> tuple[Array, Array]:
    """N (n, 3, 3) and half of Ge (n, n, 3), whose columns are modes for each axis."""
    return _field(gr.reshape(3, 3, n).transpose(2, 0, 1)), 0.5 * ge.reshape(n, 3, n).transpose(0, 2, 1)


def _by_mode(gr: Array, ge: Array, n: int) -> tuple[Array, Array]:
    """Moments by mode, of columns that are axes for each mode."""
    return _field(gr.reshape(3, n, 3).transpose(1, 0, 2)), 0.5 * ge.reshape(n, n, 3)


def _field(gr: Array) -> Array:
    """N of Gr_k = -2 sum m r~ phi_k~ (n, 3, 3), where r~ phi~ = phi r* - (r . phi) I."""
    X = -0.5 * gr
    trace = -0.5 * np.trace(X, axis1=1, axis2=2)
    return np.asarray((X + trace[:, None, None] * np.eye(3)).mT)


def centrifugal(N: Array, pairs: tuple[tuple[int, int], ...]) -> Array:
    """sum m phi . (w x (w x r)) of N = sum m r phi* by products of w, (..., 6): N_ab + N_ba; N_aa - tr N."""
    trace = np.trace(N, axis1=-2, axis2=-1)
    parts = [N[..., a, a] - trace if a == b else N[..., a, b] + N[..., b, a] for a, b in pairs]
    return np.stack(parts, axis=-1)


def _from_centrifugal(x: Array, pairs: tuple[tuple[int, int], ...]) -> Array:
    """The symmetric part of N of such numbers (..., 6): N_aa = x_aa - sum of x_bb / 2."""
    half = 0.5 * sum(x[..., pairs.index((a, a))] for a in range(3))
    N = np.zeros((*x.shape[:-1], 3, 3))
    for k, (a, b) in enumerate(pairs):
        N[..., a, b] = x[..., k] - half if a == b else 0.5 * x[..., k]
        N[..., b, a] = N[..., a, b]
    return N


def _with_trace(Q: Array, M: Array) -> Array:
    """Q whose trace is M to the last digit, where it was to those of the file."""
    trace = np.trace(Q, axis1=-2, axis2=-1)
    size = np.sqrt(np.abs(np.diagonal(M)))
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(trace - M) <= SAME * np.outer(size, size)
        return np.asarray(Q + (np.where(near, M - trace, 0.0) / 3.0)[..., None, None] * np.eye(3))
