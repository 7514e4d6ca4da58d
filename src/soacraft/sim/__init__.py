"""Motion in time: a model carried on from its state, with forces, controls, events and a log.

    p = sc.sim.Propagator(mb, rtol=1e-9)                      # or integrator="rk4", step=0.001
    p.control("elbow", lambda t, state: -2.0 * state.v[0])
    p.event("down", lambda t, state: state.q[0], direction=-1)
    run = p.advance_to(10.0)                                  # run.t, run.q, run.v, run.energy, run.at(t), run.check()

Integrators are written against products of manifolds (`manifold`), so quaternions lose no order. Time is in whole
nanoseconds inside.
"""

from soacraft.sim.events import Happened
from soacraft.sim.forces.compliant import CompliantContact
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.sim.forces.elements import Drag, GravityField
from soacraft.sim.forces.friction import HingeFriction
from soacraft.sim.forces.impacts import Impacts
from soacraft.sim.forces.stops import JointLimit
from soacraft.sim.propagator import Propagator
from soacraft.sim.runs.contacts import ContactHistory
from soacraft.sim.runs.log import read
from soacraft.sim.runs.run import Balance, Run, Sample
from soacraft.sim.sensitivity import Sensitivity

__all__ = [
    "Balance",
    "CompliantContact",
    "Contact",
    "ContactHistory",
    "ContactStep",
    "Drag",
    "GravityField",
    "Happened",
    "HingeFriction",
    "Impacts",
    "JointLimit",
    "Propagator",
    "Run",
    "Sample",
    "Sensitivity",
    "read",
]


def __dir__() -> list[str]:
    return __all__
