"""Motion in time: a model carried on from its state, with forces, controls, events and a log.

    p = sc.sim.Propagator(mb, rtol=1e-9)                      # or integrator="rk4", step=0.001
    p.control("elbow", lambda t, state: -2.0 * state.v[0])
    p.event("down", lambda t, state: state.q[0], direction=-1)
    run = p.advance_to(10.0)                                  # run.t, run.q, run.v, run.energy, run.at(t), run.check()

A `System` joins components by signals around a model (`Plant`), and is carried through time by a propagator:

    s = sc.sim.System("arm", integrator="rk4", step=1e-3)
    arm = s.add("arm", sc.sim.Plant(mb))
    s.add("motor", sc.sim.Motor(R=1.0, L=5e-4, k=0.05, n=100), at=arm.dof("elbow"))
    s.connect("control.command", "motor.voltage")
    run = s.run(10.0)                                         # run.signals["motor.current"]

Integrators are written against products of manifolds (`manifold`), so quaternions lose no order. Time is in whole
nanoseconds inside.
"""

from typing import TYPE_CHECKING

from soacraft.hints import lookup
from soacraft.sim.campaigns.campaign import Campaign
from soacraft.sim.campaigns.distributions import (
    Choice,
    FromFile,
    Grid,
    LogNormal,
    MultiNormal,
    Normal,
    Truncated,
    Uniform,
)
from soacraft.sim.components.checks import check_component
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import (
    Continuous,
    Discrete,
    In,
    Params,
    Unit,
    crossing,
    jump,
    output,
    rate,
    update,
)
from soacraft.sim.components.registry import register
from soacraft.sim.components.twins import TwinFunction
from soacraft.sim.events import Happened
from soacraft.sim.files.reader import load_system
from soacraft.sim.forces.compliant import CompliantContact
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.sim.forces.elements import Drag
from soacraft.sim.forces.friction import HingeFriction
from soacraft.sim.forces.gravity import GravityField
from soacraft.sim.forces.impacts import Impacts
from soacraft.sim.forces.stops import JointLimit
from soacraft.sim.library.actuators import Force, Motor, PointGravity, Thruster
from soacraft.sim.library.algebra import Express, Gain, Join, Product, Saturation, Sum
from soacraft.sim.library.control import PD, PID
from soacraft.sim.library.drives import Drive, WideDrive
from soacraft.sim.library.memory import DiscreteFilter, Integrator, LowPass, SampleHold, UnitDelay
from soacraft.sim.library.pure import clip, pick
from soacraft.sim.library.sensors import Sensor
from soacraft.sim.library.sources import Constant, Ramp, Sine, Step
from soacraft.sim.links.environments import gym
from soacraft.sim.links.fmu import Fmu
from soacraft.sim.links.layout import Layout
from soacraft.sim.links.native import Native
from soacraft.sim.links.shared import SharedMemory
from soacraft.sim.links.split import Crew, ShareRun, Split, SplitRun, split
from soacraft.sim.links.udp import Udp
from soacraft.sim.propagator import Propagator
from soacraft.sim.runs.balance import Balance
from soacraft.sim.runs.clocked import Paced
from soacraft.sim.runs.contacts import ContactHistory
from soacraft.sim.runs.log_reader import read
from soacraft.sim.runs.run import Run
from soacraft.sim.runs.sample import Sample
from soacraft.sim.runs.signals import Signals
from soacraft.sim.sensitivity import Sensitivity
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.record import Recording
from soacraft.sim.steppers.stepper import Stepper
from soacraft.sim.systems.assembly import Assembly
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.changes.sequence import Action, Sequence, Transition
from soacraft.sim.systems.checkpoint import restore
from soacraft.sim.systems.frames import UserFrame
from soacraft.sim.systems.from_model import FromModel, from_model
from soacraft.sim.systems.linear import Linear
from soacraft.sim.systems.plants.plant import Kinematics, Mount, Plant
from soacraft.sim.systems.system import System

__all__ = [
    "PD",
    "PID",
    "Action",
    "Assembly",
    "Balance",
    "Campaign",
    "Change",
    "Choice",
    "CompliantContact",
    "Component",
    "Constant",
    "Contact",
    "ContactHistory",
    "ContactStep",
    "Continuous",
    "Crew",
    "Discrete",
    "DiscreteFilter",
    "Drag",
    "Drive",
    "Express",
    "Fmu",
    "Force",
    "FromFile",
    "FromModel",
    "Gain",
    "GravityField",
    "Grid",
    "Happened",
    "HingeFriction",
    "Impacts",
    "In",
    "Integrator",
    "Join",
    "JointLimit",
    "Kinematics",
    "Layout",
    "Linear",
    "LogNormal",
    "LowPass",
    "Motor",
    "Mount",
    "MultiNormal",
    "Native",
    "Normal",
    "Paced",
    "Params",
    "Plant",
    "PointGravity",
    "Product",
    "Propagator",
    "Ramp",
    "Recording",
    "Run",
    "Sample",
    "SampleHold",
    "Saturation",
    "Sensitivity",
    "Sensor",
    "Sequence",
    "ShareRun",
    "SharedMemory",
    "Signals",
    "SimState",
    "Sine",
    "Split",
    "SplitRun",
    "Step",
    "Stepper",
    "Sum",
    "System",
    "Thruster",
    "Transition",
    "Truncated",
    "TwinFunction",
    "Udp",
    "Uniform",
    "Unit",
    "UnitDelay",
    "UserFrame",
    "WideDrive",
    "check_component",
    "clip",
    "crossing",
    "from_model",
    "gym",
    "jump",
    "load_system",
    "output",
    "pick",
    "rate",
    "read",
    "register",
    "restore",
    "split",
    "update",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__
