"""`mode`: the shape of a mode, of an assembled system or of one flexible body, as a motion to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.analysis.modes import Modes
from soacraft.arguments import whole_number
from soacraft.errors import ViewError
from soacraft.loops import TreeAugmented
from soacraft.model import Multibody
from soacraft.model.hinges.weld import Weld
from soacraft.model.modal import ModalData
from soacraft.model.modal.bodies import turns_unreported
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.view.space.bending import farthest
from soacraft.view.space.motion import Track, modes_of, tracks
from soacraft.view.space.parts import PartMaker
from soacraft.view.space.reading import positive
from soacraft.view.space.scenes import Scene

#: The largest displacement that is drawn, in sizes of the model; how long a swing is shown, in seconds; its instants,
#: those of a page.
LARGEST, SWING, INSTANTS = 0.12, 2.0, 101
#: The part of a visible motion by which displacements are measured: they are linear there, and far from rounding.
SMALL = 1e-4


class ModeScene(Scene):
    """A scene of a mode, which is to be seen where it is largest: at t = 0, and wherever no time is given."""

    _relative = True

    def _at(self, t: float | None) -> tuple[Track, ...]:
        return super()._at(0.0 if t is None else t)

    def _tracks(self, instants: Array | None = None, step: float = 0.04) -> tuple[Track, ...]:
        with turns_unreported():  # the amplitude is ours
            return super()._tracks(instants, step)


def mode(what: Modes | ModalData, i: int, *, size: float = 1.0, **look: Any) -> Scene:
    """The shape of mode i as a scene that swings: of the result of `sc.analysis.modes` (or `sc.loops.modes`), or of the
    modal data of one flexible body, with its frame held.

        q(t) = q0 + a Re(x exp(2 pi i t / 2 s))

    The frequency is written on the picture; the swing is shown in two seconds, whatever it is. The amplitude a of a
    mode is anyone's choice: here the largest displacement is about an eighth of the size of the model, times `size`.
    Complex modes, of damped or spinning systems, run through their phases; loops are closed at every instant. The other
    arguments are those of `scene`; `image` and `pixels` show the largest deflection, unless an instant is given.
    O(instants x bodies).

    >>> import soacraft as sc
    >>> fx = sc.flexible
    >>> fe = fx.beam(2.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=8)
    >>> root = fe.interface("root", at=(0, 0, 0))
    >>> sc.view.mode(fx.reduce(fe, ["root"], "fixed", modes=3), 0)
    Scene of 'normal 24.5782 Hz': 1 body, 1 parts, 2 s of motion
    """
    if isinstance(what, ModalData):
        graph, q, x, words = _of_body(what, i)
    elif isinstance(what, Modes):
        graph, q, x, words = _of_system(what, i)
    else:
        raise ViewError(f"mode takes the result of sc.analysis.modes, or modal data, got {type(what).__name__}.")
    x = x * np.exp(-1j * np.angle(x[int(np.argmax(np.abs(x) / _sizes(graph)))]))
    x = positive(size, "size") * _amplitude(graph, q, x) * x
    t = np.linspace(0.0, SWING, INSTANTS)
    phase = np.exp(2j * np.pi * t / SWING)
    motion = t, _closed(graph, np.asarray(graph.integrate(np.tile(q, (len(t), 1)), (phase[:, None] * x).real)))
    return ModeScene(graph, motion, **{"caption": words, **look})


def _closed(graph: Graph, q: Array) -> Array:
    """Coordinates (m, nq) at which loops and couplings are closed: a swing that is seen is not small to first order."""
    if not (any(x.active for x in graph.loops) or any(x.active for x in graph.couplings)):
        return q
    solver = TreeAugmented(graph)
    return np.array([solver.assemble(x) for x in q])


def _of_body(data: ModalData, i: int) -> tuple[Graph, Array, Any, str]:
    j = whole_number(i, "the number of a mode", 0, data.n - 1, ViewError)
    words = data.kinds[j] or data.modes[j]
    mb = Multibody(words)
    mb.add_body("body", None, Weld(), modal=data)
    return mb, np.zeros(data.n), np.eye(data.n, dtype=complex)[j], words


def _of_system(m: Modes, i: int) -> tuple[Graph, Array, Any, str]:
    j = whole_number(i, "the number of a mode", 0, len(m) - 1, ViewError)
    graph, q = m.shapes.graph, m.shapes.q
    if j < m.rigid:
        words = f"mode {j}: rigid-body"
    elif m.hz[j] > 0.0:
        damped = f", damping {100.0 * m.damping[j]:.3g} %" if m.damping[j] else ""
        words = f"mode {j}: {m.hz[j]:.4g} Hz{damped}"
    else:
        words = f"mode {j}: growth {m.growth[j]:.4g} 1/s"
    return graph, np.asarray(q), m.vectors[:, j], words


def _sizes(graph: Graph) -> Array:
    """Visible motion of each dof: a radian, a length of the model, a visible bending."""
    layout = graph.layout
    sizes = np.asarray(scale_of(graph).of("".join(layout.units.hinge)), dtype=np.float64).copy()
    for k, modes in modes_of(graph).items():
        sizes[layout.own.v[modes]] = farthest(layout.modal(k))
    return sizes


def _amplitude(graph: Graph, q: Array, x: Any) -> float:
    """The factor of x at which the largest displacement of what is drawn is `LARGEST` of its extent."""
    part = SMALL / float((np.abs(x) / _sizes(graph)).max())
    steps, t = part * np.stack([0.0 * x.real, x.real, x.imag]), np.arange(3.0)
    (moving,) = tracks(graph, ((t, np.asarray(graph.integrate(np.tile(q, (3, 1)), steps))),), t)
    places = []
    for each in PartMaker(graph, None, False, False, False).parts():
        at = [each.bent(moving, i).points @ moving.R[i, each.body].T + moving.p[i, each.body] for i in range(3)]
        places.append(np.stack(at))
    points = np.concatenate(places, axis=1)
    extent = float(np.linalg.norm(np.ptp(points[0], axis=0)))
    largest = float(np.linalg.norm(points[1:] - points[0], axis=2).max())
    return part * LARGEST * extent / largest if largest > 0.0 else 0.0
