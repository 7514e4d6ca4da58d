"""Models edited at random: after each edit every number is that of a model built anew.

Handles, live expressions, compiled expressions, snapshots and sub-graphs are made once for a structure and used on and
on; after a change of structure they are stale, and say so.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StaleError
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.sizes.scale import scale_of

SEEDS = st.integers(0, 999)
CHOICES = st.integers(0, 99)


class Rack(sc.Hinge):
    """A hinge of a user's own: it travels along x, `gain` metres for each unit."""

    nq = nv = 1

    def __init__(self, gain):
        self.gain = gain

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        return sc.Pose(translation=(self.gain * q[0], 0, 0))

    def H_T(self, q):
        self.asked = float(q[0])  # what a hinge notes while it is asked is no change of a parameter
        return np.array([[0.0], [0.0], [0.0], [self.gain], [0.0], [0.0]])


KINDS = {
    "pin": lambda: sc.Pin((0, 0, 1)),
    "slide": lambda: sc.Prismatic((1, 0, 0)),
    "universal": lambda: sc.Universal((1, 0, 0), (0, 1, 0)),
    "ball": lambda: sc.Spherical(),
    "free": lambda: sc.Free(),
    "weld": lambda: sc.Weld(),
    "rack": lambda: Rack(1.5),
}


class Told:
    """What a body was told, apart from any model."""

    def __init__(self, name, parent, kind, rng):
        self.name, self.parent, self.kind, self.gain = name, parent, kind, 1.5
        self.inertia, self.inboard, self.outboard = random_inertia(rng), random_pose(rng), random_pose(rng)
        self.node, self.armature, self.passive, self.compensation = random_pose(rng), 0.0, sc.Passive(), 0.0
        self.rest()

    def rest(self):
        hinge = self.hinge()
        self.q, self.v = np.asarray(hinge.neutral()), np.zeros(hinge.nv)

    def hinge(self):
        hinge = KINDS[self.kind]()
        if self.kind == "rack":
            hinge.gain = self.gain
        return hinge


class Edits(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.told, self.forces, self.gravity, self.number, self.tendon = {}, {}, np.array([0.0, 0.0, -9.81]), 0, None
        self.mb = sc.Multibody("edited", gravity=self.gravity)
        self.made = None

    # -- helpers -------------------------------------------------------------------------------------------------

    def pick(self, choice, some=None):
        names = list(self.told if some is None else some)
        return names[choice % len(names)]

    def tips(self):
        inner = {x.parent for x in self.told.values()}
        return [name for name in self.told if name not in inner and name not in self.forces]

    def is_plain(self, told):
        return not told.armature and told.passive == sc.Passive() and told.name not in (self.tendon or ())

    def anew(self):
        """A model made of what was told."""
        mb = sc.Multibody("anew", gravity=self.gravity)
        for told in self.told.values():
            body = mb.add_body(told.name, told.parent, told.hinge(), told.inertia, told.inboard, told.outboard)
            body.add_node("node", told.node)
            body.armature, body.passive, body.gravity_compensation = told.armature, told.passive, told.compensation
        if self.tendon:
            mb.add_tendon("cable", dict.fromkeys(self.tendon, 1.0), stiffness=3.0)
        order = [self.told[body.name] for body in mb.bodies]
        mb.set_state(np.concatenate([x.q for x in order]), np.concatenate([x.v for x in order]))
        for name, wrench in self.forces.items():
            mb.set_force(f"{name}/node", wrench)
        return mb

    # -- structure -----------------------------------------------------------------------------------------------

    @initialize(kinds=st.lists(st.sampled_from(list(KINDS)), min_size=2, max_size=4), seed=SEEDS)
    def first_bodies(self, kinds, seed):
        self.add("pin", 0, seed)
        for i, kind in enumerate(kinds):
            self.add(kind, seed + i, seed + i)

    @precondition(lambda self: len(self.told) < 6)
    @rule(kind=st.sampled_from(list(KINDS)), choice=CHOICES, seed=SEEDS)
    def add(self, kind, choice, seed):
        rng, self.number = np.random.default_rng(seed), self.number + 1
        parent = self.pick(choice, [None, *self.told])
        told = self.told[f"b{self.number}"] = Told(f"b{self.number}", parent, kind, rng)
        body = self.mb.add_body(told.name, parent, told.hinge(), told.inertia, told.inboard, told.outboard)
        body.add_node("node", told.node)

    @precondition(lambda self: len(self.told) > 2 and self.removable())
    @rule(choice=CHOICES)
    def remove(self, choice):
        name = self.pick(choice, self.removable())
        self.mb.remove(name)
        del self.told[name]

    def removable(self):
        return [name for name in self.tips() if name not in (self.tendon or ())]

    @precondition(lambda self: any(self.is_plain(self.told[x]) for x in self.tips()))
    @rule(choice=CHOICES, kind=st.sampled_from(list(KINDS)))
    def reattach(self, choice, kind):
        told = self.told[self.pick(choice, [x for x in self.tips() if self.is_plain(self.told[x])])]
        told.parent = self.pick(choice, [None, *(x for x in self.told if x != told.name)])
        told.kind, told.gain = kind, 1.5
        told.inboard = told.outboard = sc.Pose()
        told.rest()
        self.mb.reattach(told.name, told.parent, told.hinge())
        self.told = {body.name: self.told[body.name] for body in self.mb.bodies}

    @rule()
    def tendon_comes_or_goes(self):
        pins = tuple(x.name for x in self.told.values() if x.kind in ("pin", "slide"))
        if self.tendon:
            self.mb.remove_tendon("cable")
            self.tendon = None
        elif pins:
            self.mb.add_tendon("cable", dict.fromkeys(pins, 1.0), stiffness=3.0)
            self.tendon = pins

    # -- parameters ----------------------------------------------------------------------------------------------

    @rule(choice=CHOICES, seed=SEEDS)
    def inertia(self, choice, seed):
        told = self.told[self.pick(choice)]
        self.mb[told.name].inertia = told.inertia = random_inertia(np.random.default_rng(seed))

    @rule(choice=CHOICES, seed=SEEDS, which=st.sampled_from(["inboard", "outboard"]), turned=st.booleans())
    def pose(self, choice, seed, which, turned):
        told = self.told[self.pick(choice)]
        pose = random_pose(np.random.default_rng(seed))
        setattr(told, which, pose.inv if turned else pose)  # whose rotation is not contiguous
        setattr(self.mb[told.name], which, getattr(told, which))

    @rule(choice=CHOICES, seed=SEEDS)
    def node(self, choice, seed):
        told = self.told[self.pick(choice)]
        self.mb[f"{told.name}/node"].pose = told.node = random_pose(np.random.default_rng(seed))

    @rule(choice=CHOICES, value=st.sampled_from([0.0, 0.25, 2.0]))
    def armature(self, choice, value):
        told = self.told[self.pick(choice)]
        self.mb[told.name].armature = told.armature = value if told.kind != "weld" else 0.0

    @rule(choice=CHOICES, damping=st.sampled_from([0.0, 0.5]), stiffness=st.sampled_from([0.0, 7.0]))
    def springs(self, choice, damping, stiffness):
        told = self.told[self.pick(choice)]
        self.mb[told.name].passive = told.passive = sc.Passive(stiffness=stiffness, damping=damping)

    @rule(choice=CHOICES, part=st.sampled_from([0.0, 0.5]))
    def compensation(self, choice, part):
        told = self.told[self.pick(choice)]
        self.mb[told.name].gravity_compensation = told.compensation = part

    @rule(seed=SEEDS)
    def change_gravity(self, seed):
        self.gravity = np.random.default_rng(seed).standard_normal(3)
        self.mb.gravity = self.gravity

    @precondition(lambda self: any(x.kind == "rack" for x in self.told.values()))
    @rule(choice=CHOICES, gain=st.sampled_from([0.5, 1.5, -2.0]))
    def attribute_of_a_hinge(self, choice, gain):
        told = self.told[self.pick(choice, [x.name for x in self.told.values() if x.kind == "rack"])]
        self.mb[told.name].hinge.gain = told.gain = gain

    # -- states and forces ---------------------------------------------------------------------------------------

    @rule(seed=SEEDS, positions=st.booleans())
    def state(self, seed, positions):
        rng = np.random.default_rng(seed)
        for told in self.told.values():
            told.q, told.v = told.hinge().random(rng) if positions else told.q, rng.standard_normal(told.hinge().nv)
        q, v = ([getattr(self.told[body.name], x) for body in self.mb.bodies] for x in "qv")
        self.mb.set_state(np.concatenate(q) if positions else None, np.concatenate(v))

    @rule(choice=CHOICES, seed=SEEDS, acts=st.booleans())
    def force(self, choice, seed, acts):
        name = self.pick(choice)
        self.forces.pop(name, None)
        if acts:
            self.forces[name] = np.random.default_rng(seed).standard_normal(6)
        self.mb.set_force(f"{name}/node", self.forces.get(name))

    # -- what must be right after each of them -------------------------------------------------------------------

    @invariant()
    def numbers_are_those_of_a_model_built_anew(self):
        if not self.told:
            return
        mb, anew = self.mb, self.anew()
        np.testing.assert_array_equal(mb.q, anew.q)
        if self.made is None or self.made["version"] != mb.version:
            self.renew()
        made = self.made
        x, node = np.random.default_rng(mb.parameters).standard_normal(mb.nv), f"{self.pick(mb.parameters)}/node"
        some = [body.name for body in made["part"].bodies]
        q = np.asarray(anew.state(made["q"]).q)
        other = fresh(anew, q, some)
        for name, ask in numbers(np.array(mb.q), mb.v, x, node).items():
            got, wanted = ask(made), ask(other)
            size = max(1.0, np.abs(wanted).max(initial=0.0))
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * size, err_msg=name)

    def renew(self):
        """Handles of before are stale; new ones are made."""
        if self.made is not None:
            for call in (lambda made: made["handle"].graph, lambda made: made["mass"] * np.ones(made["nv"]),
                         lambda made: made["part"].layout, lambda made: made["snapshot"].require_fresh(),
                         lambda made: made["compiled"](made["q"])):  # fmt: skip
                with pytest.raises(StaleError):
                    call(self.made)
            q, zero = np.array(self.made["q"]), np.zeros(self.made["nv"])
            for name, given in (("forward_dynamics", (q, zero, zero)), ("mass_matrix", (q,)), ("poses", (q,))):
                with pytest.raises(StaleError):
                    getattr(self.made["handle"], name)(*given)
        some = [body.name for body in self.mb.bodies if body.parent is not self.mb.root] or [self.mb.bodies[0].name]
        self.made = fresh(self.mb, self.mb.random_state(3)[0], connected(self.mb, some))


def connected(mb, names):
    """The first of some bodies, with all that hangs from it."""
    return [body.name for body in mb[names[0]].subtree()]


def fresh(mb, q, some):
    """All that is made for a structure: handles, expressions, a snapshot, a part."""
    s = sc.operators(mb)
    mass = s.H * s.phi * s.M * s.phi.T * s.H.T
    return {
        "version": mb.version, "nv": mb.nv, "mb": mb, "q": q, "handle": sc.Dynamics(mb), "operators": s, "mass": mass,
        "compiled": mass.compile(), "part": (part := mb.subgraph(some)), "on_part": sc.Dynamics(part),
        "snapshot": (snapshot := mb.state(q, np.ones(mb.nv), forces={})), "bound": sc.operators(snapshot),
    }  # fmt: skip


def numbers(q, v, x, node):
    """By name: what is asked of the things made for a model."""
    part = lambda m: (np.asarray(m["part"].q), np.asarray(m["part"].v), np.ones(m["part"].nv))  # noqa: E731
    return {
        "forward dynamics": lambda m: m["handle"].forward_dynamics(q, v, x),
        "forward dynamics, without springs": lambda m: m["handle"].forward_dynamics(q, v, x, passive=False),
        "inverse dynamics": lambda m: m["handle"].inverse_dynamics(q, v, x),
        "inverse dynamics of a batch": lambda m: m["handle"].inverse_dynamics(np.stack([q, q]), v, x),
        "jacobian": lambda m: [m["handle"].jacobian(q, f"{body.name}/node") for body in m["mb"].bodies],
        "poses": lambda m: m["handle"].poses(q).translation,
        "kinetic energy": lambda m: m["handle"].kinetic_energy(q, v),
        "potential energy": lambda m: m["handle"].potential_energy(q),
        "passive energy": lambda m: m["handle"].passive_energy(q),
        "part": lambda m: m["on_part"].forward_dynamics(*part(m)),
        "mass matrix times x": lambda m: np.asarray(m["mass"] * x),
        "its inverse times x": lambda m: np.asarray(m["mass"].inv * x) if m["nv"] else x,
        "compiled": lambda m: m["compiled"](q, None, x),
        "block of phi": lambda m: m["operators"].phi[m["mb"].bodies[0].name, m["mb"].bodies[-1].name],
        "R": lambda m: m["operators"].R[m["mb"].bodies[0].name, m["mb"].bodies[0].name],
        "b": lambda m: np.asarray(m["operators"].b),
        "b of a snapshot": lambda m: np.asarray(m["bound"].b),
        "bias of a snapshot": lambda m: np.asarray(m["bound"].C),
        "snapshot": lambda m: m["mb"].velocity(node, state=m["snapshot"]),
        "pose": lambda m: m["mb"].pose(node).as_matrix(),
        "acceleration": lambda m: m["mb"].acceleration(node),
        "scale": lambda m: np.array(scale_of(m["mb"])),
    }


TestEdits = Edits.TestCase
TestEdits.settings = settings(tries(8), stateful_step_count=14, suppress_health_check=list(HealthCheck))
