"""`p.report()`: what acts in a run and what does not."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import Closure, Coupling
from soacraft.sim.engine import Engine
from soacraft.sim.forces.contact_element import Touching
from soacraft.sim.forces.drives import unknown_law
from soacraft.sim.forces.loads import Load
from soacraft.sim.forces.prescribed import Prescribed
from soacraft.spatial.checks import Array


def report(
    mb: Multibody,
    solver: str,
    integrator: str,
    engine: Engine,
    loads: Sequence[Load],
    controls: Collection[str],
    given: Prescribed,
) -> str:
    """Lines of what was decided, what acts, and what the model has that does not act."""
    lines = [f"{mb.name!r}: {len(mb)} bodies, {mb.nv} dofs", f"solver: {solver}", f"integrator: {integrator}"]
    lines += [f"steps: {engine}", "acts:"]
    acting = [f"gravity {tuple(float(x) for x in mb.gravity)}"] if mb.gravity.any() else []
    sprung = [x.hinge_name for x in mb.bodies if x.passive.stiffness.any() or x.passive.damping.any()]
    acting += [f"springs and dampers of hinges: {_listed(sprung)}"] if sprung else []
    acting += [f"tendons: {_listed([x.name for x in mb.tendons])}"] if len(mb.tendons) else []
    between = [*mb.springs.names, *mb.bushings.names]
    acting += [f"springs and bushings between nodes: {_listed(between)}"] if between else []
    compensated = [x.name for x in mb.bodies if x.gravity_compensation]
    acting += [f"gravity compensation of {_listed(compensated)}"] if compensated else []
    stored = [x.full_name for x in mb.acting_forces]
    acting += [f"forces of mb.set_force at {_listed(stored)}"] if stored else []
    acting += [f"{type(x).__name__} {x.name!r}" for x in loads] + [f"control of {name!r}" for name in controls]
    acting += [f"prescribed motion of {_listed([mb.dof_names[i] for i in given.dofs])}"] if given.dofs else []
    lines += [f"  {x}" for x in acting] or ["  nothing"]
    lines += [f"caution: {line}" for x in loads if isinstance(x, Touching) for line in x.cautions]
    idle = _idle(mb, loads, controls)
    return "\n".join([*lines, "does not act:", *(f"  {x}" for x in idle)] if idle else lines)


def _idle(mb: Multibody, loads: Sequence[Load], controls: Collection[str]) -> list[str]:
    """Parts of the model that do not act here."""
    kinds = {(type(x).__name__, getattr(x, "hinge", "")) for x in loads}
    lets: set[str] = set().union(*(getattr(x, "lets", ()) for x in loads))
    rubbing = [x.hinge_name for x in mb.bodies if x.passive.friction.any() and "dry" not in lets]
    rubbing = [x for x in rubbing if ("HingeFriction", x) not in kinds]
    limited = [x.hinge_name for x in mb.bodies if _is_limited(x.limits.lower, x.limits.upper) and "limits" not in lets]
    limited = [x for x in limited if ("JointLimit", x) not in kinds]
    idle = [x for x in mb.actuators if x.name not in controls]
    still, unknown = ([x.name for x in idle if bool(unknown_law(x)) is y] for y in (False, True))
    of_kept = dict.fromkeys(unknown_law(x) for x in idle if unknown_law(x))
    lines = [f"friction of {_listed(rubbing)}: add sc.sim.HingeFriction(hinge)"] if rubbing else []
    lines += [f"limits of {_listed(limited)}: add sc.sim.JointLimit(hinge)"] if limited else []
    lines += [f"actuators {_listed(still)}: p.control(name, u)"] if still else []
    if unknown:
        laws = f"{', '.join(of_kept)} {'is' if len(of_kept) == 1 else 'are'} kept and not simulated"
        lines.append(f"actuators {_listed(unknown)}: {laws}; p.add(function of t and state)")
    ties: list[Closure | Coupling] = [*mb.loops, *mb.couplings]
    slack = [x.name for x in ties if x.one_sided and "one_sided" not in lets]
    lines += [f"one-sided couplings and ropes {_listed(slack)}: add sc.sim.Contact()"] if slack else []
    off = [x.name for x in ties if not x.active and not x.one_sided]
    return lines + ([f"inactive loops and couplings: {_listed(off)}"] if off else [])


def _is_limited(lower: Array, upper: Array) -> bool:
    return bool(np.isfinite(lower).any() or np.isfinite(upper).any())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(map(repr, names[:6])) + more
