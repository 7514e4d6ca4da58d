"""Dynamics of runs whose models differ: those of models that were edited, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.campaigns.makers import arm, folder

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import sim
from soacraft.analysis import set_parameters
from soacraft.errors import CampaignError
from soacraft.sim.campaigns.batches.models import LaneModels, solve_each

PAIRS = ("xx", "xy", "xz", "yy", "yz", "zz")
INERTIAL = ("mass", "com_x", "com_y", "com_z", *(f"moment_{x}" for x in PAIRS))
KINDS = {
    "mass alone": ("mass",),
    "all of an inertia": INERTIAL,
    "ten numbers": ("m", "mc_x", "mc_y", "mc_z", *(f"J_{x}" for x in PAIRS)),
    "of a dof": ("armature", "damping", "stiffness"),
    "all": (*INERTIAL, "armature", "damping", "stiffness"),
}  # fmt: skip


def _varied(mb, names, rng):
    """Values of parameters that four models can have: inertias of other bodies of about that mass and size."""
    rows = []
    for _ in range(4):
        other = mb.copy()
        for body in other.bodies:
            points = [sc.Inertia.point(0.3 * rng.uniform(1, 2), rng.uniform(-1, 1, 3)) for _ in range(5)]
            body.inertia = sum(points, body.inertia)
            if "com_x" not in "".join(names) and "m" not in [x.rpartition(".")[2] for x in names]:
                old = mb[body.name].inertia
                body.inertia = sc.Inertia(old.mass * rng.uniform(0.5, 2.0), old.com, old.moment)
        values = [
            rng.uniform(0.1, 2.0) if x.rpartition(".")[2] in ("armature", "damping", "stiffness")
            else float(sc.analysis.parameters(other, x)[0])
            for x in names
        ]  # fmt: skip
        rows.append(values)
    return np.array(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_accelerations_are_those_of_edited_models(kind):
    rng = np.random.default_rng(2)
    mb = sc.load("arm7")
    names = [f"{body}.{x}" for body in ("link2", "link5") for x in KINDS[kind]]
    values = _varied(mb, names, rng)
    s = sim.System("arm", integrator="rk4", step=0.01)
    plant = s.add("arm", sim.Plant(mb))
    s.check()
    s._compiled()
    q, v, force = rng.standard_normal((3, 4, mb.nv))
    before = mb.copy()
    models = LaneModels(plant.seat.mb, {"arm": plant}, {"arm": dict(zip(names, values.T, strict=True))})
    got = models.accelerations(q, v, force, np.arange(len(q)))
    for i in range(4):
        other = before.copy()
        set_parameters(other, names, values[i])
        expected = dyn.forward_dynamics(other, q[i], v[i], force[i])
        assert np.allclose(got[i], expected, rtol=1e-10, atol=1e-10 * abs(expected).max())
    assert all(a.inertia == b.inertia for a, b in zip(mb.bodies, before.bodies, strict=True))  # as it was


def test_a_mass_of_nothing_can_vary():
    """A massless tip that gets a mass: a pendulum of one point mass, g sin(q) / l."""
    mb = sc.Multibody("pendulum", gravity=(0, 0, -9.81))
    mb.add_body("rod", inertia=sc.Inertia(1.0, (0, 0, -1.0), np.zeros((3, 3))), hinge=sc.Pin((0, 1, 0)))
    mb.add_body("tip", inertia=sc.Inertia(0.0, (0, 0, -2.0), np.zeros((3, 3))), parent="rod", hinge=sc.Weld())
    s = sim.System("pendulum", integrator="rk4", step=0.01)
    plant = s.add("p", sim.Plant(mb))
    s._compiled()
    m = np.array([0.0, 1.0, 3.0])
    models = LaneModels(plant.seat.mb, {"p": plant}, {"p": {"tip.mass": m}})
    got = models.accelerations(np.full((3, 1), 0.5), np.zeros((3, 1)), np.zeros((3, 1)), np.arange(3))[:, 0]
    assert np.allclose(got, -9.81 * np.sin(0.5) * (1.0 + 2.0 * m) / (1.0 + 4.0 * m), rtol=1e-13)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("arm.lower.com", "'lower.com' of 'double_pendulum' is 3 numbers, and a path is one: lower.com_x, lower.com_y"),
        ("arm.lower.weight", "'arm.lower.weight' is no parameter of the plant 'arm': .*parameter 'lower.weight'"),
        ("arm.elbow.mass", "'arm.elbow.mass' is no parameter of the plant 'arm'"),
        ("arm.mass", r"of the plant 'arm' q\[dof\], v\[dof\] and parameters of its model vary, as 'arm.upper.mass'"),
    ],
)
def test_paths_that_are_no_parameter_are_refused(tmp_path, path, text):
    with pytest.raises(CampaignError, match=text):
        sim.Campaign(arm, folder(tmp_path), runs=2, t=0.1, vary={path: sim.Uniform(1, 2)})


def test_values_that_no_model_has_are_refused_with_their_run(tmp_path):
    with pytest.raises(CampaignError, match=r"'arm.lower.mass' would be -.* in run \d, which is refused: .*mass"):
        sim.Campaign(arm, folder(tmp_path), runs=9, t=0.1, vary={"arm.lower.mass": sim.Normal(0.0, 1.0)})


def test_a_model_that_was_given_keeps_its_parameters(tmp_path):
    """A campaign of a system varies copies of its model."""
    s = arm()
    mb = s._plants["arm"].mb
    c = sim.Campaign(s, folder(tmp_path), runs=3, t=0.1, vary={"arm.lower.mass": sim.Uniform(2, 3)},
                     measure={"q": "arm.q[upper][-1]"})  # fmt: skip
    c.run()
    assert "3 in batches" in c.status()
    assert mb["lower"].inertia.mass == 1.0
    assert set(c.effects().values()) == {"measures"}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_systems_of_equations_of_many_runs(n):
    """M x = f to rounding, of light and heavy runs; the same bits for a run alone."""
    rng = np.random.default_rng(n)
    X, f = rng.standard_normal((20, n, n)), rng.standard_normal((20, n))
    M = 10.0 ** rng.uniform(-9, 9, (20, 1, 1)) * (X @ X.transpose(0, 2, 1) + np.eye(n))
    x = solve_each(M, f)
    size = np.abs(M).max(axis=(1, 2)) * np.abs(x).max(axis=1)
    assert (np.abs((M @ x[..., None])[..., 0] - f).max(axis=1) <= 1e-13 * size).all()
    for i in (0, 19):
        assert solve_each(M[i : i + 1], f[i : i + 1])[0].tobytes() == x[i].tobytes()
