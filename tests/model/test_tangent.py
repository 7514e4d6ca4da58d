"""`integrate`, `difference` and their Jacobians: kernels against the hinges, differences, Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

import soacraft as sc
from soacraft.errors import StateError
from soacraft.model.hinges import examples
from soacraft.model.states import tangent

FUNCTIONS = ("integrate", "difference", "integrate_jacobians", "difference_jacobians")
every = pytest.mark.parametrize("name", FUNCTIONS)
STEP = 1e-5


def tree(holonomic=True, seed=1):
    hinges = [hinge for hinge in examples() if hinge.holonomic or not holonomic]
    return sc.random_tree(len(hinges), seed, hinges, branching=0.5)


def states(mb, batch, seed, size=1.0):
    """q, another q, dv."""
    rng = np.random.default_rng(seed)
    q = [np.array([mb.random_state(rng)[0] for _ in range(int(np.prod(batch)))]).reshape(*batch, -1) for _ in range(2)]
    return *q, size * rng.standard_normal((*batch, mb.nv))


def arguments(name, q, other, dv):
    return (q, other) if name.startswith("difference") else (q, dv)


def close(found, wanted, tolerance=1e-12):
    for x, y in zip(*((z if isinstance(z, tuple) else (z,)) for z in (found, wanted)), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


@every
@pytest.mark.parametrize("size", [0.0, 1e-4, 1.9, 2.1, 3.1, 40.0])
@pytest.mark.parametrize("batch", [(), (7,)])
def test_the_kernel_does_what_the_hinges_do(name, size, batch):
    mb = tree()
    args = arguments(name, *states(mb, batch, 3, size))
    found = getattr(mb, name)(*args)
    assert (mb.layout.calls[name].answered, mb.layout.calls[name].passed_on) == (1, 0)
    close(found, getattr(tangent, name)(mb, *args))
    part = mb.subgraph(list(mb.bodies[3].subtree()))
    args = arguments(name, *states(part, batch, 3, size))
    close(getattr(part, name)(*args), getattr(tangent, name)(part, *args))


def test_a_ball_rolls_in_the_kernel_too():
    mb = tree(holonomic=False)
    q, other, dv = states(mb, (5,), 2)
    close(mb.integrate(q, dv), tangent.integrate(mb, q, dv))
    assert mb.layout.calls["integrate"].answered == 1
    with pytest.raises(StateError, match=r"has no difference\(q0, q1\): it is nonholonomic"):
        mb.difference(q, other)
    for name in FUNCTIONS[2:]:
        text = rf"^{name} of 'random tree': hinge '\w+' \(RollingBall.*is nonholonomic, so its 3 dofs do not span"
        with pytest.raises(StateError, match=text):
            getattr(mb, name)(*arguments(name, q, other, dv))


@pytest.mark.parametrize("size", [1e-3, 1.0, 2.5, 9.0])
def test_jacobians_by_differences(size):
    mb = tree()
    q, other, dv = states(mb, (), 4, size)
    moved = mb.integrate(q, dv)

    def rates(move):
        steps = STEP * np.eye(mb.nv)
        return np.stack([(move(d) - move(-d)) / (2 * STEP) for d in steps], axis=-1)

    close(mb.integrate_jacobians(q, dv), (
        rates(lambda d: mb.difference(moved, mb.integrate(mb.integrate(q, d), dv))),
        rates(lambda d: mb.difference(moved, mb.integrate(q, dv + d))),
    ), 1e-8)  # fmt: skip
    close(mb.difference_jacobians(q, other), (
        rates(lambda d: mb.difference(mb.integrate(q, d), other)),
        rates(lambda d: mb.difference(q, mb.integrate(other, d))),
    ), 1e-8)  # fmt: skip


def test_pinocchio_moves_and_varies_alike():
    """A free base; linear parts come first there."""
    mb = sc.Multibody()
    mb.add_body("body", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    theirs = pin.Model()
    theirs.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    swap = np.eye(6)[[3, 4, 5, 0, 1, 2]]

    def to(q):
        return np.concatenate([q[4:], q[:4]])

    for size in (1e-3, 0.7, 2.8):
        q, other, dv = states(mb, (), 5, size)
        ours, there = to(mb.integrate(q, dv)), pin.integrate(theirs, to(q), swap @ dv)
        close(ours, np.concatenate([there[:3], there[3:] * np.sign(there[3:] @ ours[3:])]))  # q and -q are one attitude
        close(swap @ mb.difference(q, other), pin.difference(theirs, to(q), to(other)))
        wanted = [swap.T @ J @ swap for J in pin.dIntegrate(theirs, to(q), swap @ dv)]
        close(mb.integrate_jacobians(q, dv), tuple(wanted), 1e-10)
        wanted = [swap.T @ J @ swap for J in pin.dDifference(theirs, to(q), to(other))]
        close(mb.difference_jacobians(q, other), tuple(wanted), 1e-10)


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free()])
@pytest.mark.parametrize("axis", [(1, 0, 0), (-1, 0, 0), (0, -1, 0), (0, 0, -1), (0, 0.6, -0.8), (-0.6, 0.8, 0)])
def test_half_a_turn(hinge, axis):
    """Both signs are right; kernel and hinge agree on one."""
    mb = sc.Multibody()
    mb.add_body("body", hinge=hinge)
    q0 = np.array(mb.neutral())
    q1 = q0.copy()
    q1[:4] = *axis, 0.0
    found = mb.difference(q0, q1)
    close(found, tangent.difference(mb, q0, q1))
    assert np.linalg.norm(found[:3]) == pytest.approx(np.pi)


class Doubled(sc.Pin):
    """A pin of the user's own whose coordinate moves twice as far."""

    def integrate(self, q, dv):
        return np.asarray(q) + 2.0 * np.asarray(dv)

    def difference(self, q0, q1):
        return 0.5 * (np.asarray(q1) - np.asarray(q0))


def test_a_hinge_of_the_users_own():
    mb = sc.serial_chain(2, Doubled((0, 0, 1)))
    q, dv = np.array([0.1, 0.2]), np.array([1.0, -1.0])
    close(mb.integrate(q, dv), q + 2 * dv)
    close(mb.integrate_jacobians(q, dv), (np.eye(2), np.eye(2)), 1e-9)
    close(mb.difference_jacobians(q, dv), (-np.eye(2), np.eye(2)), 1e-9)


@every
def test_refusals(name):
    mb = tree()
    q, other, dv = states(mb, (4,), 6)
    args = arguments(name, q, other, dv)
    for i, x in enumerate(args):
        bad = [*args[:i], x.copy(), *args[i + 1 :]]
        bad[i][2, -1] = np.inf
        with pytest.raises(StateError, match="must be finite"):
            getattr(mb, name)(*bad)
        with pytest.raises(StateError, match="entries, got"):
            getattr(mb, name)(*[*args[:i], x[..., :-1], *args[i + 1 :]])
    ball = next(body for body in mb.bodies if isinstance(body.hinge, sc.Spherical))
    long = q.copy()
    long[1, mb.q_slice(ball)] *= 1.1
    with pytest.raises(StateError, match="unit"):
        getattr(mb, name)(long, args[1])


def test_what_overflows_is_refused():
    mb = sc.serial_chain(2)
    with pytest.raises(StateError, match=r"integrate\(q, dv\) of 'chain' is not finite"):
        mb.integrate(np.full(2, 1.5e308), np.full(2, 1.5e308))
