"""The closures and couplings of a model as arrays that compiled code reads; for built-in hinges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.complement import complement
from soacraft.model.flat.compiled import HELICAL, PRISMATIC, REVOLUTE, CompiledModel, on_axis
from soacraft.model.hinges import (
    HINGES,
    Hinge,
    KnifeEdge,
    RollingBall,
    RollingDisc,
    RollingEllipsoid,
    Spherical,
    Weld,
)
from soacraft.model.hinges.base import H_T_of
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.hinges.rolling import Rolling
from soacraft.model.sizes.measure import constant_measure_of
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.closures import Coupling, coordinate_names
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

WELD, TURN, SLIDE, BALL, CHAIN, KNIFE = range(6)
#: Shapes that roll, behind these.
_ROLLING: dict[type[Hinge], int] = {RollingBall: 6, RollingDisc: 7, RollingEllipsoid: 8}

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClosureArrays:
    """The active closures, closures first, then couplings, of one compiled tree."""

    loops: tuple[str, ...]
    couplings: tuple[str, ...]
    closure_whole: Integers
    """(loops, 10): the elements and bodies of a and b, how coordinates are found, the screws of the hinge, where its
    coordinates begin, the number of rows, whether these are constant."""
    closure_real: Array
    """(loops, 73): the places of a, b and the hinge's outboard side, its rows, its length."""
    hinge_whole: Integers
    """(screws, 2): kind and coordinate."""
    hinge_real: Array
    """(screws, 14): place, scale, pitch."""
    term_whole: Integers
    """(terms, 4): coupling, element, v, q."""
    term_real: Array
    """(terms, degree)."""
    offsets: Array
    sizes: Array
    """Sizes of the couplings: the largest of their terms."""
    units: Array
    """(nv): what one SI unit of each dof is in radians or lengths."""
    coordinates: int
    """Number of coordinates of all closures' hinges."""
    length: float
    inertia: float
    """Length of the model, and its mass times the square of that."""
    starts: dict[str, slice]
    """Slices of the coordinates of each closure's hinge."""
    follows: tuple[str, ...]
    """Loops whose coordinates are found from those they had before."""
    holonomic: bool
    """True if every hinge of the tree is holonomic: only then can one go back the way one came."""
    rolls: bool
    """True if a closure rolls or is a knife edge: it forbids velocities that are no rates of what is open."""
    neutral: Array
    """The coordinates of all closures' hinges to begin with."""
    body_parents: Integers
    """Parent of each body, -1: the base."""
    body_dofs: Integers
    """First dof of each body, and the end of the last."""

    @property
    def forces(self) -> int:
        """The number of constraint forces in an answer."""
        return 6 * len(self.loops) + len(self.couplings)


def is_known(graph: Graph) -> bool:
    """True if there is a closure and compiled code knows every one of a graph."""
    if not graph.is_closed or not graph.nv:
        return False
    return all(_known(x.hinge) for x in graph.loops if x.active)


def closure_arrays(graph: Graph, tree: CompiledModel) -> ClosureArrays:
    """The arrays of a graph whose closures are known."""
    loops = [x for x in graph.loops if x.active]
    couplings = [x for x in graph.couplings if x.active]
    measure = constant_measure_of(graph)
    hinges: list[tuple[int, int, list[float]]] = []
    indices, numbers, at = [], [], 0
    starts: dict[str, slice] = {}
    for loop in loops:
        first, fit = len(hinges), _fit(loop.hinge)
        outboard = _add_hinge(loop.hinge, at, hinges)
        ends = [end_of(graph, tree, x) for x in (loop.a, loop.b)]
        fixed = fit <= KNIFE and (fit != CHAIN or _is_fixed(loop.hinge))
        Q = np.zeros((6, 6))
        if isinstance(loop.hinge, Rolling):
            shape = _shape_numbers(loop.hinge)
            Q.ravel()[: len(shape)] = shape
        elif fixed:
            rows = complement(H_T_of(loop.hinge, np.asarray(loop.hinge.neutral(), dtype=np.float64)))
            Q[: len(rows)] = rows
        indices.append([ends[0][0], ends[1][0], ends[0][1], ends[1][1], fit, first, len(hinges), at,
                        6 - loop.hinge.nv, fixed])  # fmt: skip
        numbers.append([*place_numbers(ends[0][2]), *place_numbers(ends[1][2]), *place_numbers(outboard), *Q.ravel(),
                        measure.loops[loop.name]])  # fmt: skip
        starts[loop.name] = slice(at, at + loop.hinge.nq)
        at += loop.hinge.nq
    term_whole, term_real, offsets = _terms(graph, tree, couplings)
    return ClosureArrays(
        loops=tuple(x.name for x in loops),
        couplings=tuple(x.name for x in couplings),
        closure_whole=np.array(indices, dtype=np.int64).reshape(-1, 10),
        closure_real=np.array(numbers, dtype=np.float64).reshape(-1, 73),
        hinge_whole=np.array([x[:2] for x in hinges], dtype=np.int64).reshape(-1, 2),
        hinge_real=np.array([x[2] for x in hinges], dtype=np.float64).reshape(-1, 14),
        term_whole=term_whole,
        term_real=term_real,
        offsets=offsets,
        sizes=np.array([measure.couplings[x.name] for x in couplings], dtype=np.float64),
        units=measure.dofs,
        coordinates=at,
        length=measure.length,
        inertia=measure.inertia,
        starts=starts,
        follows=tuple(x.name for x in loops if _fit(x.hinge) == CHAIN),
        holonomic=all(body.hinge.holonomic for body in graph.bodies),
        rolls=not all(x.hinge.holonomic for x in loops),
        neutral=np.concatenate([np.zeros(0), *(np.array(x.hinge.neutral(), np.float64) for x in loops)]),
        body_parents=np.array(graph.layout.parents, dtype=np.int64),
        body_dofs=np.array([0, *(x.stop for x in graph.layout.v_slices)], dtype=np.int64),
    )


def with_prescribed(
    closures: ClosureArrays, tree: CompiledModel, names: Sequence[str], dofs: Sequence[int]
) -> ClosureArrays:
    """Closures with a coupling `q_i = anything` after the others for each of some dofs: to be driven."""
    first, degree = len(closures.couplings), closures.term_real.shape[1]
    terms = [[first + n, tree.element_of_dof[i], i, 0] for n, i in enumerate(dofs)]
    rates = np.zeros((len(terms), degree))
    rates[:, 0] = 1.0
    return replace(
        closures,
        couplings=(*closures.couplings, *names),
        term_whole=np.concatenate([closures.term_whole, np.array(terms, dtype=np.int64).reshape(-1, 4)]),
        term_real=np.concatenate([closures.term_real, rates]),
        offsets=np.concatenate([closures.offsets, np.zeros(len(terms))]),
        sizes=np.concatenate([closures.sizes, 1.0 / closures.units[list(dofs)]]),
    )


def _known(hinge: Hinge) -> bool:
    if type(hinge) is KnifeEdge or type(hinge) in _ROLLING:
        return True
    builtin = type(hinge) in HINGES and isinstance(hinge, ScrewProduct | Weld | Spherical)
    return builtin and hinge.nv < 6


def _fit(hinge: Hinge) -> int:
    """Method that finds its coordinates from a pose."""
    if isinstance(hinge, Weld):
        return WELD
    if isinstance(hinge, Spherical):
        return BALL
    if isinstance(hinge, KnifeEdge):
        return KNIFE
    if isinstance(hinge, Rolling):
        return _ROLLING[type(hinge)]
    assert isinstance(hinge, ScrewProduct)
    kinds = [on_axis(x)[1] for x in hinge.vectors]
    return TURN if kinds == [REVOLUTE] else SLIDE if kinds == [PRISMATIC] else CHAIN


def _shape_numbers(hinge: Rolling) -> list[float]:
    """Plane and shape of what rolls: normal, two axes of the plane, its own axis or semi-axes, its radius."""
    axes, radius = np.zeros(3), 0.0
    if isinstance(hinge, RollingDisc):
        axes, radius = hinge.axis, hinge.radius
    elif isinstance(hinge, RollingEllipsoid):
        axes = hinge.semi_axes
    elif isinstance(hinge, RollingBall):
        radius = hinge.radius
    return [*hinge.normal, *hinge.tangents.ravel(), *axes, radius]


def _is_fixed(hinge: Hinge) -> bool:
    """True if the columns of H* do not depend on the coordinates: no screw moves one that lies inboard of it."""
    assert isinstance(hinge, ScrewProduct)
    vectors = [np.asarray(x) for x in hinge.vectors]
    return not any(_moves(x, y) for i, y in enumerate(vectors) for x in vectors[i + 1 :])


def _moves(x: Array, y: Array) -> bool:
    """True if crm(x) y is not zero."""
    w = np.cross(x[:3], y[:3])
    v = np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])
    return bool(np.abs(w).max() > 0.0 or np.abs(v).max() > 0.0)


def _add_hinge(hinge: Hinge, at: int, hinges: list[tuple[int, int, list[float]]]) -> Pose:
    """Add the screws of a hinge; what leads from the last one to its outboard side."""
    place = Pose()
    if isinstance(hinge, ScrewProduct):
        for i, screw in enumerate(hinge.vectors):
            axis, kind, scale, pitch = on_axis(screw)
            assert kind in (REVOLUTE, PRISMATIC, HELICAL)
            hinges.append((kind, at + i, [*place_numbers(place @ axis), scale, pitch]))
            place = axis.inv
    return place


def end_of(graph: Graph, tree: CompiledModel, frame: Frame) -> tuple[int, int, Pose]:
    """The element, or the node that deforms, and the body that carry a frame, and where it is there."""
    if not isinstance(frame.carrier, Body):
        return -1, -1, frame.offset
    x = tree.frame(graph.layout, frame)
    return int(x[0]), graph.layout.index[frame.carrier], Pose.unchecked(x[1:10].reshape(3, 3), x[10:])


def place_numbers(place: Pose) -> list[float]:
    """A rotation, row by row, and a translation."""
    return [*place.rotation.ravel(), *place.translation]


def _terms(graph: Graph, tree: CompiledModel, couplings: list[Coupling]) -> tuple[Integers, Array, Array]:
    names = coordinate_names(graph) if couplings else {}
    number = {name: i for i, name in enumerate(graph.dof_names)}
    element = tree.element_of_dof
    indices, coefficients = [], []
    degree = max((len(c) for x in couplings for c in x.terms.values()), default=1)
    for i, x in enumerate(couplings):
        for dof, c in x.terms.items():
            indices.append([i, element[number[dof]], number[dof], names[dof]])
            coefficients.append([*c, *(0.0,) * (degree - len(c))])
    offsets = np.array([x.offset for x in couplings], dtype=np.float64)
    return np.array(indices, dtype=np.int64).reshape(-1, 4), np.array(coefficients).reshape(-1, degree), offsets
