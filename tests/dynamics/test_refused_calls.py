"""A refused call names the state at fault and leaves `out` as it was: every function, by itself and by a handle."""

from functools import cache, partial

import numpy as np
import pytest
from tests.dynamics.calls import CALLS, DERIVATIVES, SOLVES, arguments, arrays, keyword, names_of

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SingularError, SoacraftError, StateError
from soacraft.model.hinges import examples

COUNT = 5
every = pytest.mark.parametrize("function", sorted(CALLS))
both = pytest.mark.parametrize("by_handle", [False, True])


def graph(function):
    """A small model with hinges of many kinds, and on a pin three slides in a row that can be sent out of sight."""
    return _graph(function in DERIVATIVES)


@cache
def _graph(holonomic):
    hinges = [hinge for hinge in examples() if hinge.holonomic or not holonomic]
    mb = sc.random_tree(6, 4, hinges[3:], branching=0.4)
    inertia = sc.Inertia(1.0, (0.1, 0.2, 0.0), 0.1 * np.eye(3))
    parent = mb.add_body("turn", None, sc.Pin((0, 1, 0)), inertia)
    for i in range(3):
        parent = mb.add_body(f"slide{i}", parent, sc.Prismatic((1, 0, 0)), inertia)
        parent.add_node("node")
        parent.passive = sc.Passive(stiffness=10.0)
    return mb


def bound(function, g, by_handle):
    method = getattr(dyn.Dynamics(g), function) if by_handle else partial(getattr(dyn, function), g)
    return lambda given, **extra: method(
        *(given[name] for name in CALLS[function].split()), **keyword(function, **extra)
    )


def given_for(function, batch):
    g = graph(function)
    return g, arguments(g, 2, batch) | {"nodes": ["slide2/node"]}


def out_for(call, given):
    """Arrays of the right shapes, each with numbers of its own."""
    shapes = [x.shape for x in arrays(call(given))]
    outs = tuple(np.arange(1000.0 * i, 1000.0 * i + np.prod(shape)).reshape(shape) for i, shape in enumerate(shapes))
    return outs, outs if len(outs) > 1 else outs[0]


def assert_left_alone(call, given, outs, out, error, match=None):
    before = [x.copy() for x in outs]
    with pytest.raises(error, match=match):
        call(given, out=out)
    for x, y in zip(outs, before, strict=True):
        np.testing.assert_array_equal(x, y)


@every
@both
@pytest.mark.parametrize("batch", [(), (COUNT,)])
def test_out_is_left_alone_when_numbers_overflow(function, by_handle, batch):
    """Three slides of 1.6e308 m in a row in the last state, velocities and forces of 1e308."""
    g, given = given_for(function, batch)
    call = bound(function, g, by_handle)
    outs, out = out_for(call, given)
    for i in range(3):
        given["q"].reshape(-1, g.nq)[-1, g.q_slice(f"slide{i}")] = 1.6e308
    for name in ("v", "vdot", "force", "x"):
        given[name].reshape(-1, g.nv)[-1] = 1e308
    assert_left_alone(call, given, outs, out, StateError)


@every
@both
def test_a_bad_number_in_a_later_state(function, by_handle):
    g, plain = given_for(function, (COUNT,))
    call = bound(function, g, by_handle)
    outs, out = out_for(call, plain)
    for i, name in enumerate(names_of(function)):
        bad = np.nan if i % 2 else -np.inf
        given = plain | {name: plain[name].copy()}
        given[name][3, -1] = bad
        text = rf"^state 3 of {COUNT}: {name} of .* must be finite: entry .* is {bad}\."
        assert_left_alone(call, given, outs, out, StateError, text)


@every
@both
def test_a_bad_quaternion_in_a_later_state(function, by_handle):
    g, given = given_for(function, (COUNT,))
    call = bound(function, g, by_handle)
    outs, out = out_for(call, given)
    body = next(body for body in g.bodies if isinstance(body.hinge, sc.Spherical | sc.Free))
    given["q"][4, g.q_slice(body)] *= 1.1
    text = rf"^state 4 of {COUNT}: q of hinge '{body.hinge_name}'(\[:4\])? is not a unit quaternion"
    assert_left_alone(call, given, outs, out, StateError, text)


def test_batches_with_several_axes_give_the_index():
    g, given = given_for("forward_dynamics", (2, 3))
    given["q"][1, 2, -1] = np.nan
    with pytest.raises(StateError, match=r"^state \(1, 2\) of \(2, 3\): q of "):
        dyn.forward_dynamics(g, given["q"], given["v"], given["force"])


@pytest.mark.parametrize("function", sorted(SOLVES))
@both
@pytest.mark.parametrize("batch", [(), (COUNT,)])
def test_out_is_left_alone_when_a_hinge_is_singular(function, by_handle, batch):
    """A gimbal at 90 degrees in the last state."""
    g = sc.Multibody("neck")
    J = np.array([[1.0, 0.2, 0.1], [0.2, 1.5, -0.3], [0.1, -0.3, 2.0]])
    g.add_body("base", None, sc.Pin((0, 1, 0)), sc.Inertia(2.0, (0.1, 0, 0.2), 0.3 * np.eye(3)))
    g.add_body("head", "base", sc.Gimbal(), sc.Inertia(1.0, (0.1, 0.2, 0.3), J)).add_node("eye")
    given = arguments(g, 2, batch) | {"nodes": ["head/eye"], "f_ext": None, "prescribed": ["base"]}
    call = bound(function, g, by_handle)
    outs, out = out_for(call, given)
    given["q"][(-1, 2) if batch else 2] = np.pi / 2
    state = rf"^state {COUNT - 1} of {COUNT}: " if batch else "^"
    text = state + r"gimbal lock: the axes of hinge 'head' \(Gimbal\) are dependent at q = \(.*, 1.570796, .*\)"
    assert_left_alone(call, given, outs, out, SingularError, text)


@both
def test_gimbal_lock_is_told_with_its_cure(by_handle):
    for hinge, q in (
        (sc.Gimbal(), [0.3, np.pi / 2, 0.1]),
        (sc.Universal((1, 0, 0), (0, 1, 0)), None),
        (sc.Screws([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]), [0.3, -np.pi / 2, 0.1]),
    ):
        mb = sc.Multibody("neck")
        mb.add_body("head", None, hinge, sc.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([1.0, 1.5, 2.0])))
        solve = dyn.Dynamics(mb).mass_matrix_inverse if by_handle else partial(dyn.mass_matrix_inverse, mb)
        if q is None:
            assert np.isfinite(solve(np.array([1.0, np.pi / 2]))).all()  # never fall together
            continue
        with pytest.raises(SingularError, match=r"gimbal lock: the axes of hinge 'head' .* use a spherical hinge"):
            solve(np.array(q))


def test_a_hinge_without_inertia_is_not_gimbal_lock():
    mb = sc.Multibody("flag")
    mb.add_body("flag", None, sc.Gimbal(), sc.Inertia.point(1.0, (0.2, 0.3, 0.4)))
    with pytest.raises(SingularError, match="the hinge of 'flag' has no inertia to move"):
        dyn.mass_matrix_inverse(mb, [0.1, 0.2, 0.3])


@both
def test_out_that_is_an_argument_is_left_alone_too(by_handle):
    g, given = given_for("forward_dynamics", (COUNT,))
    call = bound("forward_dynamics", g, by_handle)
    given["v"][2] = 1e200
    force = given["force"].copy()
    with pytest.raises(SoacraftError):
        call(given, out=given["force"])
    np.testing.assert_array_equal(given["force"], force)


def test_of_a_subgraph_too():
    """Kernels see a sub-graph from its anchor; the last step to the inertial frame overflows."""
    mb = sc.Multibody("far")
    mb.add_body("base", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.add_body("tip", "base", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.q = [1.7e308, 0.0]
    g = mb.subgraph(["tip"])
    outs = np.ones((1, 3, 3)), np.ones((1, 3))
    with pytest.raises(StateError):
        dyn.poses(g, [1.7e308], out=outs)
    assert all((x == 1.0).all() for x in outs)


def test_what_a_rotation_leaves_on_an_axis_by_its_own_rounding_is_no_inertia():
    """A point mass that a pin has turned onto the axis of another pin, but for the rounding of the rotation."""
    mb = sc.Multibody("polar")
    mb.add_body("yaw", None, sc.Pin((0, 0, 1)))
    mb.add_body("pitch", "yaw", sc.Pin((0, 1, 0)), sc.Inertia.point(1.0, (1, 0, 0)))
    q, zero, one = np.array([0.0, np.pi / 2]), np.zeros(2), np.ones(2)
    for call in (partial(dyn.forward_dynamics, mb), sc.Dynamics(mb).forward_dynamics):
        with pytest.raises(SingularError, match="the hinge of 'yaw' has no inertia to move"):
            call(q, zero, one)
