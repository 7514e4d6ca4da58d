"""The compiled form of a rigid graph: built once per structural change, used by the named algorithms.

Every body becomes one element for each dof of a product of screws, one element for a spherical, free or rolling hinge,
and no element for a weld, whose inertia is merged into what carries it. An element's frame stands on the hinge axis,
z along it. Elements are numbered depth first. This file alone builds `_core.RigidModel`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.errors import SoacraftError
from soacraft.model.frame import Body, Frame
from soacraft.model.hinges import HINGES, Free, Hinge, RollingBall, Spherical, Weld
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.layout import Layout
from soacraft.model.passive import rest_of
from soacraft.model.read_only import StateArray
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

REVOLUTE, PRISMATIC, HELICAL, SPHERICAL, FREE, ROLLING = range(6)
OnAxis = tuple[Pose, int, float, float]
_KINDS: dict[type[Hinge], int] = {Spherical: SPHERICAL, Free: FREE, RollingBall: ROLLING}


@dataclass
class Element:
    """One simple hinge and what moves with it."""

    parent: int
    kind: int
    q: int
    v: int
    place: Pose
    scale: float = 1.0
    pitch: float = 0.0
    hinge: Hinge | None = None


class CompiledModel:
    """A rigid graph for the compiled kernels: `kernels` runs them, `elements` and `places` say what became of a body.

    `places[k]` is the frame of body k on its element `element_of[k]` (-1: welded to the base); its hinge became the
    elements `hinge_elements[k]`.
    """

    def __init__(self, layout: Layout) -> None:
        self.elements: list[Element] = []
        self.element_of = np.full(layout.n, -1, dtype=np.int64)
        self.places: list[Pose] = [Pose()] * layout.n
        self.hinge_elements = [range(0)] * layout.n
        self._screws: dict[int, list[tuple[OnAxis, Pose]]] = {}  # of each hinge, by its id: many bodies may share one
        for k in depth_first(layout):
            self._add(layout, k, layout.bodies[k])
        self.inertias = self._inertias(layout)
        self.armature = np.zeros(layout.nv)
        for J, where in zip(layout.armature, layout.v_slices, strict=True):
            if J is not None:
                self.armature[where] = J
        self.kernels = _core.rigid_model(*self._arrays(), layout.nq, layout.nv)
        if layout.sprung or layout.tendons or layout.compensated:
            self.kernels.set_passive(*_passive(layout))

    @classmethod
    def of(cls, layout: Layout) -> CompiledModel | None:
        """The compiled form of a layout, made once; None when a hinge is not a built-in one."""
        if layout not in _KNOWN:
            _KNOWN[layout] = cls(layout) if all(_known(group.hinge) for group in layout.groups) else None
        return _KNOWN[layout]

    def frame(self, layout: Layout, frame: Frame) -> Array:
        """A frame on a body as the kernels read it: the number of its element, then rotation and translation."""
        assert isinstance(frame.carrier, Body)
        k = layout.index[frame.carrier]
        place = self.places[k] @ frame.offset
        return np.array([self.element_of[k], *place.rotation.ravel(), *place.translation])

    def compliance(self, layout: Layout, q: Array, frames: Sequence[Frame], own_axes: bool = False) -> Array | None:
        """B* Omega B of frames at one q: J times the accelerations that unit forces at the frames cause, all of them
        in one batch of forward dynamics. In base axes, or each frame's own; None when a hinge has nothing to move.
        """
        n, nv, size = layout.n, layout.nv, 6 * len(frames)
        pull, vdot, J = np.zeros((size, n, 6)), np.empty((size, nv)), np.empty((size, nv))
        R, p = np.empty((1, 9 * n)), np.empty((1, 3 * n))
        nothing, still = np.zeros(12), np.zeros(nv)
        self.kernels.run("poses", q, None, None, None, nothing, (R, p))
        turns = []
        for i, frame in enumerate(frames):
            assert isinstance(frame.carrier, Body)
            k, rows = layout.index[frame.carrier], slice(6 * i, 6 * i + 6)
            pull[rows, k] = frame.offset.phi().T
            turns.append(R.reshape(n, 3, 3)[k] @ frame.offset.rotation)
            self.kernels.run(
                "jacobian", q, None, None, None, nothing, (J[rows].reshape(1, 6 * nv),), 1, self.frame(layout, frame)
            )
        fine = self.kernels.run("forward_dynamics", q, still, still, pull.reshape(size, 6 * n), nothing, (vdot,))
        if not fine or not np.isfinite(vdot).all():
            return None
        C = (J @ vdot.T).reshape(2 * len(frames), 3, 2 * len(frames), 3)
        turn = np.repeat(np.array(turns).reshape(-1, 3, 3), 2, axis=0)
        if own_axes:
            C = np.einsum("aji,ajbk->aibk", turn, C)
        else:
            C = np.einsum("aibk,bjk->aibj", C, turn)
        whole: Array = C.reshape(size, size)
        return 0.5 * (whole + whole.T)

    def _add(self, layout: Layout, k: int, body: Body) -> None:
        p = layout.parents[k]
        carrier = int(self.element_of[p]) if p >= 0 else -1
        place = (self.places[p] if p >= 0 else Pose()) @ body.inboard
        q, v = layout.q_slices[k].start, layout.v_slices[k].start
        hinge, first = body.hinge, len(self.elements)
        if isinstance(hinge, ScrewProduct):
            for i, ((axis, kind, scale, pitch), back) in enumerate(self._on_axes(hinge)):
                self.elements.append(Element(carrier, kind, q + i, v + i, place @ axis, scale=scale, pitch=pitch))
                carrier, place = len(self.elements) - 1, back
        elif not isinstance(hinge, Weld):
            self.elements.append(Element(carrier, _KINDS[type(hinge)], q, v, place, hinge=hinge))
            carrier, place = len(self.elements) - 1, Pose()
        self.hinge_elements[k] = range(first, len(self.elements))
        self.element_of[k], self.places[k] = carrier, place @ body.outboard

    def _on_axes(self, hinge: ScrewProduct) -> list[tuple[OnAxis, Pose]]:
        """The axes of a hinge's screws, each with the way back."""
        if id(hinge) not in self._screws:
            found = [on_axis(screw) for screw in hinge.vectors]
            self._screws[id(hinge)] = [(one, one[0].inv) for one in found]
        return self._screws[id(hinge)]

    @np.errstate(over="ignore", invalid="ignore")
    def _inertias(self, layout: Layout) -> Array:
        """By element the inertia of all bodies that are fixed to it, about the origin of its frame and in its axes:
        six entries of J, three of m c, m. With R, p of a body's frame on the element and c, J_c of the body,

            m c = m (R c + p),    J = R J_c R* - m c~ c~
        """
        R = np.array([x.rotation for x in self.places]).reshape(-1, 3, 3)
        p = np.array([x.translation for x in self.places]).reshape(-1, 3)
        inertias = [body.inertia for body in layout.bodies]
        mass = np.array([x.mass for x in inertias]).reshape(-1, 1)
        com = np.array([x.com for x in inertias]).reshape(-1, 3, 1)
        c = (R @ com)[..., 0] + p
        moment = R @ np.array([x.moment for x in inertias]).reshape(-1, 3, 3) @ R.mT
        moment += mass[..., None] * ((c * c).sum(axis=-1)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
        rows, columns = np.triu_indices(3)
        found = np.zeros((len(self.elements), 10))
        moving = self.element_of >= 0
        np.add.at(found, self.element_of[moving], np.hstack([moment[:, rows, columns], mass * c, mass])[moving])
        return found

    def _arrays(self) -> tuple[npt.NDArray[np.int64], Array, npt.NDArray[np.int64], Array, Array]:
        n = len(self.elements)
        whole, real = np.zeros((n, 8), dtype=np.int64), np.zeros((n, 35))
        last = np.arange(1, n + 1)
        children = np.zeros(n, dtype=np.int64)
        for k in range(n - 1, -1, -1):
            p = self.elements[k].parent
            if p >= 0:
                last[p] = max(last[p], last[k])
                children[p] += 1
        massless = np.asarray(~self.inertias.any(axis=1))
        wides = branches = 0
        for k, e in enumerate(self.elements):
            wide, branch = e.kind > HELICAL, children[k] > 1
            numbers = wides if wide else -1, branches if branch else -1
            whole[k] = (e.parent, e.kind, e.q, e.v, *numbers, last[k], massless[k])
            wides, branches = wides + wide, branches + branch
            real[k] = _numbers(e, self.inertias[k])
        places = np.array([[*x.rotation.ravel(), *x.translation] for x in self.places]).reshape(-1, 12)
        return whole, real, self.element_of, places, self.armature


def _known(hinge: Hinge) -> bool:
    """Whether the kernels know a hinge: a built-in one, not a subclass of it, of a kind they have."""
    return type(hinge) in HINGES and (isinstance(hinge, ScrewProduct | Weld) or type(hinge) in _KINDS)


def on_axis(screw: Array) -> OnAxis:
    """A frame on the axis of a screw with z along it, the kind of the screw, its scale and pitch."""
    w, v = screw[:3], screw[3:]
    turn = float(np.linalg.norm(w))
    if turn == 0.0:
        travel = float(np.linalg.norm(v))
        return Pose.unchecked(_to_axis(v / travel), np.zeros(3)), PRISMATIC, travel, 0.0
    pitch = float(w @ v) / turn**2
    axis = Pose.unchecked(_to_axis(w / turn), np.cross(w, v) / turn**2)
    return axis, REVOLUTE if abs(pitch) == 0.0 else HELICAL, turn, pitch


def _to_axis(a: Array) -> Array:
    """A rotation that takes z to the unit vector a; exact for the coordinate axes."""
    i = int(np.argmin(np.abs(a)))
    x = np.zeros(3)
    x[i] = 1.0
    x = x - a * a[i]
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(a, x), a], axis=-1)


def _numbers(e: Element, inertia: Array) -> list[float]:
    """An element in the order the core reads it."""
    ball = [0.0] * 10
    if isinstance(e.hinge, RollingBall):
        t1, t2 = e.hinge.tangents
        ball = [e.hinge.radius, *e.hinge.normal, *t1, *t2]
    return [*e.place.rotation.ravel(), *e.place.translation, *inertia, e.scale, 1.0 / e.scale, e.pitch, *ball]


def _passive(layout: Layout) -> tuple[Any, ...]:
    """Springs, dampers and tendons as the core reads them; whether some passive forces are left to Python."""
    springs: list[tuple[int, int, float, float, float]] = []
    balls: list[tuple[tuple[int, int, bool], list[float]]] = []
    for k in layout.sprung:
        body, q, v = layout.bodies[k], layout.q_slices[k].start, layout.v_slices[k].start
        own, rest = body.passive, rest_of(body)
        if isinstance(body.hinge, Spherical | Free):
            free = isinstance(body.hinge, Free)
            pad = [0.0] * (0 if free else 3)
            balls.append(((q, v, free), [*own.stiffness, *pad, *own.damping, *pad, *rest, *pad]))
        else:  # of a nonholonomic hinge dampers alone: no coordinate of its counts
            numbers = zip(own.stiffness, own.damping, rest, strict=False)
            springs += [(q + i, v + i, float(s), float(d), float(x)) for i, (s, d, x) in enumerate(numbers)]
    strands = [(t, i, j, c) for t, x in enumerate(layout.pulls) for i, j, c in zip(x.q, x.v, x.c, strict=True)]
    tendons = [(x.tendon.stiffness, x.tendon.damping, *x.tendon.rest) for x in layout.pulls]

    def whole(rows: list[Any], width: int) -> npt.NDArray[np.int64]:
        return np.array(rows, dtype=np.int64).reshape(-1, width)

    def real(rows: list[Any], width: int) -> Array:
        return np.array(rows, dtype=np.float64).reshape(-1, width)

    return (
        whole([x[:2] for x in springs], 2), real([x[2:] for x in springs], 3),
        whole([x for x, _ in balls], 3), real([x for _, x in balls], 19), real(tendons, 4),
        whole([x[:3] for x in strands], 3), np.array([x[3] for x in strands], dtype=np.float64),
        bool(layout.compensated) or layout.sprung_in_vain is not None,
    )  # fmt: skip


def depth_first(layout: Layout) -> list[int]:
    """Bodies so that everything outboard of a body follows it at once."""
    order: list[int] = []
    stack = list(reversed(layout.tree.children(-1)))
    while stack:
        k = stack.pop()
        order.append(k)
        stack.extend(reversed(layout.tree.children(k)))
    return order


def choose_instruction_set(name: str | None) -> str:
    """Use the kernels built for an instruction set (None: the best this machine has), and say which are in use.

    The environment variable SOACRAFT_KERNELS gives the name at import: "portable", "x86_64_v3" (AVX2) or "x86_64_v4"
    (AVX-512).

    >>> choose_instruction_set(None) in _core.instruction_sets()
    True
    """
    has = _core.instruction_sets()
    if name and name not in has:
        raise SoacraftError(
            f"SOACRAFT_KERNELS={name!r}: there are no kernels of that name that this machine can run; it has "
            f"{', '.join(has)}. Unset the variable for the best of them."
        )
    if name:
        _core.use_instruction_set(name)
    return _core.instruction_set()


def kernel_names() -> list[str]:
    """The algorithms that have a kernel."""
    return _core.algorithms()


def fast_call(
    model: CompiledModel,
    kernel: str,
    forces: dict[Any, Any],
    fallback: Callable[..., Any],
    frames: dict[Any, bytes] | None = None,
    wrap: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """A call of one kernel on single states; while `forces` is not empty, and for all else, it calls `fallback`."""
    return _core.call(model.kernels, kernel, forces, fallback, frames, wrap)


def retire(layout: Layout) -> None:
    """After a structural change: calls made for the old form go to Python, which says that they are stale."""
    known = _KNOWN.get(layout)
    if known is not None:
        known.kernels.retire()


_core.set_state_array(StateArray)
_KNOWN: WeakKeyDictionary[Layout, CompiledModel | None] = WeakKeyDictionary()
choose_instruction_set(os.environ.get("SOACRAFT_KERNELS"))
