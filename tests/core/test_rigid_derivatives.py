"""The compiled derivatives against differences of order six of the compiled dynamics, taken along `integrate`; against
the reference engine and Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from tests.peers.to_pinocchio import InPinocchio

import soacraft as sc
from soacraft import _core
from soacraft import dynamics as dyn
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import REFERENCE
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_inertia, random_pose

HOLONOMIC = [hinge for hinge in examples() if hinge.holonomic]
GRAVITY = (1.5, -2.0, -9.0)
STENCIL = np.array([[-3, -1 / 60], [-2, 9 / 60], [-1, -45 / 60], [1, 45 / 60], [2, -9 / 60], [3, 1 / 60]])
BOTH = ("inverse", "forward")


class Kernels:
    """The kernels of one model with what its base hangs from moving, and with forces that turn with the bodies."""

    def __init__(self, mb, moving=False, pulled=False, seed=0):
        rng = np.random.default_rng(seed)
        self.mb, self.compiled = mb, CompiledModel(mb.layout)
        self.base = rng.standard_normal(12) * moving
        self.base[9:] -= mb.gravity
        self.pull = 5.0 * rng.standard_normal(6 * len(mb.bodies)) if pulled else None
        self.q = mb.random_state(rng)[0]
        self.v, self.x = rng.standard_normal((2, mb.nv))

    def dynamics(self, which, q, v):
        """Forces or accelerations of a batch of states."""
        out = np.empty((max(len(q), len(v)), self.mb.nv))
        assert self._run(f"{which}_dynamics", q, v, self.x, (out,))
        return out

    def derivatives(self, which, q=None, v=None, x=None, threads=1):
        """The three derivatives at one state, or of a batch; None when the kernel gives up."""
        q, v, x = (own if given is None else given for own, given in ((self.q, q), (self.v, v), (self.x, x)))
        count, nv = len(np.atleast_2d(q)), self.mb.nv
        out = tuple(np.full((count, nv * nv), np.nan) for _ in range(3))
        if not self._run(f"{which}_dynamics_derivatives", q, v, x, out, threads):
            return None
        return tuple(y.reshape(count, nv, nv)[0] if np.ndim(q) == 1 else y.reshape(count, nv, nv) for y in out)

    def _run(self, algorithm, q, v, x, out, threads=1):
        return self.compiled.kernels.run(algorithm, q, v, x, self.pull, self.base, out, threads)

    def differences(self, which, step):
        """The derivatives along q and v."""
        moves = step * (STENCIL[:, :1, None] * np.eye(self.mb.nv)).reshape(-1, self.mb.nv)
        along_q = self.dynamics(which, np.ascontiguousarray(self.mb.integrate(self.q, moves)), self.v)
        along_v = self.dynamics(which, np.tile(self.q, (len(moves), 1)), self.v + moves)
        shape = (len(STENCIL), self.mb.nv, self.mb.nv)
        return [np.einsum("s,sji->ij", STENCIL[:, 1] / step, y.reshape(shape)) for y in (along_q, along_v)]


def error(ours, theirs):
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


def check(kernels, tolerance=3e-9):
    mb = kernels.mb
    M = dyn.mass_matrix(mb, kernels.q)
    for which in BOTH:
        dq, dv, dx = kernels.derivatives(which)
        theirs = kernels.differences(which, 1e-3 if which == "inverse" else 3e-4)
        for ours, their in zip((dq, dv), theirs, strict=True):
            assert error(ours, their) < tolerance
        assert np.array_equal(dx, dx.T)
        assert error(dx if which == "inverse" else dx @ M, M if which == "inverse" else np.eye(mb.nv)) < 1e-10


def in_order(mb):
    """Whether the user's dofs are in the order of the elements."""
    v = CompiledModel(mb.layout).v_starts.tolist()
    return v == sorted(v)


# -- against differences -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hinge", HOLONOMIC, ids=lambda hinge: type(hinge).__name__)
def test_a_chain_of_one_kind(hinge):
    mb = sc.random_tree(3, 1, [hinge], branching=0.0, gravity=GRAVITY)
    if mb.nv:
        check(Kernels(mb, moving=True, pulled=True))


@pytest.mark.parametrize("hinge", HOLONOMIC, ids=lambda hinge: type(hinge).__name__)
def test_each_hinge_between_others(hinge):
    """In the middle of a tree: what is inboard and outboard of it moves too, on its branch and on another."""
    mb = sc.Multibody("tree", GRAVITY)
    rng = np.random.default_rng(4)
    around = [("a", None, sc.Pin((1, 2, 3))), ("b", "a", hinge), ("c", "b", sc.Prismatic((1, 0, 1)))]
    around += [("d", "b", sc.Pin((0, 1, 1))), ("e", "a", sc.Pin((1, 0, 2)))]
    for name, parent, kind in around:
        mb.add_body(name, parent, kind, random_inertia(rng), random_pose(rng), random_pose(rng))
    check(Kernels(mb, pulled=True, seed=3))


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_every_kind(seed):
    """Several bases, any branching, dofs in an order of the user's, bases that move, forces that turn with bodies."""
    mb = sc.random_tree(14 + seed, seed, HOLONOMIC, (0.0, 0.4, 1.0)[seed % 3], bases=1 + seed % 3, gravity=GRAVITY)
    assert in_order(mb) == (seed % 3 == 0)
    check(Kernels(mb, moving=seed % 2 == 1, pulled=seed % 2 == 0, seed=seed), 1e-8)


def test_free_and_spherical_hinges_far_out():
    hinges = [sc.Free(), sc.Spherical(), sc.Free(), sc.Spherical(), sc.Pin((0, 0, 1))]
    check(Kernels(sc.random_tree(10, 3, hinges, 0.5, gravity=GRAVITY), moving=True, pulled=True), 1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_trees_with_armature(seed):
    """Rotors on hinges of every kind, on some of their dofs none."""
    mb = sc.random_tree(12 + seed, seed, HOLONOMIC, (0.0, 0.4, 1.0)[seed % 3], bases=1 + seed % 2, gravity=GRAVITY)
    rng = np.random.default_rng(seed)
    for body in mb.bodies:
        body.armature = rng.uniform(0.0, 2.0, body.hinge.nv) * (rng.random(body.hinge.nv) < 0.7)
    check(Kernels(mb, moving=seed % 2 == 1, pulled=seed % 2 == 0, seed=seed), 1e-8)


def test_armature_that_overflows_is_noticed():
    """A turn of so many radians for each unit of q that its inertia is 1e298."""
    mb = sc.Multibody("fast")
    mb.add_body("body", None, sc.Screws([(0, 0, 1e149, 0, 0, 0)]), sc.Inertia.sphere(2.5, 1.0))
    still = np.zeros(1)
    assert Kernels(mb).derivatives("inverse", still, still, still) is not None
    mb.bodies[0].armature = np.finfo(float).max
    assert Kernels(mb).derivatives("inverse", still, still, still) is None


# -- against others ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", BOTH)
@pytest.mark.parametrize("n", [1, 5, 8, 9, 30, 70])
def test_against_the_reference(n, which):
    """Below, at and beyond the width of a register and of a strip of columns; in the user's order or not."""
    for branching in (0.0, 0.6):
        mb = sc.random_tree(n, n, [sc.Pin((1, 2, 3)), sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0))], branching)
        kernels = Kernels(mb)
        given = {"q": kernels.q, "v": kernels.v, "vdot" if which == "inverse" else "force": kernels.x}
        theirs = REFERENCE.run(Problem(f"{which}_dynamics_derivatives", mb, given))
        for ours, their in zip(kernels.derivatives(which), theirs, strict=True):
            assert error(ours, their) < 1e-12 * n


def test_against_pinocchio():
    hinges = [sc.Free(), sc.Pin((1, 2, 3)), sc.Spherical(), sc.Prismatic((0, 1, 2)), sc.Pin((0, 1, 0))]
    mb = sc.random_tree(25, 4, hinges, gravity=GRAVITY)
    kernels = Kernels(mb)
    mb.set_state(kernels.q, kernels.v)
    peer = InPinocchio(mb)
    N, N_inv = peer.N, peer.N_inv
    pin.computeRNEADerivatives(peer.model, peer.data, peer.q, peer.w, N @ kernels.x)
    dq, dv, _ = kernels.derivatives("inverse")
    assert error(dq, N.T @ peer.data.dtau_dq @ N) < 1e-12
    assert error(dv, N.T @ peer.data.dtau_dv @ N) < 1e-12
    pin.computeABADerivatives(peer.model, peer.data, peer.q, peer.w, N_inv.T @ kernels.x)
    dq, dv, _ = kernels.derivatives("forward")
    assert error(dq, N_inv @ peer.data.ddq_dq @ N) < 1e-11
    assert error(dv, N_inv @ peer.data.ddq_dv @ N) < 1e-11


def test_a_long_chain_loses_no_more_digits_than_pinocchio():
    """d vdot = -M^-1 d tau, with d tau from the other kernel: the residual of a hundred bodies."""
    mb = sc.Multibody("chain")
    rng = np.random.default_rng(0)
    for k in range(100):
        hinge = sc.Pin((0, 1, 0) if k % 2 else (0, 0, 1))
        mb.add_body(f"{k}", f"{k - 1}" if k else None, hinge, random_inertia(rng), sc.Pose(translation=(0, 0, 0.3)))
    kernels = Kernels(mb)
    mb.set_state(kernels.q, kernels.v)
    peer = InPinocchio(mb)
    vdot = kernels.dynamics("forward", kernels.q[None], kernels.v[None])[0]
    tau_q, tau_v, M = kernels.derivatives("inverse", x=vdot)
    dq, dv, _ = kernels.derivatives("forward")
    pin.computeABADerivatives(peer.model, peer.data, peer.q, peer.w, kernels.x)
    for ours, theirs, tau in ((dq, peer.data.ddq_dq, tau_q), (dv, peer.data.ddq_dv, tau_v)):
        assert np.abs(M @ ours + tau).max() < 10 * np.abs(M @ theirs + tau).max()


@pytest.mark.parametrize("which", BOTH)
def test_where_the_base_stands_does_not_matter(which):
    """A free base a thousand kilometres away costs no digits."""
    mb = sc.Multibody("floating")
    rng = np.random.default_rng(2)
    mb.add_body("base", None, sc.Free(), random_inertia(rng))
    for name, parent in (("a", "base"), ("b", "a"), ("c", "a"), ("d", "base")):
        mb.add_body(name, parent, sc.Pin((1, 2, 3)), random_inertia(rng), random_pose(rng))
    kernels = Kernels(mb)
    near = kernels.derivatives(which)
    kernels.q[4:7] += (1e6, -2e6, 3e6)
    for a, b in zip(near, kernels.derivatives(which), strict=True):
        assert np.array_equal(a, b)


# -- batches, refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", BOTH)
def test_batches_are_loops_whatever_the_threads(which):
    mb = sc.random_tree(8, 5, HOLONOMIC, 0.5, gravity=GRAVITY)
    kernels, rng = Kernels(mb, pulled=True), np.random.default_rng(1)
    q = np.array([mb.random_state(rng)[0] for _ in range(11)])
    v, x = rng.standard_normal((2, 11, mb.nv))
    together = kernels.derivatives(which, q, v, x, threads=3)
    for i in range(11):
        for one, many in zip(kernels.derivatives(which, q[i], v[i], x[i]), together, strict=True):
            assert np.array_equal(one, many[i])


@pytest.mark.parametrize("which", BOTH)
def test_a_handle_gives_the_same(which):
    mb = sc.random_tree(9, 1, HOLONOMIC, 0.5)
    kernels = Kernels(mb)
    call = getattr(sc.Dynamics(mb), f"{which}_dynamics_derivatives")
    out = tuple(np.empty((mb.nv, mb.nv)) for _ in range(3))
    assert call(kernels.q, kernels.v, kernels.x, out=out)[0] is out[0]
    for one, other, kernel in zip(out, call(kernels.q, kernels.v, kernels.x), kernels.derivatives(which), strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, kernel)


def test_a_massless_tip_has_no_forward_dynamics():
    mb = sc.Multibody("tip")
    mb.add_body("arm", None, sc.Pin((0, 0, 1)), sc.Inertia.point(1.0, (1, 0, 0)))
    mb.add_body("tip", "arm", sc.Pin((0, 1, 0)))
    assert Kernels(mb).derivatives("forward") is None
    assert Kernels(mb).derivatives("inverse") is not None


@pytest.mark.parametrize("which", BOTH)
def test_numbers_that_overflow_are_told(which):
    mb = sc.random_tree(9, 1, HOLONOMIC, 0.5)
    kernels = Kernels(mb)
    assert kernels.derivatives(which, v=1e200 * kernels.v) is None
    assert kernels.derivatives(which, x=np.full(mb.nv, 1e308)) is None


@pytest.mark.parametrize("which", BOTH)
def test_rolling_balls_do_no_harm(which):
    """The functions refuse them; a kernel that meets one leaves everything in its place."""
    mb = sc.random_tree(4, 1, [sc.RollingBall(0.5), sc.Pin((1, 0, 0))], 0.5)
    found = Kernels(mb).derivatives(which)
    assert found is None or all(np.isfinite(y).all() for y in found)


def test_no_dofs():
    mb = sc.Multibody("post")
    mb.add_body("post", None, sc.Weld(), sc.Inertia.point(1.0, (0, 0, 1)))
    for which in BOTH:
        assert all(y.shape == (0, 0) for y in Kernels(mb).derivatives(which))


def test_the_kernels_are_there():
    assert {"inverse_dynamics_derivatives", "forward_dynamics_derivatives"} <= set(_core.algorithms())
