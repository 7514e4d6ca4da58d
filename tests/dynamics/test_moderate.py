"""Results into `out` of calls that keep no copy of it, since moderate numbers cannot overflow: refused calls leave it
alone on both sides of that limit.
"""

import numpy as np
import pytest
from tests.dynamics.test_refused_calls import assert_left_alone, out_for

import soacraft as sc
from soacraft.errors import SingularError, SoacraftError

SOLID = sc.Inertia(1.0, (0.0, 0.0, 0.2), 0.1 * np.eye(3))
VECTORS = {
    "poses": 1, "mass_matrix": 1, "mass_matrix_inverse": 1, "jacobian": 1, "velocities": 2, "inverse_dynamics": 3,
    "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3,
}  # fmt: skip


def wrist(in_order):
    """Three solid bodies; the first has next to nothing to move where its axis is that of the last. With a branch in
    between, dofs are not in the order of the kernels.
    """
    mb = sc.Multibody("wrist")
    faint = sc.Inertia(1e-6, (0, 0, 0), 1e-18 * np.eye(3))
    mb.add_body("a", None, sc.Pin((0, 0, 1)), faint)
    mb.add_body("b", "a", sc.Pin((0, 1, 0)), faint)
    if not in_order:
        mb.add_body("side", None, sc.Pin((0, 0, 1)), SOLID)
    mb.add_body("c", "b", sc.Pin((0, 0, 1)), SOLID)
    return mb


def called(handle, function, **extra):
    """A call with a list of vectors."""
    return lambda given, **kwargs: getattr(handle, function)(*given, **extra, **kwargs)


@pytest.mark.parametrize("function", ["mass_matrix_inverse", "forward_dynamics_derivatives"])
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("batch", [(), (11,)])
def test_a_singular_hinge_between_solid_bodies(function, in_order, batch):
    """In a batch the last state alone, when others are computed already."""
    mb = wrist(in_order)
    call = called(sc.Dynamics(mb), function)
    given = [np.full((*batch, mb.nv), 0.5) for _ in range(VECTORS[function])]
    outs, out = out_for(call, given)
    given[0][(..., *(-1,) * len(batch), slice(None))] = 0.0
    assert_left_alone(call, given, outs, out, SingularError, "the hinge of 'a' has no inertia to move")


@pytest.mark.parametrize("function", sorted(VECTORS))
def test_numbers_of_the_model_that_are_not_moderate(function):
    """One parameter at a time, changed after calls that kept nothing: a length, a mass, a node's place."""
    for change in ("length", "mass", "node"):
        mb = sc.serial_chain(3)
        node = mb.bodies[-1].add_node("end")
        call = called(sc.Dynamics(mb), function, **({"nodes": node} if function == "jacobian" else {}))
        given = [np.full(3, 0.5) for _ in range(VECTORS[function])]
        outs, out = out_for(call, given)
        call(given, out=out)
        if change == "length":
            for body in mb.bodies:
                body.inboard = sc.Pose(translation=(1.7e308, 0, 0))
        elif change == "mass":
            mb.bodies[-1].inertia = sc.Inertia(1e308, (1.0, 0, 0), 1e307 * np.eye(3))
        else:
            node.pose = sc.Pose(translation=(1.7e308, 1.7e308, 1.7e308))
        before = [x.copy() for x in outs]
        try:
            call(given, out=out)
        except SoacraftError:
            for x, y in zip(outs, before, strict=True):
                np.testing.assert_array_equal(x, y)
        else:
            assert all(np.isfinite(x).all() for x in outs)


def test_lengths_that_overflow_are_refused():
    """The case above is one: otherwise it would say nothing."""
    mb = sc.serial_chain(3)
    for body in mb.bodies:
        body.inboard = sc.Pose(translation=(1.7e308, 0, 0))
    outs = np.ones((3, 3, 3)), np.ones((3, 3))
    with pytest.raises(SoacraftError):
        sc.Dynamics(mb).poses(np.zeros(3), out=outs)
    assert all((x == 1.0).all() for x in outs)


@pytest.mark.parametrize("function", sorted(VECTORS))
def test_moderate_and_large_numbers_give_the_same(function):
    """A turn added to q is 2 pi 2^31, beyond the limit; the answers are those within it, to the rounding of q."""
    mb = sc.serial_chain(3)
    call = called(sc.Dynamics(mb), function, **({"nodes": mb.bodies[-1]} if function == "jacobian" else {}))
    rng = np.random.default_rng(1)
    given = [rng.standard_normal(3) for _ in range(VECTORS[function])]
    outs, out = out_for(call, given)
    call(given, out=out)
    near = [x.copy() for x in outs]
    given[0] = given[0] + 2.0 * np.pi * 2.0**31
    call(given, out=out)
    for x, y in zip(outs, near, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-4 * np.max(np.abs(y)))
