"""Parameters from noisy records: to the statistical bound, physical under any noise, in any units, refusals."""

import numpy as np
import pytest
from scipy.stats import chi2
from tests.analysis.cases import armed
from tests.dynamics.calls import GRAVITY
from tests.loops.cases import FourBar

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.analysis.identification.fit import Block, fit
from soacraft.analysis.parametric.physical import BASIS, pseudo_inertia
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.model.samples.random_models import random_inertia

SURE = 0.9999  # of a right program failing: one in ten thousand for each of a few comparisons


def chain(seed=3, n=3):
    """A branched tree of several hinges, its inertias in general position."""
    hinges = [sc.Pin((1, 2, 3)), sc.Prismatic((0, 1, 1)), sc.Universal((1, 0, 0), (0, 1, 0))]
    return sc.random_tree(n, seed, hinges, 0.5, gravity=GRAVITY)


def guessed(mb):
    """The same model with inertias that are off by a third."""
    other = mb.copy()
    for body in other.bodies:
        I = body.inertia
        body.inertia = sc.Inertia(1.4 * I.mass, 0.7 * I.com, 1.5 * I.moment)
    return other


def motion(mb, count, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array([mb.random_state(rng)[0] for _ in range(count)])
    return {"q": q, "v": rng.standard_normal((count, mb.nv)), "vdot": rng.standard_normal((count, mb.nv))}


def recorded(mb, moved, noise, seed):
    force = dynamics.inverse_dynamics(mb, moved["q"], moved["v"], moved["vdot"])
    return moved | {"force": force + noise * np.random.default_rng([77, seed]).standard_normal(force.shape)}


def smallest(values):
    """The smallest eigenvalue of the pseudo-inertias, relative to the largest of each."""
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(values.reshape(-1, 10)))
    return float((eigenvalues[:, 0] / eigenvalues[:, -1]).min())


# -- the statistical bound ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [True, False])
def test_to_the_statistical_bound(given):
    """Errors of base parameters, by their covariance, are chi-square with as many degrees; the covariance is the
    inverse of the information (Cramer-Rao), so no unbiased estimate is better."""
    mb = chain()
    guess, moved, truth = guessed(mb), motion(mb, 60), analysis.parameters(mb)
    noise = np.linspace(0.02, 0.2, mb.nv)  # one for each dof
    total, degrees, sigmas = 0.0, 0, []
    for seed in range(6):
        best = analysis.identify(guess, recorded(mb, moved, noise, seed), noise=noise if given else None)
        error = best.base.basis @ (best.values - truth)
        total += error @ np.linalg.solve(best.covariance, error)
        degrees += best.base.rank
        sigmas.append(best.noise)
        assert smallest(best.values) > 0.0
    assert degrees == 6 * analysis.base_parameters(mb).rank
    if given:
        low, high = chi2.interval(SURE, degrees)
        Y = analysis.parameter_regressor(mb, **moved).matrix[..., best.base.columns] / noise[:, None]
        information = np.einsum("nvi,nvj->ij", Y, Y)
        np.testing.assert_allclose(best.covariance @ information, np.eye(best.base.rank), atol=1e-6)
        np.testing.assert_array_equal(best.noise, noise)
    else:
        spare = 6 * (60 * mb.nv - best.base.rank)  # the noise is estimated too: F, not chi-square
        low, high = chi2.ppf([0.5 - SURE / 2, 0.5 + SURE / 2], degrees) * [0.9, 1.2]
        variance = np.mean(np.square(sigmas), axis=0) / noise**2
        wide = np.sqrt(2.0 * mb.nv / spare)
        assert np.abs(variance - 1.0).max() < 4.5 * wide
    assert low < total < high


def test_what_the_records_cannot_show_comes_from_the_prior():
    """A pin with gravity shows three combinations; with exact records they are exact, and the rest stays nearest to the
    model's own values: those of the truth, if that is where it started."""
    mb = sc.Multibody("door", gravity=GRAVITY)
    mb.add_body("leaf", None, sc.Pin((0, 0, 1)), random_inertia(5))
    records = recorded(mb, motion(mb, 40), 0.0, 0)
    best = analysis.identify(mb, records)
    assert (best.base.rank, best.unseen) == (3, 7)
    np.testing.assert_allclose(best.values, analysis.parameters(mb), rtol=1e-7, atol=1e-9)
    off = analysis.identify(guessed(mb), records)
    np.testing.assert_allclose(off.base.basis @ off.values, off.base.basis @ analysis.parameters(mb), rtol=1e-6)
    assert abs(off.values[0] / mb["leaf"].inertia.mass - 1) > 0.05  # nobody can weigh a door by swinging it
    prior = 1 / np.sqrt(1e-3)
    assert off.deviations[0] > 0.1 * prior * off.values[0]  # and it says so
    assert off.base.independent[0].startswith("leaf.")
    assert repr(off) == (
        "Identified: 10 parameters, 3 base parameters seen in 40 records, 7 combinations from the prior"
    )


def test_applied():
    mb = chain()
    guess, records = guessed(mb), recorded(mb, motion(mb, 60), 1e-6, 1)
    before = analysis.parameters(guess)
    analysis.identify(guess, records)
    np.testing.assert_array_equal(analysis.parameters(guess), before)
    best = analysis.identify(guess, records, apply=True)
    np.testing.assert_allclose(analysis.parameters(guess), best.values, rtol=1e-9, atol=1e-12)
    other = motion(mb, 5, seed=9)
    np.testing.assert_allclose(
        dynamics.inverse_dynamics(guess, **other), dynamics.inverse_dynamics(mb, **other), atol=1e-3
    )


def test_armature_damping_and_stiffness_too():
    mb = armed(chain(4))
    for body in mb.bodies:
        body.passive = sc.Passive(damping=0.3, stiffness=2.0)
    names = [f"{body.name}.inertia" for body in mb.bodies]
    names += [f"{mb.bodies[0].hinge_name}.armature", f"{mb.bodies[1].hinge_name}.damping"]
    names += [f"{mb.bodies[2].hinge_name}.stiffness"]
    guess = guessed(mb)
    extra = names[3:]
    analysis.set_parameters(guess, extra, 2.5 * analysis.parameters(mb, extra))
    sigma = 0.01
    best = analysis.identify(guess, recorded(mb, motion(mb, 80), sigma, 0), names, noise=sigma)
    error = best.base.basis @ (best.values - analysis.parameters(mb, names))
    assert error @ np.linalg.solve(best.covariance, error) < chi2.ppf(SURE, best.base.rank)
    seen = [best.names.index(name) for name in analysis.parameter_names(mb, extra[1:])]
    gap = np.abs(best.values[seen] - analysis.parameters(mb, extra[1:]))
    assert (gap < 5 * best.deviations[seen]).all()
    none = chain(4)  # a model that knows of no damper finds one
    for body in none.bodies:
        body.passive = sc.Passive(stiffness=2.0)
    hinge = f"{mb.bodies[1].hinge_name}.damping"
    held = armed(none)
    others = [f"{body.hinge_name}.damping" for body in mb.bodies if body is not mb.bodies[1] and body.hinge.nv]
    found = analysis.identify(held, recorded(mb, motion(mb, 80), sigma, 0), [hinge, *others], noise=sigma)
    np.testing.assert_allclose(found.values, 0.3, atol=0.02)


# -- physical ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.3, 30.0, 1e4])
def test_physical_under_hostile_noise(size):
    mb = chain()
    moved = motion(mb, 25)
    force = np.sqrt(np.mean(dynamics.inverse_dynamics(mb, **moved) ** 2))
    for seed, noise in ((0, None), (1, size * force)):
        best = analysis.identify(guessed(mb), recorded(mb, moved, size * force, seed), noise=noise)
        assert smallest(best.values) > 0.0
        for pi in best.values.reshape(-1, 10):
            J = np.linalg.eigvalsh(sc.Inertia.from_matrix(spatial(pi)).moment)
            assert pi[0] > 0.0
            assert J[2] <= (J[0] + J[1]) * (1 + 1e-9)
        plain = np.linalg.lstsq(
            analysis.parameter_regressor(mb, **moved).matrix.reshape(-1, 30),
            recorded(mb, moved, size * force, seed)["force"].ravel(), rcond=1e-10,
        )[0]  # fmt: skip
        assert smallest(plain) < 0.0 or size < 1.0  # what least squares alone would give


def spatial(pi):
    m, h = pi[0], pi[1:4]
    J = pi[4:][[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
    C = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
    return np.block([[J, C], [-C, m * np.eye(3)]])


def test_the_nearest_physical_one():
    """Of a moment that no body has, the fit gives the nearest: with R = I in the three moments, a flat disc."""
    prior = pseudo_inertia(np.array([1.0, 0, 0, 0, 1, 0, 0, 1, 0, 1]))
    wanted = np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.5])  # 0.5 > 0.1 + 0.1
    R = 1e4 * np.eye(10)
    x = fit(R, R @ wanted, [Block(slice(0, 10), BASIS, prior)], np.array([1.0, 0, 0, 0, 1, 0, 0, 1, 0, 1]), 1e-6)
    np.testing.assert_allclose(x[[4, 7, 9]], [0.2, 0.2, 0.4], atol=1e-4)  # by Lagrange
    assert smallest(x) > 0.0


def test_point_masses_have_a_prior_too():
    """A double pendulum of point masses is at the edge of what is physical; it is fitted all the same."""
    mb = sc.load("double_pendulum")
    best = analysis.identify(mb, recorded(mb, motion(mb, 50), 1e-3, 0), noise=1e-3)
    error = best.base.basis @ (best.values - analysis.parameters(mb))
    assert error @ np.linalg.solve(best.covariance, error) < chi2.ppf(SURE, best.base.rank)
    assert smallest(best.values) > 0.0


def test_a_dof_that_nobody_drives():
    """A cart pole pushed at its cart: along the pole the recorded force is zero, always, and shows as much."""
    mb = sc.load("cart_pole")
    moved = motion(mb, 40)
    push = np.stack([moved["vdot"][:, 0], np.zeros(40)], axis=-1)
    moved["vdot"] = dynamics.forward_dynamics(mb, moved["q"], moved["v"], push)
    best = analysis.identify(guessed(mb), moved | {"force": push})
    assert best.base.rank == analysis.base_parameters(mb).rank
    np.testing.assert_allclose(best.base.basis @ analysis.parameters(mb), best.base.values, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e4])
def test_the_unit_of_length_does_not_matter(unit):
    def scaled(mb):
        other = sc.Multibody("scaled", gravity=unit * np.array(GRAVITY))
        for body in mb.bodies:
            I = body.inertia
            poses = [sc.Pose(p.rotation, unit * p.translation) for p in (body.inboard, body.outboard)]
            parent = body.parent.name if isinstance(body.parent, sc.Body) else None
            inertia = sc.Inertia(I.mass, unit * I.com, unit**2 * I.moment)
            other.add_body(body.name, parent, body.hinge, inertia, *poses)
        return other

    mb = sc.random_tree(3, 5, [sc.Pin((1, 2, 3)), sc.Gimbal(np.eye(3))], 0.5, gravity=GRAVITY)
    small, moved = scaled(mb), motion(mb, 40)
    one = analysis.identify(guessed(mb), recorded(mb, moved, 0.05, 0))
    two = analysis.identify(guessed(small), recorded(small, moved, 0.05 * unit**2, 0))
    units = np.tile([1.0] + 3 * [unit] + 6 * [unit**2], 3)
    np.testing.assert_allclose(two.values / units, one.values, atol=1e-6)
    assert one.base.independent == two.base.independent
    np.testing.assert_allclose(two.noise, one.noise * unit**2, rtol=1e-6)


# -- closed chains -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding])
def test_a_closed_chain(kind):
    """A four-bar driven at its crank: forces along the crank show what they can, whatever the closure does."""
    bar, sigma = FourBar(), 0.02
    mb = bar.build(0.4)
    solver = kind(mb)
    rng, rows = np.random.default_rng(4), {"q": [], "v": [], "vdot": [], "force": []}
    angles = rng.uniform(-3, 3, 16)
    maps = solver.velocity_map(np.array([bar.build(theta).q for theta in angles]))[..., 0]
    for theta, X in zip(angles, maps, strict=True):
        q = bar.build(theta).q
        rate, torque = 2.0 * rng.standard_normal(), 20.0 * rng.standard_normal()
        v = X * rate / X[0]
        force = np.array([torque, 0.0, 0.0])
        result = solver.forward_dynamics(q, v, force)
        for name, x in zip(rows, (q, v, result.vdot, force + sigma * rng.standard_normal(3)), strict=True):
            rows[name].append(x)
        assert np.isclose(result.vdot[0], bar.acceleration(theta, rate, torque), rtol=1e-8)
    guess = mb.copy()
    for body in guess.bodies:
        body.inertia = sc.Inertia(1.3 * body.inertia.mass, 0.8 * body.inertia.com, 1.2 * body.inertia.moment)
    best = analysis.identify(kind(guess), rows, noise=sigma)
    error = best.base.basis @ (best.values - analysis.parameters(mb))
    low, high = chi2.interval(SURE, best.base.rank)
    assert low < error @ np.linalg.solve(best.covariance, error) < high
    assert smallest(best.values) > 0.0
    assert 3 <= best.base.rank < analysis.base_parameters(mb, ignore_loops=True).rank
    with pytest.raises(ModelError, match="identify of a closed chain needs noise="):
        analysis.identify(solver, rows)
    with pytest.raises(LoopError, match=r"has loop 'ring'.*Or fit the closed chain: sc.analysis.identify\(sc.loops"):
        analysis.identify(mb, rows, noise=sigma)


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_refusals():
    mb = sc.load("double_pendulum")
    good = recorded(mb, motion(mb, 20), 0.01, 0)
    cases = [
        (StateError, "records of identify are {'q': ..., 'v': ..., 'vdot': ..., 'force': ...}, got ['q'].", {"q": 1},
         {}),
        (StateError, "records of identify are {'q': ..., 'v': ..., 'vdot': ..., 'force': ...}, got 7.", 7, {}),
        (StateError, "records of identify: q has the shape (20, 2), force (19, 2); all have one row for each state.",
         good | {"force": good["force"][1:]}, {}),
        (StateError, "records of identify: q has the shape (2,), force (2,); all have",
         {k: x[0] for k, x in good.items()}, {}),
        (StateError, "records of identify hold no states.", {k: x[:0] for k, x in good.items()}, {}),
        (StateError, "prior of identify must be positive, got 0.", good, {"prior": 0.0}),
        (StateError, "tolerance of identify must be between 0 and 1, got 2.", good, {"tolerance": 2.0}),
        (StateError, "noise of identify must be positive, got -1.", good, {"noise": -1.0}),
        (StateError, "noise of identify must have shape (2,), got shape (3,)", good, {"noise": [1.0, 1.0, 1.0]}),
        (ModelError, "identify: 'lower.mass' is none of what forces are linear in: inertia, armature, damping, "
         "stiffness.", good, {"parameters": "lower.mass"}),
        (ModelError, "identify: 'lower.m' alone could make an inertia that no body has; give all of 'lower.inertia'.",
         good, {"parameters": "lower.m"}),
        (StateError, "records of identify: 2 states are too few to estimate the noise along dof 'lower' and 4",
         {k: x[:2] for k, x in good.items()}, {}),
    ]  # fmt: skip
    for error, text, records, options in cases:
        with pytest.raises(error) as raised:
            analysis.identify(mb, records, **options)
        assert str(raised.value).startswith(text), str(raised.value)
    with pytest.raises(StateError, match=r"force.*must be finite"):
        analysis.identify(mb, good | {"force": np.full((20, 2), np.nan)})
    mb.gravity = (0, 0, 0)
    zero = np.zeros((20, 2))
    with pytest.raises(StateError, match="no force acts on 'double_pendulum', so they show nothing"):
        analysis.identify(mb, {"q": zero, "v": zero, "vdot": zero, "force": zero})
    massless = sc.Multibody("frame")
    massless.add_body("a", None, sc.Pin((0, 0, 1)), sc.Inertia())
    with pytest.raises(ModelError, match="no body of 'frame' has mass, so there is no prior to start from"):
        analysis.identify(massless, {})
    with pytest.raises(ModelError, match="body 'a' has no mass, so there is no prior; give it a guess"):
        analysis.identify(massless, {}, "a.inertia")
    with pytest.raises(ModelError, match="identify takes a Multibody or a sub-graph of one, got 7"):
        analysis.identify(7, good)
