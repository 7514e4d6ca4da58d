"""Inertia in a hand, from forces along a motion, by least squares in the regressor of the model.

    force - T(model) = Y pi - Gc* lambda            lambda what closures hold with, none in a tree

Nobody reads lambda. Columns N of the motions that the closures allow, Gc N = 0, leave it out: N* (force - T) = N* Y pi.
They are orthonormal in the units in which forces are compared, so that noise of the forces stays as large as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.regressor import parameter_regressor
from soacraft.errors import ModelError, StateError
from soacraft.loops import TreeAugmented
from soacraft.model.hinges import Weld
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia

#: Singular values of the readings, without units, below this part of the largest are of what they do not show.
_SEEN = 1e-8


@dataclass(frozen=True, eq=False)
class Payload:
    """Payload of a hand, beyond the model's."""

    mass: float
    com: Array
    """(3) in the frame it was asked for; zero where there is no mass."""
    moment: Array
    """(3, 3) about the centre of mass, in axes of the frame."""
    deviations: Array
    """(10) standard deviations of mass, mass times com (3), and moments about the frame (xx, xy, xz, yy, yz, zz);
    infinite for what the readings do not show, which is taken as zero."""
    left: float
    """The root mean square of the moments that are not explained, forces times the model's length among them."""
    physical: bool
    """True if there is a body with this inertia: no mass is negative anywhere."""

    @property
    def inertia(self) -> Inertia:
        """Payload as an `Inertia`; one that no body has is refused."""
        if not self.physical:
            raise StateError(
                f"no body has this inertia (mass {self.mass:.4g} kg): the readings are too few or too noisy; take "
                "mass and com alone."
            )
        return Inertia(self.mass, self.com, self.moment)

    def __repr__(self) -> str:
        at = np.array2string(self.com.round(12) + 0.0, precision=4, suppress_small=True)
        seen = int(np.isfinite(self.deviations).sum())
        return f"payload of {self.mass:.4g} kg at {at}, {seen} of 10 parameters seen, {self.left:.3g} left over"


@refusing_overflow("deviations")
def estimate_payload(robot: Robot, frame: Any, records: Mapping[str, Any]) -> Payload:
    """The inertia carried at a frame, from records `{"q": (N, nq), "v", "vdot", "force": (N, nv)}`; v and vdot may be
    left out where the robot stood still.

        force - T(model) = Y pi,    Y the regressor of a body at the frame          (`analysis.parameter_regressor`)

    Standing still shows mass and centre of mass alone. In a closed chain what hands and loops press on each other with
    plays no part; records must be on its closures (`s.assemble`, `s.project_velocity` of a solver of `sc.loops`). O(N n
    depth), with loops O(N nv^3).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> q = np.random.default_rng(0).uniform(-1, 1, (20, 7))
    >>> with_cup = rb.mb.copy()
    >>> _ = with_cup.add_body("cup", "link7", sc.Weld(), sc.Inertia(0.5, (0, 0, 0.1)))
    >>> sc.robot.estimate_payload(rb, "link7", {"q": q, "force": sc.dynamics.gravity_force(with_cup, q)})
    payload of 0.5 kg at [0.  0.  0.1], 4 of 10 parameters seen, ... left over
    """
    mb = _model(robot)
    node = mb.frame(frame)
    if not isinstance(node.carrier, Body):
        raise ModelError(f"{node.full_name!r} is on the inertial frame, which carries nothing.")
    if not isinstance(records, Mapping) or not {"q", "force"} <= set(records) <= {"q", "v", "vdot", "force"}:
        got = sorted(map(str, records)) if isinstance(records, Mapping) else records
        raise StateError(f"records have q, v, vdot and force, got {got!r:.80}.")
    q = np.atleast_2d(read_q(mb, records["q"]))
    if q.ndim > 2 or not len(q):
        raise StateError(f"q of the records must be (N, nq) with a reading at least, got the shape {q.shape}.")
    v, vdot, T = (_rows(mb, records.get(name, np.zeros(mb.nv)), name, len(q)) for name in ("v", "vdot", "force"))
    loaded = mb.copy()
    name = "payload"
    while name in loaded:
        name += "_"
    loaded.add_body(name, node.carrier.name, Weld(), Inertia(0.0), inboard=node.offset)
    order = [loaded.dof_names.index(x) for x in mb.dof_names]
    regressor = parameter_regressor(loaded, q, v, vdot, ignore_loops=True)
    columns = [i for i, x in enumerate(regressor.names) if x.rpartition(".")[0] == name]
    length = length_of(mb) or 1.0
    weigh = np.where([u == "r" for u in "".join(mb.layout.units.hinge)], 1.0, length)  # forces as moments
    Y = np.asarray(regressor.matrix)[..., columns][:, order] * weigh[:, None]
    missing = (T - np.asarray(dyn.inverse_dynamics(mb, q, v, vdot, ignore_loops=True))) * weigh
    if mb.is_closed:
        N = _motions(mb, q, v, vdot, weigh)
        if not N.shape[-1]:
            raise StateError(
                f"the closures of {mb.name!r} leave it no motion, so that they bear any load at "
                f"{node.full_name!r}, and forces of the dofs do not show it."
            )
        Y, missing = N.mT @ Y, (N.mT @ missing[..., None])[..., 0]
    return _payload(Y.reshape(-1, 10), missing.reshape(-1), length)


def _motions(mb: Multibody, q: Array, v: Array, vdot: Array, weigh: Array) -> Array:
    """N of every record, (N, nv, m), where velocities are divided by what forces are multiplied by."""
    solver = TreeAugmented(mb)
    solver.inverse_dynamics(q, v, vdot)  # refuses what the closures do not allow, by name
    return np.linalg.qr(np.asarray(solver.velocity_map(q)) / weigh[:, None])[0]


def _payload(Y: Array, b: Array, length: float) -> Payload:
    units = np.concatenate([[1.0], np.full(3, length), np.full(6, length**2)])
    U, s, Vt = np.linalg.svd(finite_or_refused(Y * units, "the regressor of a payload"), full_matrices=False)
    seen = s > _SEEN * s.max(initial=0.0)
    x = Vt[seen].T @ ((U[:, seen].T @ b) / s[seen])
    r = b - (Y * units) @ x
    freedom = max(len(b) - int(seen.sum()), 1)
    noise = float(np.sqrt(r @ r / freedom))
    spread = np.sqrt(np.sum((Vt[seen] / s[seen, None]) ** 2, axis=0)) * noise
    shown = np.sum(Vt[seen] ** 2, axis=0) > 1.0 - 1e-6
    pi, deviations = x * units, np.where(shown, spread, np.inf) * units
    m, first = float(pi[0]), pi[1:4]
    xx, xy, xz, yy, yz, zz = pi[4:]
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    com = first / m if m > 0.0 else np.zeros(3)
    moment = about - m * (com @ com * np.eye(3) - np.outer(com, com))
    second = 0.5 * np.trace(about) * np.eye(3) - about  # second moments of mass
    P = np.block([[second, first[:, None]], [first[None], np.array([[m]])]])
    scale = np.array([1.0 / length] * 3 + [1.0])
    least = float(np.linalg.eigvalsh(P * np.outer(scale, scale))[0])
    return Payload(m, com, moment, deviations, float(np.sqrt(np.mean(r**2))), m > 0.0 and least >= -1e-9 * abs(m))


def _rows(mb: Multibody, values: Any, name: str, count: int) -> Array:
    x = read_v(mb, values, name)
    if x.shape not in ((mb.nv,), (count, mb.nv)):
        raise StateError(f"{name} of the records must have a row for each of the {count} of q, got {x.shape}.")
    return np.broadcast_to(x, (count, mb.nv))


def _model(robot: Any) -> Multibody:
    if not isinstance(robot, Robot):
        raise ModelError(f"estimates are of a Robot, got {robot!r:.60}.")
    return robot.mb
