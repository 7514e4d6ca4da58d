"""Best values of parameters: closed-form optima, physical trials, models left as they are, refusals."""

import numpy as np
import pytest
from tests.loops.cases import FourBar

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.analysis.parametric.physical import log_cholesky, pseudo_inertia
from soacraft.errors import ConvergenceError, LoopError, ModelError, StateError

POSES = np.array([[0.3, 0.5], [1.2, -0.7], [-0.4, 2.0], [2.5, 0.1]])


def arm():
    """Two rods in a row on pins, each with a counterweight on its own body, on the far side of its pin."""
    mb = sc.Multibody("arm", gravity=(0, 0, -9.81))
    pose = sc.Pose(translation=(1.0, 0, 0))
    for name, parent, mass, at in (("upper", None, 3.0, None), ("lower", "upper", 2.0, pose)):
        rod = sc.Inertia.rod(mass, 1.0, (1, 0, 0)).transformed(sc.Pose(translation=(0.5, 0, 0)))
        mb.add_body(name, parent, sc.Pin((0, 1, 0)), rod, **({} if at is None else {"inboard": at}))
        mb.add_body(f"{name}_weight", name, sc.Weld(), sc.Inertia.sphere(1.0, 0.05).transformed(
            sc.Pose(translation=(-0.4, 0, 0))))  # fmt: skip
    return mb


#: m 0.4 = 2 0.5 for the lower arm; the upper one carries it, and its weight, at 1 m: m 0.4 = 3 0.5 + (2 + 2.5) 1.
BALANCED = np.array([15.0, 2.5])
WEIGHTS = ["upper_weight.mass", "lower_weight.mass"]


@pytest.mark.parametrize("given", [True, False])
def test_a_counterbalanced_arm(given):
    mb = arm()

    def slopes(m):
        return analysis.parameter_derivatives(m, "gravity_force", WEIGHTS, POSES).reshape(-1, 2)

    best = analysis.optimize(
        mb, WEIGHTS, lambda m: dynamics.gravity_force(m, POSES).ravel(), gradient=slopes if given else None
    )
    np.testing.assert_allclose(best.values, BALANCED, rtol=1e-9)
    assert best.converged
    assert np.abs(best.objective).max() < 1e-8 < 10 < np.abs(best.start).max()
    assert best.gradient == ("given" if given else "by differences")
    assert best.names == tuple(WEIGHTS)
    assert mb["upper_weight"].inertia.mass == 1.0  # left as it is
    assert repr(best).startswith("Optimum: upper_weight.mass=")


def test_where_the_weight_sits():
    """The same balance by place instead of mass, and applied; what is computed with the model follows."""
    mb = arm()
    analysis.set_parameters(mb, WEIGHTS, [20.0, 4.0])
    places = ["upper_weight.com_x", "lower_weight.com_x"]
    best = analysis.optimize(mb, places, lambda m: dynamics.gravity_force(m, POSES).ravel(), apply=True)
    np.testing.assert_allclose(best.values, [-(1.5 + 6.0) / 20, -1.0 / 4], rtol=1e-9)
    assert np.abs(dynamics.gravity_force(mb, POSES)).max() < 1e-8


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e5])
def test_the_quickest_pendulum(unit):
    """A bar that swings quickest hangs from where its distance to the centre is its radius of gyration, in any unit."""
    mb = sc.Multibody("bar", gravity=(0, 0, -9.81 * unit))
    bar = sc.Inertia.box(2.0, (1e-9 * unit, 1e-9 * unit, 1.2 * unit))
    mb.add_body("bar", None, sc.Pin((0, 1, 0)), bar, outboard=sc.Pose(translation=(0, 0, -0.2 * unit)))

    def slowness(m):
        return -np.abs(analysis.linearize(m, [0.0], [0.0], [0.0]).eigenvalues.imag).max()

    best = analysis.optimize(mb, "bar.outboard_z", slowness, {"bar.outboard_z": (-0.6 * unit, -0.01 * unit)})
    assert best.converged
    np.testing.assert_allclose(best.values, -1.2 * unit / np.sqrt(12), rtol=1e-6)
    assert best.at_bounds == ()


def test_bounds_hold():
    mb = arm()
    best = analysis.optimize(
        mb, WEIGHTS, lambda m: dynamics.gravity_force(m, POSES).ravel(), {"upper_weight.mass": (None, 10.0)}
    )
    assert best.at_bounds == ("upper_weight.mass",)
    np.testing.assert_allclose(best.values[0], 10.0)
    assert best.values[1] < 2.5  # it takes up some of what the other may not
    light = analysis.optimize(mb, "upper.mass", lambda m: float(m["upper"].inertia.mass))  # as small as can be
    assert light.at_bounds == ("upper.mass",)
    assert 0.0 < light.values[0] < 1e-8


def test_inertias_stay_physical():
    """An objective that asks for an impossible moment gets one at the edge; every trial is physical."""
    mb = arm()
    mb["upper"].inertia = sc.Inertia.box(1.0, (0.3, 0.4, 0.5))
    trials = []

    def flat(m):
        I = m["upper"].inertia
        trials.append(I)
        J = I.moment
        return np.array([J[0, 0] - 0.01, J[1, 1] - 0.01, J[2, 2] - 0.05, J[0, 1], J[0, 2], J[1, 2]])  # 0.05 > 0.02

    for name in ("upper.moment", "upper.inertia"):
        trials.clear()
        best = analysis.optimize(mb, name, flat, evaluations=20)
        assert len(trials) > 10
        for I in trials:
            two = np.linalg.eigvalsh(I.moment)
            assert two[2] <= (two[0] + two[1]) * (1 + 1e-9)
            assert I.mass > 0.0
        # nearest: a disc, J_zz = J_xx + J_yy: by Lagrange J_xx = J_yy = 0.01 + 0.01, J_zz = 0.05 - 0.01
        np.testing.assert_allclose(np.diag(trials[-1].moment), [0.02, 0.02, 0.04], rtol=1e-2)
        assert best.names == analysis.parameter_names(mb, name)


def test_log_cholesky_is_of_positive_matrices_alone():
    ten = analysis.parameters(sc.load("arm7"))[:10]
    P = pseudo_inertia(ten)
    points = np.random.default_rng(0).random((4, 3))
    S = sum(w * np.outer(r, r) for w, r in zip([0.3, 0.5, 0.2, 0.4], points, strict=True))
    I = np.trace(S) * np.eye(3) - S
    body = np.array([1.4, 0, 0, 0, *I[np.triu_indices(3)]])
    np.testing.assert_allclose(pseudo_inertia(body)[:3, :3], S, atol=1e-15)  # the second moments of point masses
    assert np.isfinite(log_cholesky(P)).all()
    with pytest.raises(np.linalg.LinAlgError):
        log_cholesky(pseudo_inertia(np.array([1.0, 0, 0, 0, 1, 0, 0, 1, 0, 3])))  # breaks the triangle inequality


def test_refusals():
    mb, x = arm(), lambda m: dynamics.gravity_force(m, [0.1, 0.2])
    cases = [
        (StateError, "objective of optimize is a function of the model, got 7.", ("upper.mass", 7), {}),
        (StateError, "gradient of optimize is a function of the model, got 7.", ("upper.mass", x), {"gradient": 7}),
        (StateError, "evaluations of optimize must be a whole number of at least 1, got 0.", ("upper.mass", x),
         {"evaluations": 0}),
        (ModelError, "optimize: parameter 'uppe.mass': 'arm' has no body or hinge 'uppe'", ("uppe.mass", x), {}),
        (ModelError, "optimize: 'upper.moment_xx' alone could make an inertia that no body has; give all of "
         "'upper.moment'.", ("upper.moment_xx", x), {}),
        (ModelError, "optimize: moment of 'upper' is at the edge of the inertias that a body can have",
         ("upper.moment", x), {}),
        (StateError, "bounds of optimize are {name: (low, high)}, got (0, 1).", ("upper.mass", x), {"bounds": (0, 1)}),
        (ModelError, "bounds of optimize: 'lower.mass' is none of the parameters upper.mass.", ("upper.mass", x),
         {"bounds": {"lower.mass": (0, 1)}}),
        (StateError, "bounds of optimize: 'upper.mass' needs (low, high), got 3.", ("upper.mass", x),
         {"bounds": {"upper.mass": 3}}),
        (StateError, "bounds of optimize: 'upper.mass' has no room between 5 and 4.", ("upper.mass", x),
         {"bounds": {"upper.mass": (5, 4)}}),
        (StateError, "bounds of optimize: the model's upper.mass = 3 is outside of 4 to 5; set it", ("upper.mass", x),
         {"bounds": {"upper.mass": (4, 5)}}),
        (StateError, "optimize: the objective at upper.mass = 3 must be a finite number or a vector of them, got nan.",
         ("upper.mass", lambda m: np.nan), {}),
        (StateError, "gradient of optimize is not that of the objective: along one direction at the start it gives",
         ("upper.mass", x), {"gradient": lambda m: np.ones((2, 1))}),
    ]  # fmt: skip
    for error, text, args, options in cases:
        with pytest.raises(error) as raised:
            analysis.optimize(mb, *args, **options)
        assert str(raised.value).startswith(text), str(raised.value)
    with pytest.raises(StateError, match=r"optimize: the objective at upper.mass = 3: q of 'arm' has 2 entries, got 1"):
        analysis.optimize(mb, "upper.mass", lambda m: dynamics.gravity_force(m, [0.1]))
    with pytest.raises(ConvergenceError, match="optimize of 'arm' has not converged, so its values were not applied"):
        analysis.optimize(mb, WEIGHTS, lambda m: np.exp(dynamics.gravity_force(m, POSES).ravel() / 50), apply=True,
                          evaluations=1)  # fmt: skip
    assert mb["upper_weight"].inertia.mass == 1.0
    with pytest.raises(LoopError):  # an objective that a closed chain refuses
        analysis.optimize(FourBar().build(0.7), "crank.mass", lambda m: dynamics.mass_matrix(m, m.q)[0])


def test_sub_graphs_have_no_copies():
    mb = arm()
    with pytest.raises(StateError, match=r"is given copies of it, and 'arm.lower.' is a sub-graph"):
        analysis.optimize(mb.subgraph(["lower"]), "lower.mass", lambda m: 1.0)


def weight(m):
    return float(m["upper_weight"].inertia.mass)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(("constant", "error"), [(0.0, 1e-7), (1e3, 1e-6), (1e9, 1e-4), (-1e9, 1e-4)])
@pytest.mark.parametrize("given", [True, False])
def test_a_constant_part_and_a_unit_do_not_end_the_search(constant, error, unit, given):
    """(m - 3)^2 + constant in any unit: of 1e9 a double holds 1e-7, which resolves m to sqrt(1e-7) and no better."""
    mb = arm()
    slope = (lambda m: np.array([2 * unit * (weight(m) - 3.0)])) if given else None
    best = analysis.optimize(
        mb, "upper_weight.mass", lambda m: unit * (constant + (weight(m) - 3.0) ** 2), gradient=slope
    )
    assert best.converged
    assert abs(best.values[0] - 3.0) < error
    assert best.evaluations < 60


@pytest.mark.parametrize("start", [1.0, 3.0])
def test_a_start_at_the_optimum_stays_there(start):
    mb = arm()
    analysis.set_parameters(mb, "upper_weight.mass", [start])
    best = analysis.optimize(mb, "upper_weight.mass", lambda m: 1e9 + (weight(m) - 3.0) ** 2)
    assert best.converged
    assert abs(best.values[0] - 3.0) < 1e-4


@pytest.mark.parametrize("constant", [1e17, 1e20])
def test_an_objective_whose_digits_hide_its_changes_has_not_converged(constant):
    best = analysis.optimize(arm(), "upper_weight.mass", lambda m: constant + (weight(m) - 3.0) ** 2)
    assert not best.converged
    assert best.values[0] == 1.0
    assert best.message == (
        f"no parameter changes the objective, {constant:g}, in the digits that it has. Subtract a constant part that "
        "is large, or take parameters that it depends on."
    )


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("constant", [0.0, 1e3, 1e9, -1e9])
@pytest.mark.parametrize("given", [True, False])
def test_rows_that_stand_still_do_not_end_a_search_of_least_squares(constant, unit, given):
    mb = arm()
    slope = (lambda m: unit * np.array([[0.0], [1.0], [2 * weight(m)]])) if given else None
    best = analysis.optimize(
        mb, "upper_weight.mass", lambda m: unit * np.array([constant, weight(m) - 3.0, weight(m) ** 2 - 9.0]),
        gradient=slope,
    )  # fmt: skip
    assert best.converged
    assert abs(best.values[0] - 3.0) < 1e-7


def test_rows_of_other_units_count():
    """Residuals in nanometres and in gigapascals: each of two parameters has its own."""
    other = lambda m: float(m["lower_weight"].inertia.mass)  # noqa: E731
    best = analysis.optimize(arm(), WEIGHTS, lambda m: np.array([1e9 * (weight(m) - 3.0), 1e-9 * (other(m) - 4.0)]))
    assert best.converged
    np.testing.assert_allclose(best.values, [3.0, 4.0], rtol=1e-7)


def test_least_squares_that_stand_still_at_a_bound():
    """The least sum of squares within a bound, next to a row that stands still."""
    best = analysis.optimize(
        arm(), "upper_weight.mass", lambda m: np.array([1e9, weight(m) - 3.0]), {"upper_weight.mass": (None, 2.0)}
    )
    assert (best.converged, best.at_bounds) == (True, ("upper_weight.mass",))
    np.testing.assert_allclose(best.values, [2.0], rtol=1e-9)


def test_few_evaluations_are_not_enough():
    """A valley that turns: 20 evaluations do not reach its end, for a number and for its rows."""
    other = lambda m: float(m["lower_weight"].inertia.mass)  # noqa: E731
    rows = lambda m: np.array([1e6, 10 * (other(m) - weight(m) ** 2), 2.0 - weight(m)])  # noqa: E731
    for objective in (lambda m: float(rows(m)[1:] @ rows(m)[1:]), rows):
        few = analysis.optimize(arm(), WEIGHTS, objective, evaluations=20)
        assert not few.converged
        best = analysis.optimize(arm(), WEIGHTS, objective)
        assert best.converged
        np.testing.assert_allclose(best.values, [2.0, 4.0], rtol=1e-5)


def test_a_closed_chain():
    """An objective of a closed chain by its solver: the centre of the crank for which a four-bar needs no torque."""
    bar = FourBar()
    mb = bar.build(0.7)

    def holding(m):
        return sc.loops.ConstraintEmbedding(m).gravity_force(mb.q)

    best = analysis.optimize(mb, "crank.com_x", holding)
    assert abs(best.objective[0]) < 1e-9 * abs(best.start[0])
    needed = -bar.acceleration(0.7, 0.0, 0.0)  # J thetadd = -V'
    assert abs(needed) > 1.0
    J = 1.0 / (bar.acceleration(0.7, 0.0, 1.0) - bar.acceleration(0.7, 0.0, 0.0))
    np.testing.assert_allclose(9.81 * 1.5 * np.cos(0.7) * (0.2 - best.values[0]), needed * J, rtol=1e-9)
