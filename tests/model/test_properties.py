"""Limits, springs, dampers, friction and armature of a hinge: read, sized, refused."""

import numpy as np
import pytest

from soacraft.errors import ModelError, StaleError, StateError
from soacraft.model import Limits, Multibody, Passive
from soacraft.model.hinges import Free, Pin, Spherical, Universal, Weld
from soacraft.spatial import Inertia


def model():
    mb = Multibody("arm")
    mb.add_body("post", None, Weld(), Inertia(1.0))
    mb.add_body("upper", "post", Pin((0, 1, 0)), Inertia(1.0), hinge_name="shoulder")
    mb.add_body("lower", "upper", Universal((1, 0, 0), (0, 1, 0)), Inertia(1.0))
    mb.add_body("ball", "lower", Spherical(), Inertia.sphere(1.0, 0.1))
    return mb


def refused(call, text, error=ModelError):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text


def test_a_new_hinge_has_nothing():
    mb = model()
    for body in mb.bodies:
        nv = body.hinge.nv
        np.testing.assert_array_equal(body.armature, np.zeros(nv))
        np.testing.assert_array_equal(body.limits.lower, np.full(nv, -np.inf))
        for bound in (body.limits.upper, body.limits.velocity, body.limits.effort):
            np.testing.assert_array_equal(bound, np.full(nv, np.inf))
        for each in (body.passive.stiffness, body.passive.damping, body.passive.friction):
            np.testing.assert_array_equal(each, np.zeros(nv))
        assert body.passive.rest is None
        assert not body.passive.acts


def test_one_number_stands_for_all_dofs():
    mb = model()
    lower = mb["lower"]
    lower.limits = Limits(lower=-1, upper=[1, 2], effort=87)
    lower.passive = Passive(stiffness=3, damping=[0.1, 0.2], rest=[0.5, 0.6])
    lower.armature = 0.25
    np.testing.assert_array_equal(lower.limits.lower, [-1, -1])
    np.testing.assert_array_equal(lower.limits.upper, [1, 2])
    np.testing.assert_array_equal(lower.limits.velocity, [np.inf, np.inf])
    np.testing.assert_array_equal(lower.limits.effort, [87, 87])
    np.testing.assert_array_equal(lower.passive.stiffness, [3, 3])
    np.testing.assert_array_equal(lower.passive.damping, [0.1, 0.2])
    np.testing.assert_array_equal(lower.passive.rest, [0.5, 0.6])
    assert lower.passive.acts
    np.testing.assert_array_equal(lower.armature, [0.25, 0.25])
    for array in (lower.limits.upper, lower.passive.damping, lower.passive.rest, lower.armature, mb["upper"].armature):
        assert not array.flags.writeable


def test_what_was_given_may_be_changed_later():
    mb = model()
    given = np.array([1.0, 2.0])
    mb["lower"].limits = Limits(upper=given)
    mb["lower"].passive = Passive(damping=given, rest=given)
    mb["lower"].armature = given
    given[:] = 9.0
    for kept in (mb["lower"].limits.upper, mb["lower"].passive.damping, mb["lower"].passive.rest, mb["lower"].armature):
        np.testing.assert_array_equal(kept, [1, 2])


def test_what_changes_the_motion_is_counted():
    mb = model()
    version, parameters, state = mb.version, mb.parameters, mb.current
    mb["upper"].limits = Limits(upper=1)
    assert (mb.version, mb.parameters) == (version, parameters)
    assert mb.current is state
    mb["upper"].passive = Passive(damping=1)
    assert (mb.version, mb.parameters) == (version, parameters + 1)
    mb["upper"].gravity_compensation = 0.5
    assert (mb.version, mb.parameters) == (version, parameters + 2)
    assert mb.current is not state
    state.require_fresh()
    mb.set_state(v=np.arange(6.0))
    mb["upper"].armature = 0.25  # the node grows
    assert (mb.version, mb.parameters) == (version + 1, parameters + 2)
    np.testing.assert_array_equal(mb.v, np.arange(6.0))
    with pytest.raises(StaleError):
        state.require_fresh()
    state = mb.current
    mb["upper"].armature = 0.5  # and stays
    assert (mb.version, mb.parameters) == (version + 1, parameters + 3)
    state.require_fresh()
    assert mb.layout.armature[0] is None
    np.testing.assert_array_equal(mb.layout.armature[1], [0.5])
    assert mb.layout.dims == (6, 7, 6, 6)
    assert mb.layout.extended
    mb["upper"].armature = [0.0]
    assert mb.layout.dims == (6, 6, 6, 6)
    assert not mb.layout.extended


def test_a_weld_takes_single_numbers():
    post = model()["post"]
    post.armature, post.limits, post.passive = 3.0, Limits(upper=1), Passive(damping=1)
    for array in (post.armature, post.limits.upper, post.passive.damping):
        assert array.shape == (0,)
    assert post.graph.layout.dims[0] == 6


def test_rest_of_a_ball_is_a_unit_quaternion():
    ball = model()["ball"]
    ball.passive = Passive(stiffness=1, rest=[0, 0, 0.6, 0.8 + 1e-8])
    assert np.linalg.norm(ball.passive.rest) == pytest.approx(1.0, abs=1e-15)
    before = ball.passive
    with pytest.raises(StateError, match="rest of hinge 'ball'"):
        ball.passive = Passive(rest=[0, 0, 0, 2])
    assert ball.passive is before


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        ("armature", -0.1, "the armature of hinge 'shoulder' must not be negative, got (-0.1,)."),
        ("armature", np.nan, "the armature of hinge 'shoulder' must be finite, got nan"),
        ("armature", [1, 2], "the armature of hinge 'shoulder' needs one number, or 1 for its dofs; got 2."),
        ("armature", "big", "the armature of hinge 'shoulder' must be real numbers, got text: 'big'"),
        ("armature", None, "the armature of hinge 'shoulder' must be real numbers, got objects: None"),
        ("armature", [[1.0]], "the armature of hinge 'shoulder' must have shape (any,), got shape (1, 1)"),
        ("limits", 3, "limits of hinge 'shoulder' must be Limits(...), got 3."),
        (
            "limits",
            Limits(upper=[1, 2]),
            "upper of the limits of hinge 'shoulder' needs one number, or 1 for its dofs; got 2.",
        ),
        ("passive", {"damping": 1}, "passive of hinge 'shoulder' must be a Passive(...), got {'damping': 1}."),
        ("passive", Passive(damping=[1, 2]), "damping of hinge 'shoulder' needs one number, or 1 for its dofs; got 2."),
        ("passive", Passive(rest=[1, 2]), "rest of hinge 'shoulder' needs 1 coordinates, got 2."),
        (
            "passive",
            Passive(friction=2, static=1.5),
            "static friction of hinge 'shoulder' is 1.5, less than its dry friction, 2; leave it out where it is no "
            "more.",
        ),
    ],
)
def test_bad_values_are_refused_and_change_nothing(attribute, value, text):
    mb = model()
    upper = mb["upper"]
    upper.armature, upper.limits, upper.passive = 0.5, Limits(upper=1), Passive(damping=2)
    before = mb.version, upper.limits, upper.passive
    refused(lambda: setattr(upper, attribute, value), text)
    assert (mb.version, upper.limits, upper.passive) == before
    np.testing.assert_array_equal(upper.armature, [0.5])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Limits(lower="1"), "lower of Limits must be numbers, got '1'."),
        (lambda: Limits(upper=True), "upper of Limits must be numbers, got True."),
        (lambda: Limits(upper=1j), "upper of Limits must be numbers, got 1j."),
        (lambda: Limits(effort=None), "effort of Limits must be numbers, got None."),
        (lambda: Limits(upper=[[1], [1, 2]]), "upper of Limits must be numbers, got [[1], [1, 2]]."),
        (lambda: Limits(velocity=np.nan), "velocity of Limits must be a number or one for each dof, not NaN; got nan."),
        (lambda: Limits(upper=[[1]]), "upper of Limits must be a number or one for each dof, not NaN; got [[1]]."),
        (lambda: Passive(stiffness=np.inf), "stiffness of a hinge must be finite, got inf"),
        (lambda: Passive(damping="x"), "damping of a hinge must be real numbers, got text: 'x'"),
        (lambda: Passive(friction=[[1]]), "friction of a hinge must have shape (any,), got shape (1, 1)"),
        (lambda: Passive(rest=np.nan), "rest of a hinge must be finite, got nan at index 0"),
        (lambda: Passive(static=-1), "static of a hinge must not be negative, got -1."),
        (lambda: Passive(stribeck_speed=[1, -1]), "stribeck_speed of a hinge must not be negative, got (1, -1)."),
        (
            lambda: setattr(Limits(), "upper", 1),
            "Limits cannot be changed; set a new one on the body, such as Limits(lower=...).",
        ),
        (
            lambda: setattr(Passive(), "rest", 1),
            "Passive cannot be changed; set a new one on the body, such as Passive(stiffness=...).",
        ),
    ],
)
def test_bad_limits_and_springs(call, text):
    refused(call, text)


def test_ragged_springs_are_refused():
    with pytest.raises(ModelError, match="stiffness of a hinge must be an array of real numbers, got a ragged"):
        Passive(stiffness=[[1], [1, 2]])
    with pytest.raises(ModelError, match="the armature of hinge 'shoulder' must be an array of real numbers"):
        model()["upper"].armature = [[1], [1, 2]]


def test_removed_bodies_are_stale():
    mb = model()
    ball = mb["ball"]
    mb.remove("ball")
    for attribute, value in (("armature", 1.0), ("limits", Limits()), ("passive", Passive())):
        with pytest.raises(StaleError, match="body 'ball' was removed"):
            setattr(ball, attribute, value)


def test_text_equality_and_hash():
    assert repr(Limits()) == "Limits()"
    assert repr(Passive()) == "Passive()"
    assert repr(Passive(friction=1, static=2, stribeck_speed=3)) == "Passive(friction=1, static=2, stribeck_speed=3)"
    assert Passive(friction=1, static=2) != Passive(friction=1)
    assert repr(Limits(lower=[-1, -np.inf], velocity=2)) == "Limits(lower=[-1.0, -inf], velocity=2)"
    assert (
        repr(Passive(1, [2, 0.5], 0.25, [1, 2])) == "Passive(stiffness=1, damping=(2, 0.5), friction=0.25, rest=(1, 2))"
    )
    assert Limits(upper=1) == Limits(upper=1.0) != Limits(upper=2)
    assert hash(Limits(upper=0.0)) == hash(Limits(upper=-0.0))
    assert Limits(upper=0.0) == Limits(upper=-0.0)
    assert Passive(rest=[1]) != Passive()
    assert Passive() != Limits()
    assert len({Passive(), Passive(0, 0), Passive(rest=[0])}) == 2


def test_a_free_body_may_have_armature():
    mb = Multibody("free")
    mb.add_body("body", None, Free(), Inertia(1.0)).armature = np.arange(6.0)
    assert mb.layout.dims == (12,)
