"""Move and squeeze, and sharing a load: the formulas, optimality, and a closed chain that stays where it is held."""

import numpy as np
import pytest
from tests.loops.cases import near
from tests.robot.control.cases import arms

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, SingularError, StateError
from soacraft.robot import Holding, balance_load, move_squeeze


def random_W(rng, n):
    X = rng.standard_normal((n, n))
    return X @ X.T + np.eye(n)


def carriers(hands=2):
    """Arms of 7 dofs and a free box, each held by a weld between a node on the hand and one on the box."""
    rb, palms = arms(hands=hands, how="loops")
    return rb.mb, palms


# -- the formulas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighed", [False, True])
def test_move_and_squeeze_by_the_printed_formula(weighed):
    """A# = W^-1 A* (A W^-1 A*)^-1, f_move = A# A f; the two parts are W-orthogonal and the squeeze does nothing."""
    rng = np.random.default_rng(0)
    A, f = rng.standard_normal((6, 18)), rng.standard_normal((4, 18))
    W = random_W(rng, 18) if weighed else np.eye(18)
    A_sharp = np.linalg.solve(W, A.T) @ np.linalg.inv(A @ np.linalg.solve(W, A.T))
    move, squeeze = move_squeeze(A, f, W if weighed else None)
    near(move, f @ (A_sharp @ A).T, 1e-10)
    near(squeeze, f - f @ (A_sharp @ A).T, 1e-10)
    near(squeeze @ A.T, np.zeros((4, 6)), 1e-10)
    near(np.einsum("ij,jk,ik->i", move, W, squeeze), np.zeros(4), 1e-10)


def test_a_diagonal_weight_may_be_a_vector():
    rng = np.random.default_rng(1)
    A, f, w = rng.standard_normal((6, 12)), rng.standard_normal(12), rng.uniform(0.5, 2.0, 12)
    np.testing.assert_array_equal(move_squeeze(A, f, w)[0], move_squeeze(A, f, np.diag(w))[0])


def test_the_load_is_balanced_best():
    """The KKT system of min |T + J* f|_W with A f = A f0, and no other f of the same effect is better."""
    rng = np.random.default_rng(2)
    A, J = rng.standard_normal((6, 12)), rng.standard_normal((12, 14))
    T, f0 = rng.standard_normal(14), rng.standard_normal(12)
    W = random_W(rng, 14)
    f = balance_load(A, J, T, f0, W)
    K = np.block([[J @ W @ J.T, A.T], [A, np.zeros((6, 6))]])
    expected = np.linalg.solve(K, np.concatenate([-J @ W @ T, A @ f0]))[:12]
    near(f, expected, 1e-9)
    N = np.linalg.svd(A)[2][6:].T
    cost = [x @ W @ x for s in np.vstack([np.zeros(6), rng.standard_normal((20, 6))]) for x in [T + J.T @ (f + N @ s)]]
    assert min(cost[1:]) > cost[0]


def test_of_many_equal_loads_the_nearest_is_taken():
    """Where J* does not feel a squeeze, it is left as it is in f0."""
    f = balance_load([[1.0, 1.0]], np.ones((2, 1)), [0.3], [5.0, -1.0])
    near(f, [5.0, -1.0], 1e-12)


# -- on a model ---------------------------------------------------------------------------------------------------


def test_the_object_feels_the_sum_of_the_hands():
    """A f against moments and forces carried over in inertial axes."""
    mb, palms = carriers(hands=3)
    hold = Holding(mb, "box", palms)
    f = np.random.default_rng(5).standard_normal(18)
    box, total = mb.pose("box"), np.zeros(6)
    for name, part in zip(palms, f.reshape(3, 6), strict=True):
        T = mb.pose(name)
        moment, force = T.rotation @ part[:3], T.rotation @ part[3:]
        total += [*(moment + np.cross(T.translation - box.translation, force)), *force]
    near(hold.A @ f, [*(box.rotation.T @ total[:3]), *(box.rotation.T @ total[3:])], 1e-12)
    near(hold.J, dyn.jacobian(mb, mb.q, palms, expressed_in="node"), 1e-14)
    assert hold.rank == 6
    assert "Holding of 'box' in 'carriers' at 'hand0/palm', 'hand1/palm'" in repr(hold)


def test_a_shared_load_keeps_the_closed_chain_at_rest():
    """With the forces of `share` in the arms and none at the box: vdot = 0, and the multipliers are the wrenches."""
    mb, palms = carriers()
    mb.v = np.zeros(mb.nv)
    T = dyn.inverse_dynamics(mb, mb.q, mb.v, np.zeros(mb.nv), ignore_loops=True)
    box = mb.v_slice("box")
    needed = T[box]  # of a free hinge at the body frame: the wrench that holds the box, in its axes
    empty = np.array(T)
    empty[box] = 0.0
    load = Holding(mb, "box", palms).share(needed, empty)
    near(load.force[box], np.zeros(6), 1e-12)
    for solver in (sc.loops.TreeAugmented(mb), sc.loops.FullyAugmented(mb)):
        r = solver.forward_dynamics(mb.q, mb.v, load.force)
        near(r.vdot, np.zeros(mb.nv), 1e-8)
        for i, palm in enumerate(palms):
            near(r.multipliers[f"grasp{i}"], load.wrenches[palm], 1e-7)


def test_sharing_takes_less_than_any_other_way():
    mb, palms = carriers()
    hold = Holding(mb, "box", palms)
    needed, T = np.array([0.1, -0.2, 0.3, 1.0, 2.0, 20.0]), np.random.default_rng(0).standard_normal(mb.nv)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, mb.nv)
    load = hold.share(needed, T, weight)
    near(hold.A @ load.f, needed, 1e-10)
    near(np.concatenate([load.wrenches[x] for x in palms]), load.f, 0.0)
    f0 = np.linalg.pinv(hold.A) @ needed
    _, squeeze = hold.split(np.random.default_rng(2).standard_normal((10, 12)))
    for f in (f0, *(load.f + squeeze)):
        other = T + hold.J.T @ f
        assert other @ (weight * other) > load.force @ (weight * load.force)


def test_two_point_contacts_squeeze_along_their_line():
    mb, palms = carriers()
    hold = Holding(mb, "box", palms, transmits="force")
    assert hold.A.shape == (6, 6)
    assert hold.rank == 5
    f = np.random.default_rng(0).standard_normal(6)
    _, squeeze = hold.split(f)
    line = mb.pose(palms[1]).translation - mb.pose(palms[0]).translation
    line = line / np.linalg.norm(line)
    turns = [mb.pose(x).rotation for x in palms]
    given, forces = ([R @ part for R, part in zip(turns, x.reshape(2, 3), strict=True)] for x in (f, squeeze))
    expected = 0.5 * line * (line @ (given[0] - given[1]))
    near(forces[0], expected, 1e-12)
    near(forces[1], -expected, 1e-12)


def test_a_wrench_that_hands_cannot_give_is_refused():
    """Two point contacts give no moment about their line."""
    mb, palms = carriers()
    hold = Holding(mb, "box", palms, transmits="force")
    ends = [mb.pose(x, relative_to="box").translation for x in palms]
    line = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    text = (
        r"hands at 'hand0/palm', 'hand1/palm' cannot give 'box' this wrench: a moment of .* N m and a force of .* N "
        r"are left over\. A has rank 5; hold it at more points"
    )
    with pytest.raises(SingularError, match=text):
        hold.share([*line, 0, 0, 0])
    middle = np.cross(ends[0], [1.0, 2.0, 3.0])
    near(hold.A @ hold.share([*middle, 1.0, 2.0, 3.0]).f, [*middle, 1.0, 2.0, 3.0], 1e-10)


def test_holding_elsewhere_than_at_the_current_state():
    mb, palms = carriers()
    q = mb.random_state(9)[0]
    A = Holding(mb, "box", palms, q=q).A
    mb.q = q
    np.testing.assert_array_equal(A, Holding(mb, "box", palms).A)


H = Holding


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda mb, x: H("mb", "box", x), ModelError, "Holding takes a Multibody or a sub-graph of one, got 'mb'"),
        (lambda mb, x: H(mb, "bix", x), ModelError, "has no frame 'bix'; did you mean 'box'"),
        (lambda mb, x: H(mb, "box", ["hand9/palm"]), ModelError, "has no frame 'hand9/palm'"),
        (lambda mb, x: H(mb, "box", []), ModelError, "Holding of 'box' needs at least one node that holds it"),
        (lambda mb, x: H(mb, "box", [x[0], x[0]]), ModelError, "names the node 'hand0/palm' twice"),
        (lambda mb, x: H(mb, "box", ["box/grip0"]), ModelError, "node 'box/grip0' is on the object 'box' itself"),
        (lambda mb, x: H(mb, "box", ["inertial"]), ModelError, "is on the inertial frame, which does not move"),
        (lambda mb, x: H(mb, "box", x, transmits="glue"), ModelError, "must be 'wrench' or 'force', got 'glue'"),
        (lambda mb, x: H(mb, "box", x, q=[mb.q, mb.q]), StateError, r"takes one configuration, got a batch \(2,\)"),
        (lambda mb, x: H(mb, "box", x, q=[0.0]), StateError, "q of 'carriers' has 25 entries, got 1"),
        (lambda mb, x: H(mb, "box", x).share([0, 0, 0, 0, 0]), StateError, r"wrench on 'box' must have shape \(6,\)"),
        (lambda mb, x: H(mb, "box", x).share([0, 0, 0, 0, 0, np.nan]), StateError, "wrench on 'box' must be finite"),
        (lambda mb, x: H(mb, "box", x).share(np.ones(6), [1.0]), StateError, "force of 'carriers' has 20 entries"),
        (lambda mb, x: H(mb, "box", x).share(np.ones(6), np.ones((2, 20))), StateError, r"got a batch \(2,\)"),
        (lambda mb, x: H(mb, "box", x).split(np.ones(6)), StateError, r"f of move_squeeze must have shape \(..., 12\)"),
        (lambda mb, x: H(mb, "box", x).split(np.ones(12), -np.ones(12)), StateError,
         "weight of move_squeeze must be positive definite; its smallest eigenvalue is -1"),
        (lambda mb, x: move_squeeze(np.eye(2), [1, 2], [[1, 1], [0, 1]]), StateError, "weight .* must be symmetric"),
        (lambda mb, x: move_squeeze(np.eye(2), [1, 2], np.ones((3, 2))), StateError, r"have shape \(2,\) or \(2, 2\)"),
        (lambda mb, x: move_squeeze(np.eye(2), [1, 2], "even"), StateError, "weight .* must be real numbers"),
        (lambda mb, x: balance_load(np.eye(2), np.eye(3), [1, 2], [1, 2]), StateError, "J of balance_load must have"),
    ],
)  # fmt: skip
def test_bad_input_is_named(make, kind, text):
    mb, palms = carriers()
    with pytest.raises(kind, match=text):
        make(mb, palms)


@pytest.mark.parametrize("s", [1e-6, 1.0, 1e6])
def test_whether_hands_can_give_a_wrench_does_not_depend_on_the_unit_of_length(s):
    """The same two hands on the same box, in other units of length: rank, refusal and shares are the same."""
    mb = sc.Multibody("carry")
    for side, x in (("left", -1.0), ("right", 1.0)):
        at = sc.Pose(translation=(x * s, 0.2 * s, 0))
        mb.add_body(side, None, sc.Free(), sc.Inertia(1, (0, 0, 0), np.eye(3) * s**2), at)
    mb.add_body("box", None, sc.Free(), sc.Inertia(2, (0, 0, 0), np.eye(3) * s**2))
    points = sc.robot.Holding(mb, "box", ["left", "right"], transmits="force")
    assert points.rank == 5  # nothing turns it about the line between two points
    with pytest.raises(SingularError, match="A has rank 5"):
        points.share([1.0 * s, 0, 0, 0, 0, 1.0])
    shared = points.share([2.0 * s, 0.3 * s, 0, 0, 0, 10.0])  # the line is 0.2 from the box
    total = points.A @ shared.f
    assert np.allclose(total / [s, s, s, 1, 1, 1], [2.0, 0.3, 0, 0, 0, 10.0], atol=1e-9)
