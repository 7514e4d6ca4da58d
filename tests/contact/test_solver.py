"""Contact problems solved: the laws themselves, closed forms, peers (clarabel), pyramids against cones, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, optimize
from tests.contact.convex import Peer, compare_associated, compare_coulomb, least_norm
from tests.contact.problems import humanoid_problem, random_problem

import soacraft as sc
from soacraft import _core
from soacraft.contact import Bilateral, Bounded, Cone, Problem


def obeys(problem, r, tolerance):
    """The laws of Coulomb and Signorini written out, not the natural map that the solver lowers.

    Judged in the problem's own sizes: |b| for velocities, |b| / S for impulses.
    """
    at = 0
    for law in problem.laws:
        mine = slice(at, at + law.rows)
        at += law.rows
        p, u = r.p[mine], r.u[mine]
        S = np.diagonal(problem.S)[mine]
        speed = np.sqrt(S) * np.max(np.abs(problem.b) / np.sqrt(np.diagonal(problem.S)))
        impulse = speed / S
        if isinstance(law, Bilateral):
            assert abs(u[0]) <= tolerance * speed[0]
        elif isinstance(law, Bounded):
            assert abs(p[0]) <= law.limit + tolerance * impulse[0]
            if u[0] > tolerance * speed[0]:
                assert p[0] <= -law.limit + tolerance * impulse[0]
            if u[0] < -tolerance * speed[0]:
                assert p[0] >= law.limit - tolerance * impulse[0]
        else:
            mu = np.array(law.coefficients)
            assert p[0] >= -tolerance * impulse[0]
            assert u[0] >= -tolerance * speed[0]
            assert min(p[0] / impulse[0], u[0] / speed[0]) <= tolerance
            if len(mu):
                friction = np.linalg.norm(p[1:] / mu)
                assert friction <= p[0] + tolerance * np.max(impulse)
                slip = mu * u[1:]
                power = -p[1:] @ u[1:]  # dissipation is as large as the cone allows: p_n |mu u_t|
                assert abs(power - p[0] * np.linalg.norm(slip)) <= tolerance * np.max(speed) * np.max(impulse)


SEEDS = range(80)


@pytest.mark.parametrize("laws", [False, True])
def test_random_problems_obey_the_laws(laws):
    """1 to 30 contacts, often with forces that are not unique: residual 1e-9, and the laws written out."""
    for seed in SEEDS:
        problem = random_problem(seed, laws=laws)
        r = problem.solve(tolerance=1e-9)
        assert 0.0 <= r.residual <= 1e-9
        obeys(problem, r, 1e-7)


def test_a_ball_sticks_slides_or_leaves():
    """S = 1/m: sticks where the cone allows; else friction is mu p_n against the slip; no impulse when it leaves."""
    m, e = 2.0, np.eye(3) / 2.0
    stick = Problem(e, [-3.0, 1.0, 0.5], [Cone(0.5)]).solve()
    assert stick.state == ("stick",)
    np.testing.assert_allclose(stick.p, [3 * m, -1 * m, -0.5 * m], atol=1e-12)
    slide = Problem(e, [-3.0, 1.6, 1.2], [Cone(0.5)]).solve()
    assert slide.state == ("slip",)
    np.testing.assert_allclose(slide.p, [3 * m, -0.5 * 3 * m * 0.8, -0.5 * 3 * m * 0.6], atol=1e-12)
    free = Problem(e, [0.1, 1.0, 0.0], [Cone(0.5)]).solve()
    assert free.state == ("open",)
    assert not free.p.any()


def test_spinning_friction_stops_a_spin():
    """A ball that spins on the spot: torque up to p_n spin; angular momentum left is what the cone cannot take."""
    m, inertia, spin = 1.0, 0.1, 0.02
    S = np.diag([1 / m, 1 / m, 1 / m, 1 / inertia])
    r = Problem(S, [-2.0, 0.0, 0.0, 5.0], [Cone((0.5, 0.5, spin))]).solve()
    np.testing.assert_allclose(r.p, [2 * m, 0, 0, -2 * m * spin], atol=1e-12)
    assert Problem(S, [-2.0, 0.0, 0.0, 0.1], [Cone((0.5, 0.5, spin))]).solve().state == ("stick",)


def test_a_hinge_with_dry_friction():
    """|p| <= limit: it stops where it can."""
    S = np.array([[4.0]])
    assert Problem(S, [1.0], [Bounded(1.0)]).solve().p == pytest.approx([-0.25])
    slipping = Problem(S, [1.0], [Bounded(0.1)]).solve()
    assert slipping.p == pytest.approx([-0.1])
    assert slipping.state == ("slip",)
    assert Problem(S, [1.0], [Bounded(0.0)]).solve().p == pytest.approx([0.0])


def box_on_the_ground(corners, m=1.0, half=0.5):
    """Normal rows of points below a box: S of a rigid body of which only heave, roll and pitch count."""
    J = np.array([[1.0, y, -x] for x, y in corners])
    W = np.diag([1 / m, 1 / (m * half**2), 1 / (m * half**2)])
    return J @ W @ J.T


def test_forces_that_are_not_unique_are_of_least_norm():
    """A box that rests on four corners: each takes a quarter, and the result says that others would do."""
    S = box_on_the_ground([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    r = Problem(S, [-1.0] * 4, [Cone(())] * 4).solve()
    assert not r.unique
    np.testing.assert_allclose(r.p, 0.25, atol=1e-7)
    np.testing.assert_allclose(r.u, 0, atol=1e-9)
    three = Problem(S[:3, :3], [-1.0] * 3, [Cone(())] * 3).solve()
    assert three.unique
    assert "least norm" in repr(r)
    assert "least norm" not in repr(three)


def cube_on_its_corners():
    """Rows of a cube's lower four corners, a normal and two tangents each, and their compliance."""
    corners = np.array([(1, 1, -1), (1, -1, -1), (-1, 1, -1), (-1, -1, -1)]) / 2
    axes = ((0, 0, 1), (1, 0, 0), (0, 1, 0))
    J = np.array([np.concatenate([np.cross(r, axis), axis]) for r in corners for axis in axes], dtype=float)
    return J, J @ np.diag([6.0, 6.0, 6.0, 1.0, 1.0, 1.0]) @ J.T


def test_a_cube_that_slides_on_four_corners_is_not_unique():
    """Its corners share the weight in any way that does not tip it; three of them that press do so in one way."""
    J, S = cube_on_its_corners()
    r = Problem(S, J @ [0, 0, 0, 3.0, 0, -1.0], [Cone(0.1)] * 4).solve()
    assert r.state == ("slip",) * 4
    assert not r.unique
    lifted = Problem(S[::3, ::3], [-1.0, -1.0, -1.0, 5.0], [Cone(())] * 4).solve()
    assert lifted.state[3] == "open"
    assert lifted.unique


def test_rows_with_bounds_that_hold_are_solved_at_once():
    """Whichever way they were to move: p = -S^-1 b, without a sweep."""
    S, b = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]]), np.array([0.3, -0.2, -0.5])
    r = Problem(S, b, [Bounded(5.0), Bounded(5.0), Cone(())]).solve()
    np.testing.assert_allclose(r.p, -np.linalg.solve(S, b), rtol=1e-12)
    assert (r.sweeps, r.newton, r.interior, r.proximal) == (0, 0, 0, 0)


def test_what_holds_is_solved_at_once():
    """Four corners that stick, of equal compliance: the impulses are those of the pseudo-inverse, without a sweep."""
    rng = np.random.default_rng(2)
    J, S = cube_on_its_corners()
    for _ in range(5):
        v = np.array([0.02, -0.03, 0.05, 0.1, -0.2, -1.0]) * rng.uniform(0.5, 1.0, 6)
        r = Problem(S, J @ v, [Cone(1.0)] * 4).solve()
        np.testing.assert_allclose(r.p, -np.linalg.pinv(S) @ J @ v, atol=1e-12)
        assert r.state == ("stick",) * 4
        assert not r.unique
        assert (r.sweeps, r.newton, r.interior, r.proximal) == (0, 0, 0, 0)


@pytest.mark.parametrize("seed", [1464, 3196, 3593, 8048, 8793])
def test_problems_that_take_patience(seed):
    """Ill-conditioned ones, on which sweeps and Newton's method stall."""
    r = random_problem(seed, friction=2.0, laws=seed % 2 == 1).solve(tolerance=1e-9)
    assert r.residual <= 1e-9


@pytest.mark.parametrize("first", [False, True])
def test_what_is_told_is_that_of_the_worst_part(first):
    """Parts that do not move each other: forces of one that are not unique, and one that has no solution, are told."""
    box = box_on_the_ground([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    jaws = np.array([[1.0, -1.0], [-1.0, 1.0]])
    for part, unique, solved in ((box, False, True), (jaws, None, False)):
        n = len(part)
        at, ball = (0, n) if first else (1, 0)
        S = np.zeros((n + 1, n + 1))
        S[at : at + n, at : at + n], S[ball, ball] = part, 1.0
        r = Problem(S, [-1.0] * (n + 1), [Cone(())] * (n + 1)).solve(otherwise="report")
        assert r.p[ball] == pytest.approx(1.0)
        assert (r.residual <= 1e-10) == solved
        if solved:
            assert r.unique == unique
            np.testing.assert_allclose(np.delete(r.p, ball), 0.25, atol=1e-7)


def test_a_start_does_not_change_the_answer():
    for seed in range(30):
        problem = random_problem(seed, friction=0.3, most=8)
        r = problem.solve()
        if not r.unique:
            continue
        other = problem.solve(start=r.p + np.random.default_rng(seed).normal(size=len(r.p)))
        np.testing.assert_allclose(other.u, r.u, atol=1e-7 * np.abs(problem.b).max())


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**30])
def test_no_unit_matters(unit):
    """Masses and lengths in other units: the same motion and the same effort."""
    for seed in range(20):
        problem = random_problem(seed, laws=True)
        laws = [Bounded(x.limit / unit, x.name) if isinstance(x, Bounded) else x for x in problem.laws]
        a, b = problem.solve(), Problem(problem.S * unit, problem.b, laws).solve()
        assert b.residual <= 1e-10
        assert (a.sweeps, a.newton, a.interior) == (b.sweeps, b.newton, b.interior)
        c = Problem(problem.S * unit**2, problem.b * unit, laws)
        np.testing.assert_allclose(c.solve().u / unit, a.u, atol=1e-6 * np.abs(problem.b).max())


MANY = pytest.param(range(1_000), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [range(30), MANY], ids=len)
def test_the_associated_problem_is_that_of_a_peer(seeds):
    """With the slips of our answer the impulses minimise a convex program (De Saxce), of which clarabel's are as far as
    its own energy above the minimum allows."""
    answers = [compare_associated(random_problem(seed, laws=seed % 2 == 1)) for seed in seeds]
    assert {x.word for x in answers} <= {"agree", "nothing acts"}
    assert np.median([x.difference for x in answers]) < 1e-6


@pytest.mark.parametrize("seeds", [range(11), MANY], ids=len)
def test_coulombs_problem_against_a_fixed_point_around_a_peer(seeds):
    """Velocities agree, or both are shown to be solutions: Coulomb's problem has several then. The peer may go round in
    circles, and does so seldom."""
    answers = [compare_coulomb(random_problem(seed, laws=seed % 2 == 1)).word for seed in seeds]
    assert "WRONG" not in answers
    assert answers.count("agree") + answers.count("nothing acts") >= 0.8 * len(answers)
    assert answers.count("cycle") + answers.count("peer stalls") <= 0.05 * len(answers)


def rests_at_its_limit(peer, p):
    """Whether a contact that does not slide is at the wall of its cone."""
    u = peer.velocity(p)
    cones = [mine for law, mine, _ in peer.blocks if isinstance(law, Cone) and law.rows > 1 and p[mine.start] > 0]
    still = [mine for mine in cones if np.linalg.norm(u[mine]) < 1e-6 * peer.size]
    return any(np.linalg.norm(p[mine][1:]) > (1 - 1e-6) * p[mine.start] for mine in still)


def test_of_all_forces_with_one_motion_those_of_least_norm_are_given():
    """A convex program over all impulses that obey the laws with our velocities (clarabel's) has no smaller ones, in
    units of the problem; but for contacts that rest at the very limit of their cones."""
    least, limits = 0, 0
    for seed in range(40):
        problem = random_problem(seed, most=10, laws=seed % 2 == 1)
        r, peer = problem.solve(tolerance=1e-9), Peer(problem)
        if r.unique:
            continue
        p = r.p / peer.factor
        if rests_at_its_limit(peer, p):
            limits += 1
            continue
        np.testing.assert_allclose(p, least_norm(peer, p), atol=1e-6 * np.linalg.norm(p))
        least += 1
    assert least >= 10
    assert limits <= 3


def test_pyramids_are_cones_without_friction():
    for seed in range(40):
        problem = random_problem(seed, friction=1e-300)
        flat = Problem(problem.S, problem.b, [Cone((0.0,) * len(x.coefficients)) for x in problem.laws])
        np.testing.assert_allclose(flat.solve("pyramid").u, flat.solve().u, atol=1e-8 * np.abs(problem.b).max())


def test_the_pyramid_tends_to_the_cone():
    """A ball that slides across the edges of the pyramid: its friction is short by up to 1 - cos(pi/n) (EQUATIONS)."""
    b = [-3.0, 4.0 * np.cos(0.4), 4.0 * np.sin(0.4)]
    exact = Problem(np.eye(3), b, [Cone(0.5)]).solve().p
    errors = []
    for n in (4, 8, 16, 64):
        p = Problem(np.eye(3), b, [Cone(0.5)]).solve("pyramid", directions=n).p
        errors.append(np.linalg.norm(p - exact) / np.linalg.norm(exact))
        assert errors[-1] <= np.pi / n
        assert np.linalg.norm(p[1:]) <= 0.5 * p[0] + 1e-12
    assert errors[-1] < 0.1 * errors[0]


def test_a_pyramid_of_dry_hinges_and_closures():
    """Boxes and equalities are the same in both methods where there is no cone."""
    for seed in range(30):
        problem = random_problem(seed, laws=True, most=12)
        flat = [Cone((0.0,) * len(x.coefficients)) if isinstance(x, Cone) else x for x in problem.laws]
        flat = Problem(problem.S, problem.b, flat)
        np.testing.assert_allclose(flat.solve("pyramid").u, flat.solve().u, atol=1e-7 * np.abs(problem.b).max())


REFUSED = [
    (lambda: Cone(-0.1), "coefficient of friction is -0.1; it must be finite, 0 or more"),
    (lambda: Cone((0.1,)), "friction has 1 coefficients; give a number, or 0, 2 "),
    (lambda: Cone(np.nan, name="heel"), "contact 'heel': a coefficient of friction is nan"),
    (lambda: Bounded(-1.0), "its limit is -1; it must be finite, 0 or more"),
    (lambda: Problem(np.eye(3), [0, 0], [Cone(0.1)]), r"b has shape \(2,\); the 1 laws have 3 rows"),
    (lambda: Problem(np.eye(2), [0, 0, 0], [Cone(0.1)]), r"S has shape \(2, 2\); the laws have 3 rows"),
    (lambda: Problem([[np.inf]], [0], [Cone(())]), r"S\[0, 0\] of a contact problem is inf; it must be finite"),
    (lambda: Problem([[1, 2], [0, 1]], [0, 0], [Cone(())] * 2), "not symmetric; it is N B. Omega B N. of the"),
    (lambda: Problem([[-1.0]], [0], [Cone(())]), "negative diagonal; it must be positive semi-definite"),
    (lambda: Problem([[1.0]], [0], ["cone"]), "a law of a contact problem is 'cone'; give Cone, Bounded or Bilateral"),
    (lambda: Problem([[1.0]], [0], [Cone(())]).solve("lcp"), "method 'lcp' is unknown; give 'cone' or 'pyramid'"),
    (lambda: Problem([[1.0]], [0], [Cone(())]).solve(tolerance=0), "tolerance is 0; it must be between 0 and 1"),
    (lambda: Problem([[1.0]], [0], [Cone(())]).solve(start=[1, 2]), r"start has shape \(2,\); it must be 1 finite"),
    (lambda: Problem([[1.0]], [0], [Cone(())]).solve(directions=2), "directions is 2; a pyramid needs at least 3"),
    (lambda: Problem([[1.0]], [0], [Cone(())]).solve(otherwise="no"), "otherwise='no' is unknown"),
    (lambda: Problem([[0.0]], [-1.0], [Cone((), "wall")]).solve(), "contact 'wall': its bodies approach at 1 m/s"),
    (lambda: Cone(1e10), "above 1000 friction and normal cannot be told apart"),
    (lambda: Cone(None), "friction is"),
    (lambda: Problem([[1, 2], [2, 1]], [0, 0], [Cone(())] * 2), "has a negative eigenvalue"),
    (lambda: Problem("abc", [0], [Cone(())]), "takes numbers S and b"),
    (lambda: Problem([[0.0]], [1.0], [Bilateral("pin")]).solve(), "contact 'pin': it must stop what moves at 1 m/s"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "text"), REFUSED)
def test_what_is_refused(make, text):
    with pytest.raises(sc.errors.StateError, match=text):
        make()


def test_blocks_that_do_not_move_each_other_are_solved_by_sweeps():
    """Each block alone has its answer in one step: no Newton's method, no interior point."""
    rng = np.random.default_rng(0)
    laws = [Cone(()), Cone(0.3), Cone((0.5, 0.5, 0.1)), Cone((0.6, 0.6, 0.1, 0.05, 0.05)), Bilateral()]
    laws += [Bounded(1e-3), Bounded(1e3)]
    for _ in range(10):
        S, b, at = np.zeros((18 + 1, 18 + 1)), rng.normal(size=18 + 1), 0
        for law in laws:
            J = rng.normal(size=(law.rows, law.rows + 2))
            mine = slice(at, at + law.rows)
            S[mine, mine] = J @ J.T
            at += law.rows
        problem = Problem(S[:at, :at], b[:at], laws)
        r = problem.solve()
        obeys(problem, r, 1e-8)
        assert (r.newton, r.interior, r.unique) == (0, 0, True)
        assert r.sweeps <= 2


def test_pivots_are_taken_only_where_something_is_pushed():
    """z = 0 where q >= 0; else one pivot in and one out for M = I, q = (-1, 2): z = (1, 0)."""
    z = np.full(2, 7.0)
    assert _core.lemke(np.eye(2), np.array([0.0, 2.0]), 50, z) == (0, 0)
    np.testing.assert_array_equal(z, 0.0)
    how, pivots = _core.lemke(np.eye(2), np.array([-1.0, 2.0]), 50, z)
    assert (how, pivots) == (0, 2)
    np.testing.assert_allclose(z, [1.0, 0.0], atol=1e-15)
    assert _core.lemke(np.eye(2), np.array([-1.0, 2.0]), 1, z)[0] == 2  # too many
    assert _core.lemke(-np.eye(1), np.array([-1.0]), 50, z[:1])[0] == 1  # a ray: w = -z - 1 is never positive


CONE, BOX, FREE = 0, 1, 2
MISFITS = [
    (dict(kinds=[CONE, CONE]), "kinds, rows and bounds must be of one length"),
    (dict(bounds=[0.0, 0.0]), "kinds, rows and bounds must be of one length"),
    (dict(kinds=[-1]), "there is no block of kind -1"),
    (dict(kinds=[3]), "there is no block of kind 3"),
    (dict(rows=[0]), "a block of kind 0 has 0 rows"),
    (dict(rows=[7], n=7), "a block of kind 0 has 7 rows"),
    (dict(kinds=[BOX], rows=[3], bounds=[1.0]), "a block of kind 1 has 3 rows"),
    (dict(kinds=[BOX], rows=[1], n=1), "a box needs a positive bound"),
    (dict(kinds=[BOX], rows=[1], bounds=[np.nan], n=1), "a box needs a positive bound"),
    (dict(rows=[4]), "the blocks have more than 3 rows"),
    (dict(rows=[1]), "the blocks have 1 rows, b has 3"),
    (dict(S=np.eye(2)), "S, b and p do not fit each other"),
    (dict(S=np.ones((3, 2))), "S, b and p do not fit each other"),
    (dict(p=np.zeros(2)), "S, b and p do not fit each other"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "text"), MISFITS)
def test_arrays_of_a_problem_that_do_not_fit_are_refused(changed, text):
    """The compiled solver reads no number outside of what it is given; p is left as it was."""
    n = changed.get("n", 3)
    arrays = dict(kinds=[CONE], rows=[3], bounds=[0.0], S=np.eye(n), b=-np.ones(n), p=np.full(n, 5.0)) | changed
    kinds, rows = (np.array(arrays[x], dtype=np.int64) for x in ("kinds", "rows"))
    p = arrays["p"].copy()
    with pytest.raises(ValueError, match=text):
        _core.solve_contact(kinds, rows, np.array(arrays["bounds"]), arrays["S"], arrays["b"], 1e-10, p)
    np.testing.assert_array_equal(p, arrays["p"])


@pytest.mark.parametrize("sizes", [(2, 3, 3, 3), (3, 2, 3, 3), (3, 3, 2, 3), (3, 3, 3, 2)])
def test_arrays_of_pivots_that_do_not_fit_are_refused(sizes):
    rows, columns, q, z = sizes
    with pytest.raises(ValueError, match="M, q and z do not fit each other"):
        _core.lemke(np.ones((rows, columns)), -np.ones(q), 9, np.zeros(z))


def test_what_is_not_solved_is_said():
    """Two immovable directions that ask for the impossible: u_n = -1 whatever p does, since S has no such column."""
    S = np.array([[1.0, -1.0], [-1.0, 1.0]])
    problem = Problem(S, [-1.0, -1.0], [Cone((), "left jaw"), Cone((), "right jaw")])
    text = r"2 contacts were not solved to 1e-10: residual .* worst is '(left|right) jaw'"
    with pytest.raises(sc.errors.ConvergenceError, match=text):
        problem.solve()
    with pytest.warns(RuntimeWarning, match="not solved"):
        problem.solve(otherwise="warn")
    assert problem.solve(otherwise="report").residual > 0.1
    with pytest.raises(sc.errors.ConvergenceError, match="Lemke's method ended in a ray"):
        problem.solve("pyramid")


@pytest.mark.parametrize("others", ["one", "two that leave"])
def test_a_slow_contact_is_as_exact_as_a_fast_one(others):
    """Problems that do not touch each other, one a millionth of a millionth as fast: each by its own size."""
    slow = random_problem(3, most=6, laws=True)
    fast = [random_problem(4, most=6, laws=True)] if others == "one" else [Problem(np.eye(1), [1.0], [Cone(())])] * 2
    n, small = len(slow.b), 1e-12
    S = linalg.block_diag(slow.S, *(x.S for x in fast))
    laws = [Bounded(law.limit * small) if isinstance(law, Bounded) else law for law in slow.laws]
    b = np.concatenate([small * slow.b, *(x.b for x in fast)])
    both = Problem(S, b, (*laws, *(law for x in fast for law in x.laws))).solve()
    alone = Problem(slow.S, small * slow.b, laws).solve()
    obeys(Problem(slow.S, small * slow.b, laws), replace(both, p=both.p[:n], u=both.u[:n]), 1e-7)
    np.testing.assert_allclose(both.p[:n], alone.p, atol=1e-7 * np.abs(alone.p).max())
    assert both.state[: len(laws)] == alone.state


def test_a_normal_that_nothing_moves_but_by_rounding():
    """What slides past approaches by the rounding of the normal, and nothing presses; a true approach is refused."""
    S, law = np.diag([1e-18, 1.0, 1.0]), Cone((0.5, 0.5), name="a - b")
    assert not Problem(S, np.array([-1e-9, 1.0, 0.0]), (law,)).solve().p.any()
    with pytest.raises(sc.errors.StateError, match=r"its bodies approach at 0\.001 m/s and no force can stop them"):
        Problem(S, np.array([-1e-3, 1.0, 0.0]), (law,)).solve()


def test_a_box_that_tips_holds_by_its_edge_at_once():
    """On four corners, two of which open: no sweep is needed, and it turns about its edge as angular momentum says."""
    a, c, m = 0.2, 0.1, 3.0
    inverse = np.diag(1.0 / np.array([4 * m * a * a] * 3 + [m] * 3))  # angular first
    rows = []
    for x, y in ((a, 0.1), (a, -0.1), (-a, 0.1), (-a, -0.1)):
        r = np.array([x, y, -c])
        for axis in np.eye(3)[[2, 0, 1]]:
            rows.append(np.concatenate([np.cross(r, axis), axis]))
    N, v = np.array(rows), np.array([0.0, 0.5 / a, 0.0, 0.0, 0.0, -1.0])
    found = Problem(N @ inverse @ N.T, N @ v, [Cone(0.9)] * 4).solve()
    assert (found.sweeps, found.newton, found.interior) == (0, 0, 0)
    assert found.state == ("stick", "stick", "open", "open")
    assert not found.unique  # along the edge the two corners push against each other
    after = v + inverse @ N.T @ found.p
    expected = a / (5 * a * a + c * c)
    np.testing.assert_allclose(after, [0, expected, 0, c * expected, 0, a * expected], atol=1e-12)
    push = found.p.reshape(4, 3)[:2]
    np.testing.assert_allclose(push[0, [0, 1]], push[1, [0, 1]], rtol=1e-9)  # of least norm: by symmetry
    np.testing.assert_allclose(push[:, 2], 0.0, atol=1e-9)


def test_how_fast_a_contact_opens_does_not_hide_one_that_must_act():
    """A foot that comes down at 1 cm/s, and a point that hardly anything moves and that opens: in units of energy its
    speed is a million times that of the foot."""
    S, b = np.array([[1.0, 1e-9], [1e-9, 1e-14]]), [-0.01, 1.0]
    r = Problem(S, b, [Cone(()), Cone(())]).solve(tolerance=1e-8)
    assert r.state == ("slip", "open")
    assert r.p[0] == pytest.approx(0.01, rel=1e-7)
    assert r.residual <= 1e-8
    short = Problem(S, b, [Cone(()), Cone(())]).solve("pyramid")  # exact where nothing rubs
    assert short.residual <= 1e-8


def test_a_tolerance_is_relative_to_what_has_to_act():
    """The residual at p = 0 is 1, whatever opens elsewhere in the same island; rounding of b alone is no residual."""
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    for opens in (0.0, 1.0, 1e6):
        r = Problem(S, [-1.0, opens], [Cone(()), Cone(())]).solve("pyramid")
        assert r.residual <= 1e-12
    rests = Problem(np.eye(3), [-1e-17, 1.0, 0.0], [Cone(0.5)]).solve()  # slides, and approaches by rounding
    assert rests.state == ("open",)
    assert rests.residual <= 1e-10


@pytest.mark.parametrize("seed", [152, 263, 436, 944, 3653, 8048])
def test_problems_that_are_fixed_points_of_convex_ones(seed):
    """Much that holds itself, with impulses a thousand times those of the approach: sweeps and Newton's method stall,
    and the way along softer problems turns back; associated problems lead there."""
    problem = random_problem(seed, friction=2.0, laws=seed % 2 == 1)
    r = problem.solve(tolerance=1e-9)
    obeys(problem, r, 1e-7)
    assert r.residual <= 1e-9
    assert 1 <= r.proximal < 10
    assert r.interior > 0


@pytest.mark.parametrize("seed", [2906, 3041, 4238, 5868])
def test_problems_that_softer_ones_with_other_weights_lead_to(seed):
    """Where associated problems go round in circles."""
    problem = random_problem(seed, friction=2.0, laws=seed % 2 == 1)
    r = problem.solve(tolerance=1e-9)
    obeys(problem, r, 1e-7)
    assert r.residual <= 1e-9
    assert r.proximal == 10


def test_feet_that_cannot_all_hold_open_where_they_must():
    """Four feet of a stool of which one is short by a rounding: three bear it, and the short one is open."""
    J, S = cube_on_its_corners()
    b = J @ [0, 0, 0, 0.05, 0.02, -1.0]
    for short in (1e-6, 1e-8):
        more = np.zeros(12)
        more[0] = short
        r = Problem(S, b + more, [Cone(1.0)] * 4).solve(tolerance=1e-10)
        assert r.state.count("open") >= 1
        obeys(Problem(S, b + more, [Cone(1.0)] * 4), r, 1e-9)
        assert (r.u[::3] >= -1e-10).all()


@pytest.mark.parametrize("name", ["feet_and_limits", "folded", "turning"])
def test_a_humanoid_that_folds_up(name):
    """Forces that hold each other, where sweeps, Newton's, interior point and convex steps stall at 1e-8 to 1e-4."""
    problem = humanoid_problem(name)
    r = problem.solve(tolerance=1e-8)
    assert r.residual <= 1e-8
    obeys(problem, r, 1e-7)


@pytest.mark.parametrize("mu", [0.3, 0.8])
def test_points_that_a_rounding_pulls_apart(mu):
    """Two points of one foot, whose distance no force changes: friction holds them until one slips, as fast as they
    part. All else is as without it."""
    points = ((0.1, 0, -0.3), (-0.1, 0, -0.3))
    J = np.array([[*np.cross(r, axis), *axis] for r in points for axis in np.eye(3)[[2, 0, 1]]])
    S, b = J @ np.diag([3.0, 4.0, 5.0, 1.0, 1.0, 1.0]) @ J.T, J @ [0.002, -0.004, 0.003, 0.01, 0.0, -0.1]
    whole = Problem(S, b, [Cone(mu)] * 2).solve(tolerance=1e-11)
    for apart in (1e-7, 1e-9, -1e-9, -1e-7):
        shift = apart * np.array([0, 1, 0, 0, -1, 0])
        r = Problem(S, b + shift, [Cone(mu)] * 2).solve(tolerance=1e-11)
        assert sorted(r.state) == ["slip", "stick"]
        assert (r.interior, r.proximal) == (0, 0)
        assert r.u[1] - r.u[4] == pytest.approx(2 * apart, rel=1e-3)
        np.testing.assert_allclose(r.u, 0.0, atol=3 * abs(apart))
        np.testing.assert_allclose(S @ r.p, S @ whole.p, atol=3 * abs(apart))


def hand(seed, count, dofs=24):
    """Many contacts of few dofs: forces are far from unique, S has the rank of the dofs."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * count, dofs)) * (rng.random((3 * count, dofs)) < 0.3)
    half = rng.normal(size=(dofs, dofs))
    S = J @ np.linalg.solve(half @ half.T + 0.1 * np.eye(dofs), J.T)
    return Problem(0.5 * (S + S.T), J @ rng.normal(size=dofs), tuple(Cone((0.7, 0.7)) for _ in range(count)))


@pytest.mark.parametrize(("seed", "count"), [(0, 40), (1, 120), (2, 240)])
def test_many_contacts_of_few_dofs_obey_the_laws(seed, count):
    """Hands full of contacts: 3 to 30 times as many rows as dofs."""
    problem = hand(seed, count)
    r = problem.solve(tolerance=1e-9)
    assert 0.0 <= r.residual <= 1e-9
    assert not r.unique
    obeys(problem, r, 1e-7)


def test_many_contacts_of_few_dofs_move_as_a_convex_peer_says():
    """Without friction the velocity is unique: that of the least energy without approach (Moreau 1966), by scipy."""
    dofs, count = 8, 120
    rng = np.random.default_rng(4)
    N, v = rng.normal(size=(count, dofs)), rng.normal(size=dofs)
    r = Problem(N @ N.T, N @ v, tuple(Cone(()) for _ in range(count))).solve(tolerance=1e-10)
    impulse, _ = optimize.nnls(N.T, -v)  # least |v + N* p| over p >= 0
    np.testing.assert_allclose(r.u, N @ (v + N.T @ impulse), atol=1e-8 * np.abs(N @ v).max())
