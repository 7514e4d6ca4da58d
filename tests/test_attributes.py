"""Attributes that an object does not have, or that cannot be set, are refused with what to do instead."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.attributes import Strict
from soacraft.errors import ModelError, SoacraftError, StateError, UnknownAttributeError
from soacraft.model.hinges import examples


def arm():
    return sc.serial_chain(3, name="arm")


def ring():
    mb = arm()
    mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    return mb


#: One object of every class that refuses.
OBJECTS = {
    "Multibody": arm,
    "SubGraph": lambda: arm().subgraph(["link1", "link2"]),
    "Root": lambda: arm().root,
    "Body": lambda: arm()["link2"],
    "Node": lambda: arm()["link3/tip"],
    "State": lambda: arm().state(),
    "Operators": lambda: sc.operators(arm()),
    "Dynamics": lambda: sc.Dynamics(arm()),
    "SKOModel": lambda: arm().sko(),
    "TreeAugmented": lambda: sc.loops.TreeAugmented(ring()),
    "FullyAugmented": lambda: sc.loops.FullyAugmented(ring()),
    "ConstraintEmbedding": lambda: sc.loops.ConstraintEmbedding(ring()),
    **{type(hinge).__name__: (lambda hinge=hinge: hinge) for hinge in examples()},
}


def refusal(thing, name, value=1.0):
    with pytest.raises(UnknownAttributeError) as error:
        setattr(thing, name, value)
    assert isinstance(error.value, SoacraftError)
    assert isinstance(error.value, AttributeError)
    return str(error.value)


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_unknown_attributes_are_refused(make):
    thing = make()
    assert " has no attribute 'zzz'; " in refusal(thing, "zzz")
    assert not hasattr(thing, "zzz")


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_what_can_only_be_read_is_refused(make):
    """Every public name of the class, but those with a setter; and what `__init__` set once."""
    thing = make()
    for name in {x for x in (*dir(type(thing)), *vars(thing)) if not x.startswith("_")}:
        known = getattr(type(thing), name, None)
        if not (isinstance(known, property) and known.fset is not None):
            assert refusal(thing, name).startswith(f"{name} of ")


TEXTS = [
    (lambda: arm()["link2"], "mass",
     "body 'link2' has no attribute 'mass'; set body.inertia = sc.Inertia(mass, com, moment)."),
    (lambda: arm()["link2"], "damping",
     "body 'link2' has no attribute 'damping'; set body.passive = sc.Passive(stiffness=..., damping=..., "
     "friction=...)."),
    (lambda: arm()["link2"], "upper",
     "body 'link2' has no attribute 'upper'; set body.limits = sc.Limits(lower=..., upper=..., velocity=..., "
     "effort=...)."),
    (lambda: arm()["link2"], "armatur", "body 'link2' has no attribute 'armatur'; did you mean 'armature'?"),
    (lambda: arm()["link2"], "hinge",
     "hinge of body 'link2' cannot be set; attach the body again with mb.reattach(body, parent, hinge)."),
    (arm, "gravty", "Multibody 'arm' has no attribute 'gravty'; did you mean 'gravity'?"),
    (arm, "qdot", "qdot of Multibody 'arm' cannot be set; velocities are mb.v."),
    (lambda: arm().subgraph(["link1"]), "zzz",
     "SubGraph 'arm[link1]' has no attribute 'zzz'; what can be set is q, v, vdot."),
    (lambda: arm()["link3/tip"], "position",
     "node 'link3/tip' has no attribute 'position'; set node.pose = sc.Pose(...)."),
    (lambda: sc.Pin((0, 0, 1)), "damping",
     "this Pin has no attribute 'damping'; springs and dampers are the body's: body.passive = sc.Passive(...)."),
    (lambda: arm().state(), "q",
     "q of this State cannot be set; a state is a snapshot: make another with state.replace(q=..., v=..., "
     "forces=...)."),
]  # fmt: skip


@pytest.mark.parametrize(("make", "name", "text"), TEXTS, ids=[text for *_, text in TEXTS])
def test_the_text_says_what_to_do(make, name, text):
    assert refusal(make(), name) == text


def test_what_can_be_set_is_still_set():
    mb = arm()
    mb.gravity, mb.v = (0, 0, -1.62), [1, 2, 3]
    mb["link1"].inertia, mb["link1"].armature = sc.Inertia(3.0), 0.1
    assert (mb.gravity[2], mb.v[2], mb["link1"].inertia.mass, mb["link1"].armature[0]) == (-1.62, 3.0, 3.0, 0.1)


def test_a_class_of_ones_own_has_attributes_of_its_own():
    class Rail(sc.Prismatic):
        def __init__(self, axis=(1, 0, 0), maker="acme"):
            super().__init__(axis)
            self.maker = maker

    rail = Rail()
    rail.maker = "other"
    assert rail.maker == "other"
    assert issubclass(Rail, Strict)


@pytest.mark.parametrize("name", ["q", "v", "vdot"])
@pytest.mark.parametrize("graph", [arm, lambda: arm().subgraph(["link1", "link2"])], ids=["model", "sub-graph"])
def test_none_is_no_state(graph, name):
    g = graph()
    g.set_state(q=np.arange(g.nq), v=np.arange(g.nv))
    before = getattr(g, name)
    with pytest.raises(StateError) as error:
        setattr(g, name, None)
    cure = "mb.neutral()" if name == "q" else "np.zeros(mb.nv)"
    assert str(error.value) == f"{name} of {g.name!r} cannot be None; give its numbers, such as {cure}."
    np.testing.assert_array_equal(getattr(g, name), before)


@pytest.mark.parametrize(
    ("frame", "name", "plain"),
    [("link2", "inertia", "Inertia"), ("link2", "inboard", "Pose"), ("link2", "outboard", "Pose"),
     ("link3/tip", "pose", "Pose")],
)  # fmt: skip
def test_none_takes_nothing_away(frame, name, plain):
    mb = arm()
    before, version = getattr(mb[frame], name), mb.version
    with pytest.raises(ModelError) as error:
        setattr(mb[frame], name, None)
    assert str(error.value) == f"{name} of {frame!r} cannot be None; for none at all set sc.{plain}()."
    assert getattr(mb[frame], name) is before
    assert mb.version == version
