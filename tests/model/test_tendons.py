"""Tendons and gravity compensation as parts of a model: made, refused, kept through edits and copies, saved."""

import pickle

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.analysis import reroot
from soacraft.errors import ModelError, StaleError
from soacraft.files.native import from_json, to_json
from soacraft.model import serial_chain


def arm():
    mb = serial_chain(4)
    mb.add_tendon("cable", {"link1": 1.0, "link3": -0.5}, stiffness=20.0, damping=0.3, rest=(0.0, 0.1))
    return mb


def test_what_a_tendon_has():
    mb = arm()
    cable = mb.tendons["cable"]
    assert (dict(cable.terms), cable.stiffness, cable.damping, cable.rest) == (
        {"link1": 1.0, "link3": -0.5}, 20.0, 0.3, (0.0, 0.1),
    )  # fmt: skip
    assert repr(cable) == "tendon 'cable': L = 1 link1 + -0.5 link3, stiffness 20 from 0 to 0.1, damping 0.3"
    assert repr(mb.add_tendon("band", {"link2": 2}, 1, rest=0.5)) == (
        "tendon 'band': L = 2 link2, stiffness 1 from 0.5, damping 0"
    )
    with pytest.raises(ModelError, match="tendon 'both' names dof 'link1' twice; name it once"):
        mb.add_tendon("both", {"link1": 1.0, mb["link1"]: 2.0})
    assert str(mb.tree()).splitlines()[-2:] == [repr(x) for x in mb.tendons]
    with pytest.raises(TypeError):
        cable.terms["link1"] = 3.0
    assert pickle.loads(pickle.dumps(cable)).terms == cable.terms


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "cable"}, "'chain' already has a tendon 'cable'; names are unique."),
        ({"name": " "}, "the name of a tendon must be a non-empty string, got ' '."),
        ({"terms": {}}, "tendon 'new' needs {dof: coefficient, ...}, got {}."),
        ({"terms": {"elbow": 1}}, "tendon 'new': 'chain' has no dof, hinge or body 'elbow'; it has 'link1', 'link2', "
         "'link3', 'link4'."),
        ({"terms": {"link1": np.nan}}, "the coefficient of 'link1' in tendon 'new' must be finite, got nan"),
        ({"stiffness": "soft"}, "the stiffness of tendon 'new' must be real numbers, got text: 'soft'"),
        ({"damping": np.inf}, "the damping of tendon 'new' must be finite, got inf"),
        ({"rest": (0.2, 0.1)}, "the rest length of tendon 'new' goes from 0.2 up to 0.1: give the lower end first."),
        ({"rest": [1, 2, 3]}, "the rest length of tendon 'new' must have shape (2,), got shape (3,)"),
    ],
    ids=str,
)  # fmt: skip
def test_refusals(given, message):
    mb = arm()
    before = mb.version
    with pytest.raises(ModelError) as error:
        mb.add_tendon(**({"name": "new", "terms": {"link1": 1.0}} | given))
    assert str(error.value) == message
    assert (mb.version, mb.tendons.names) == (before, ("cable",))


def test_a_ball_has_no_coordinates_to_pull_at():
    mb = sc.random_tree(2, 1, [sc.Spherical()])
    with pytest.raises(ModelError, match=r"tendon 'cable': .* has no coordinate 'body1.0': the velocities of Spher"):
        mb.add_tendon("cable", {mb.dof_names[0]: 1.0}, 1.0)


def test_edits():
    """What a tendon pulls at stays; a change of one is a change of structure."""
    mb = arm()
    state = mb.state()
    with pytest.raises(ModelError, match=r"dof 'link3' is part of tendon 'cable'; .* mb.remove_tendon\('cable'\)"):
        mb.remove("link3", subtree=True)
    with pytest.raises(ModelError, match="is part of tendon 'cable'"):
        mb.reattach("link3", "link2", sc.Spherical())
    assert mb.tendons.names == ("cable",)
    mb.remove_tendon("cable")
    assert not mb.tendons
    with pytest.raises(StaleError):
        state.require_fresh()
    mb.remove("link3", subtree=True)


def test_copies_and_sub_graphs():
    mb = arm()
    mb["link2"].gravity_compensation = 0.7
    twin = mb.copy()
    assert [repr(x) for x in twin.tendons] == [repr(x) for x in mb.tendons]
    assert twin["link2"].gravity_compensation == 0.7
    assert mb.subgraph(["link1", "link2", "link3"]).tendons.names == ("cable",)
    part = mb.subgraph(["link1", "link2"])
    assert not part.tendons
    q, v = np.array([0.5, 0.2]), np.array([1.0, 2.0])
    weight = dyn.passive_force(part, q, v)
    np.testing.assert_allclose(weight, 0.7 * (dyn.gravity_force(part, q) - _without(mb, q)), rtol=1e-12)


def _without(mb, q):
    """The gravity force of the two links when the second weighs nothing."""
    light = mb.copy()
    light["link2"].inertia = sc.Inertia()
    return dyn.gravity_force(light.subgraph(["link1", "link2"]), q)


def test_they_go_along_when_a_tree_is_told_from_another_base():
    mb = sc.load("quadrotor_arm")
    mb.add_tendon("cable", {"arm": 1.0, "hand": -0.5}, 4.0, 0.3, 0.1)
    mb["arm"].gravity_compensation = 0.6
    mb.set_state(mb.integrate(mb.q, np.linspace(0.1, 0.9, mb.nv)), np.linspace(-1, 1, mb.nv))
    other = reroot(mb, "hand")
    assert other["arm"].gravity_compensation == 0.6
    one, two = (dyn.forward_dynamics(x, x.q, x.v, np.zeros(x.nv)) for x in (mb, other))
    same = [(mb.dof_names.index(dof), other.dof_names.index(dof)) for dof in ("yaw", "arm", "hand")]
    np.testing.assert_allclose([one[i] for i, _ in same], [two[j] for _, j in same], rtol=1e-9)


def test_saved_and_read_back():
    mb = arm()
    mb["link2"].gravity_compensation = 0.7
    back = from_json(to_json(mb))
    assert [repr(x) for x in back.tendons] == [repr(x) for x in mb.tendons]
    assert [body.gravity_compensation for body in back.bodies] == [0.0, 0.7, 0.0, 0.0]
    assert to_json(back) == to_json(mb)


def test_gravity_compensation_is_a_number():
    mb = arm()
    before = mb.parameters
    with pytest.raises(ModelError, match="gravity_compensation of 'link1' must be finite, got nan"):
        mb["link1"].gravity_compensation = np.nan
    assert (mb.parameters, mb["link1"].gravity_compensation) == (before, 0.0)
    mb["link1"].gravity_compensation = 1
    assert mb.parameters > before
