"""Checks of hinges, inertias, SKO models and whole models at nine scales."""

import numpy as np
import pytest
from tests.scales.models import MODELS, arm, mixed
from tests.scales.scaled import NINE, scaled, scaled_hinge, scaled_inertia, scaled_state

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.health.motion import smallest_inertias
from soacraft.model.hinges import Hinge, examples
from soacraft.model.sizes.scale import scale_of, scaled_random_state
from soacraft.spatial.rotations import exp
from soacraft.view.structure import structure

nine_scales = pytest.mark.parametrize("units", NINE, ids=str)
LENGTHS = sorted({units.length for units in NINE})


# -- hinges -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-10, 1e7])
def test_every_hinge_passes_its_check(length):
    for hinge in examples():
        report = sc.check_hinge(scaled_hinge(hinge, length))
        assert report.ok, report


class Crank(Hinge):
    """A pin with its body on an arm; `off` is what its linear velocity is wrong by."""

    nq = nv = 1
    neutral_is_identity = False

    def __init__(self, arm, off=0.0):
        self.arm, self.off = arm, off

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        R = exp([0.0, 0.0, q[0]])
        return sc.Pose(R, R @ [self.arm, 0.0, 0.0])

    def H_T(self, q):
        return np.array([[0.0], [0.0], [1.0], [0.0], [(1.0 + self.off) * self.arm], [0.0]])


@pytest.mark.parametrize("length", LENGTHS)
def test_a_wrong_linear_velocity_is_seen(length):
    assert sc.check_hinge(Crank(length)).ok
    report = sc.check_hinge(Crank(length, off=1e-3))
    assert [line.name for line in report.failures] == ["pose rate / H_T"]


@pytest.mark.parametrize("length", LENGTHS)
def test_screws_that_are_one_motion(length):
    """Two threads of the same axis and pitch are one motion; of other pitches they are not."""
    sc.Screws([(0, 0, 1, 0, 0, length), (0, 0, 1, 0, 0, 2 * length)])
    sc.Screws([(0, 0, 1, 0, length, 0), (0, 0, 1, length, 0, 0), (0, 0, 0, 0, 0, 1)])
    with pytest.raises(ModelError, match="dependent in every configuration"):
        sc.Screws([(0, 0, 1, 0, 0, length), (0, 0, 2, 0, 0, 2 * length)])


# -- inertias -----------------------------------------------------------------------------------------------------


@nine_scales
def test_matrices_of_inertias(units):
    one = scaled_inertia(sc.Inertia(2.0, (0.3, 0.1, 0.2), np.diag([0.1, 0.2, 0.15])), units)
    M = one.matrix()
    back = sc.Inertia.from_matrix(M)
    root = np.sqrt(np.diag(M))
    np.testing.assert_allclose(back.matrix() / root[:, None] / root, M / root[:, None] / root, atol=1e-13)
    for i, j in ((0, 3), (3, 4), (4, 4), (1, 5), (5, 1)):
        off = M.copy()
        off[i, j] += 1e-3 * root[i] * root[j]
        with pytest.raises(ModelError, match="must have the form"):
            sc.Inertia.from_matrix(off)


@nine_scales
def test_inertias_of_sko_models_are_symmetric(units):
    M = scaled_inertia(sc.Inertia(2.0, (0.3, 0.1, 0.2), np.diag([0.1, 0.2, 0.15])), units).matrix()
    H = [[[0, 0, 1, 0, 0, 0]]]
    root = np.sqrt(np.diag(M))
    for i in range(6):
        for j in range(i):
            off = M.copy()
            off[i, j] += 1e-14 * root[i] * root[j]
            sc.SKOModel([-1], [None], H, [off], units=(["rrrmmm"], ["r"]))
            off[i, j] += 1e-6 * root[i] * root[j]
            with pytest.raises(ModelError, match="is not symmetric"):
                sc.SKOModel([-1], [None], H, [off], units=(["rrrmmm"], ["r"]))


# -- whole models -------------------------------------------------------------------------------------------------


@nine_scales
@pytest.mark.parametrize("name", MODELS)
def test_a_sound_model_has_no_errors(units, name):
    """Plausibility of sizes in kilograms and metres may be noted; nothing is wrong with the mechanics."""
    report = sc.check(scaled(MODELS[name](), units))
    assert [x for x in report if x.severity == "error"] == [], report


@nine_scales
def test_a_hinge_that_moves_nothing(units):
    mb = mixed()
    mb.add_body("flag", "body1", sc.Pin((0, 0, 1)))
    found = [x for x in sc.check(scaled(mb, units)) if x.severity == "error"]
    assert [(x.subject, x.text) for x in found] == [("hinge 'flag'", "has no inertia to move")]


@nine_scales
def test_hinge_inertias(units):
    here, there = (smallest_inertias(mb.sko()) for mb in (mixed(), scaled(mixed(), units)))
    np.testing.assert_allclose([there[k] for k in here], list(here.values()), rtol=1e-6)


@nine_scales
@pytest.mark.parametrize("name", MODELS)
def test_the_scale_and_random_states_go_with_the_units(units, name):
    here, there = MODELS[name](), scaled(MODELS[name](), units)
    one, other = scale_of(here), scale_of(there)
    assert other.length == pytest.approx(one.length * units.length)
    assert other.time == pytest.approx(one.time * units.time)
    q, v, vdot = scaled_random_state(here, 4)
    for x, y in zip(scaled_random_state(there, 4), scaled_state(here, units, q, v, vdot), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)


def test_a_model_without_lengths_or_gravity():
    mb = sc.Multibody("point", gravity=(0, 0, 0))
    mb.add_body("bead", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    assert scale_of(mb) == (1.0, 1.0)


@nine_scales
def test_pictures(units):
    """Turns are shaded by turns and travels by travels."""
    for make, expr in ((mixed, lambda s: s.R), (mixed, mass_matrix), (arm, mass_matrix)):
        here, there = (structure(expr(sc.operators(mb))) for mb in (make(), scaled(make(), units)))
        assert here == there


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T
