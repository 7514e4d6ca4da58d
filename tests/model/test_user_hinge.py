"""A user's own hinge in a model: one configuration at a time, on the same footing as the built-in ones."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.model import AXES, Multibody, random_inertia, random_pose
from soacraft.model.hinges import Hinge, Pin, Universal
from soacraft.spatial import Pose, from_axis_angle


class Cardan(Hinge):
    """A universal hinge about x then y, written by a user: no batches, no derivatives."""

    nq = nv = 2

    def neutral(self):
        return np.zeros(2)

    def pose(self, q):
        assert q.shape == (2,)
        return Pose(from_axis_angle((1, 0, 0), q[0]) @ from_axis_angle((0, 1, 0), q[1]))

    def H_T(self, q):
        c, s = np.cos(q[1]), np.sin(q[1])
        return np.array([[c, 0], [0, 1], [s, 0], [0, 0], [0, 0], [0, 0]])


def model(hinge):
    rng = np.random.default_rng(4)
    mb = Multibody("m")
    for k, each in enumerate((Pin((0, 0, 1)), hinge, Pin((1, 0, 0)), hinge)):
        parent = None if k == 0 else f"body{k}"
        mb.add_body(f"body{k + 1}", parent, each, random_inertia(rng), random_pose(rng), random_pose(rng))
    mb.set_state(*mb.random_state(3), vdot=np.ones(mb.nv))
    return mb


@pytest.mark.parametrize("axes", AXES)
def test_it_equals_the_built_in_hinge(axes):
    mine, theirs = model(Cardan()), model(Universal((1, 0, 0), (0, 1, 0)))
    Q = np.stack([theirs.random_state(k)[0] for k in range(3)])
    V = np.stack([theirs.random_state(k)[1] for k in range(3)])
    one, two = mine.sko(mine.state(Q, V), axes), theirs.sko(theirs.state(Q, V), axes)
    for k in one.nodes:
        for name in ("H", "M", "a", "b"):
            np.testing.assert_allclose(getattr(one, name)(k), getattr(two, name)(k), atol=1e-8)
    np.testing.assert_allclose(mine.integrate(Q, V), theirs.integrate(Q, V))
    mine.set_state(Q[0], V[0])
    theirs.set_state(Q[0], V[0])
    np.testing.assert_allclose(mine.acceleration("body4"), theirs.acceleration("body4"), atol=1e-8)


def test_its_wrong_results_are_refused():
    class Bad(Cardan):
        def H_T(self, q):
            return np.zeros((2, 6))

    class Lost(Cardan):
        def neutral(self):
            return np.zeros(3)

    mb = Multibody("m")
    mb.add_body("a", None, Bad())
    with pytest.raises(ModelError, match=r"Bad.H_T must return an array of shape \(1, 6, 2\)|\(6, 2\)"):
        mb.sko()
    mb = Multibody("m")
    mb.add_body("a", None, Lost())
    with pytest.raises(ModelError, match=r"neutral\(\) of Lost\(\) must have shape \(2,\), got shape \(3,\)"):
        mb.q  # noqa: B018


class Bracket(Hinge):
    """No dofs: a constant offset that is not the identity. With `size` its length is a coordinate that never moves."""

    neutral_is_identity = False

    def __init__(self, nq=0, batched=False):
        self.nq, self.nv, self.batched = nq, 0, batched

    def neutral(self):
        return np.full(self.nq, 0.2)

    def pose(self, q):
        lead = np.shape(q)[:-1]
        p = np.zeros((*lead, 3))
        p[..., 0] = np.asarray(q)[..., 0] if self.nq else 0.2
        return Pose.unchecked(np.broadcast_to(np.eye(3), (*lead, 3, 3)).copy(), p)

    def H_T(self, q):
        return np.zeros((*np.shape(q)[:-1], 6, 0))

    def qdot(self, q, v):
        return np.zeros((*np.shape(q)[:-1], self.nq))

    def integrate(self, q, dv):
        return np.array(q, dtype=float)

    def difference(self, q0, q1):
        return np.zeros((*np.shape(q0)[:-1], 0))


BRACKETS = [Bracket(), Bracket(batched=True), Bracket(1), Bracket(1, batched=True)]


@pytest.mark.parametrize("hinge", BRACKETS, ids=repr)
def test_a_hinge_without_dofs_is_a_weld(hinge):
    """The same motion, operators and derivatives as with `Weld` and the offset in `inboard`."""
    assert sc.check_hinge(hinge).ok

    def build(middle, inboard):
        mb = sc.Multibody("arm")
        mb.add_body("a", None, Pin((0, 1, 0)), random_inertia(1))
        mb.add_body("b", "a", middle, random_inertia(2), inboard)
        mb.add_body("c", "b", sc.Universal((1, 0, 0), (0, 1, 0)), random_inertia(3), Pose(translation=(0, 0.1, 0.3)))
        return mb

    own, welded = build(hinge, None), build(sc.Weld(), Pose(translation=(0.2, 0, 0)))
    v, force = np.array([0.5, -0.4, 0.3]), np.array([1.0, 2.0, 3.0])
    angles = np.array([0.3, -0.7, 0.4])
    q = np.insert(angles, 1, [0.2] * hinge.nq)
    for function, one, other in (
        ("forward_dynamics", (q, v, force), (angles, v, force)),
        ("inverse_dynamics", (q, v, force), (angles, v, force)),
        ("mass_matrix", (q,), (angles,)),
        ("forward_dynamics_derivatives", (q, v, force), (angles, v, force)),
        ("velocities", (q, v), (angles, v)),
    ):
        found, expected = (getattr(sc.dynamics, function)(mb, *x) for mb, x in ((own, one), (welded, other)))
        if function.endswith("derivatives"):
            found, expected = np.concatenate(found), np.concatenate(expected)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-9, atol=1e-9)
    own.set_state(q, v)
    welded.set_state(angles, v)
    s, w = sc.operators(own), sc.operators(welded)
    expressions = [(x.P.dot(), x.D.inv, x.H.dot(), x.phi.diff("a")) for x in (s, w)]
    for x, y in zip(*expressions, strict=True):
        np.testing.assert_allclose(x.array(), y.array(), atol=1e-9)
    np.testing.assert_allclose(s.C, w.C, atol=1e-9)
    with pytest.raises(ModelError, match="which has no dofs to differentiate along"):
        s.phi.diff("b")
    assert sc.check(own).ok
    assert own.dof_names == ("a", "c.0", "c.1")
    assert f"b  {hinge!r}" in str(own.tree())
    np.testing.assert_array_equal(own.integrate(q, v)[: 1 + hinge.nq], [q[0] + v[0], *[0.2] * hinge.nq])


@pytest.mark.parametrize("nv", [7, -1, 1.0, True, None])
def test_sizes_that_no_hinge_has_are_refused(nv):
    hinge = Bracket()
    hinge.nv = nv
    for use in (lambda: sc.check_hinge(hinge), lambda: sc.Multibody("m").add_body("b", None, hinge)):
        with pytest.raises(ModelError, match=r"must be a whole number from 0 to 6, got"):
            use()
