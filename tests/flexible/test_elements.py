"""The beam element against closed forms, FE models of beams against benchmarks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from tests.flexible.models import slender

import soacraft.flexible as fx
from soacraft.errors import ModelError
from soacraft.flexible.elements import element
from soacraft.spatial.pose import Pose

STEEL = fx.Elastic(200e9, 0.3, 8000.0)


def held(fe, *dofs):
    """omega of the FE model with dofs held."""
    free = np.setdiff1d(np.arange(fe.size), dofs)
    K, M = fe.K.toarray()[np.ix_(free, free)], fe.M.toarray()[np.ix_(free, free)]
    return np.sqrt(eigh(K, M, eigvals_only=True))


@pytest.mark.parametrize(("theory", "elements"), [("timoshenko", 1), ("timoshenko", 5), ("euler", 3)])
def test_a_cantilever_bends_stretches_and_twists_as_in_the_books(theory, elements):
    """Exact at nodes with any number of elements: F L^3 / 3 EI + F L / k G A, F L / EA, T L / GJ."""
    L, F = 2.0, 7.0
    s = fx.Section(A=3e-3, Iy=2e-6, Iz=5e-6, J=1.3e-6, ky=0.7, kz=0.8)
    fe = fx.beam(L, s, STEEL, elements, theory)
    d = np.linalg.solve(fe.K.toarray()[6:, 6:], np.eye(6 * elements)[:, -6:] * F)[-6:]
    E, G, shear = STEEL.E, STEEL.G, float(theory == "timoshenko")
    assert d[0, 0] == pytest.approx(F * L / (E * s.A), rel=1e-9)
    assert d[1, 1] == pytest.approx(F * L**3 / (3 * E * s.Iz) + shear * F * L / (0.7 * G * s.A), rel=1e-8)
    assert d[2, 2] == pytest.approx(F * L**3 / (3 * E * s.Iy) + shear * F * L / (0.8 * G * s.A), rel=1e-8)
    assert d[3, 3] == pytest.approx(F * L / (G * s.J), rel=1e-9)
    assert d[5, 1] == pytest.approx(F * L**2 / (2 * E * s.Iz), rel=1e-8)
    assert d[4, 2] == pytest.approx(-F * L**2 / (2 * E * s.Iy), rel=1e-8)  # down the beam turns about +y


def test_a_turned_beam_is_the_beam_turned():
    R = Pose.from_rpy(0.3, -0.8, 1.1).rotation
    section = fx.Rectangle(0.02, 0.05)
    straight = fx.beam(1.5, section, STEEL, 3)
    turned = fx.beam(1.5, section, STEEL, 3, axis=R[:, 0], up=R[:, 2])
    by = np.kron(np.eye(8), R)
    np.testing.assert_allclose(turned.K.toarray(), by @ straight.K.toarray() @ by.T, atol=1e-12 * abs(straight.K).max())
    np.testing.assert_allclose(turned.M.toarray(), by @ straight.M.toarray() @ by.T, atol=1e-12 * abs(straight.M).max())
    np.testing.assert_allclose(turned.points, straight.points @ R.T, atol=1e-14)


@pytest.mark.parametrize(
    ("axis", "across"),
    [((0, 0, 1), (1, 0, 0)), ((0, 0, -1), (1, 0, 0)), ((1, 1, 0), (0, 0, 1)), ((-1, 0, 0), (0, 0, 1)),
     ((0.6, 0, -0.8), (0.8, 0, 0.6))],
)  # fmt: skip
def test_which_way_is_up_unless_it_is_said(axis, across):
    """The height of a section lies in the plane of the beam and z, of an upright beam, up or down, in that of x."""
    L, F, section = 1.5, 7.0, fx.Rectangle(width=0.02, height=0.06)
    fe = fx.beam(L, section, STEEL, 2, "euler", axis=axis)
    e1, e3 = np.array(axis) / np.linalg.norm(axis), np.array(across)
    for direction, I in ((e3, section.section.Iy), (np.cross(e3, e1), section.section.Iz)):
        load = np.zeros(12)
        load[6:9] = F * direction
        bent = np.linalg.solve(fe.K.toarray()[6:, 6:], load)[6:9]
        np.testing.assert_allclose(bent, F * L**3 / (3 * STEEL.E * I) * direction, rtol=1e-8, atol=1e-12)


def test_mass_properties_of_a_bar_are_those_of_a_block():
    """Of points along and across: m/12 (b^2 + h^2) about the axis, and Steiner's about the root."""
    L, b, h = 1.2, 0.1, 0.3
    fe = fx.beam(L, fx.Rectangle(b, h), STEEL, 2)
    R = fe.rigid_motions()
    m = STEEL.rho * L * b * h
    moments = np.diagonal(R.T @ (fe.M @ R))[3:]
    assert fe.mass == pytest.approx(m)
    np.testing.assert_allclose(moments, m * np.array([(b**2 + h**2) / 12, h**2 / 12 + L**2 / 3, b**2 / 12 + L**2 / 3]))


@pytest.mark.parametrize(
    ("elements", "omega"), [(1, (3.5327315428, 34.8068931082)), (4, (3.5161302706, 22.0601663079))]
)
def test_few_elements_have_the_published_frequencies(elements, omega):
    got = held(slender(elements), *range(6))
    np.testing.assert_allclose(got[[0, 2]], omega, rtol=5e-8)  # rotary inertia: about 1e-9 times 16


def test_nafems_fv4_cantilever_with_masses_off_its_tip():
    """Its digits are of beams that do not shear."""
    fe = fx.beam(10.0, fx.Circle(0.25), STEEL, 8, theory="euler")
    for mass, y in ((10_000.0, -2.0), (1_000.0, 2.0)):
        fe.add_mass(mass, node=(10, 0, 0), at=(10, y, 0))
    hz = held(fe, *range(6)) / (2 * np.pi)
    np.testing.assert_allclose(hz[:6], [1.723, 1.727, 7.413, 9.972, 18.155, 26.957], rtol=2e-3)


def test_nafems_fv5_deep_simply_supported_beam():
    fe = fx.beam(10.0, fx.Rectangle(2.0, 2.0, shear=0.8497), STEEL, 60)
    end = fe.size - 6
    hz = held(fe, 0, 1, 2, 3, end + 1, end + 2) / (2 * np.pi)
    for value, times in ((42.645, 2), (71.20, 1), (125.00, 1), (148.149, 2), (283.468, 2)):
        assert np.sum(np.abs(hz - value) < 1e-3 * value) == times, value


def test_what_is_no_beam_is_refused():
    bar = fx.Circle(0.01)
    for call, text in (
        (lambda: fx.beam(0.0, bar, STEEL), "the length of a beam must be positive, got 0"),
        (lambda: fx.beam(1.0, bar, STEEL, 0), "elements of a beam must be a whole number of at least 1, got 0"),
        (lambda: fx.beam(1.0, 0.01, STEEL), "a section must be Tube, Circle, Rectangle or Section, got 0.01"),
        (lambda: fx.beam(1.0, bar, 200e9), r"the material of beam must be Elastic\(E, nu, rho\), got 200000000000"),
        (lambda: fx.beam(1.0, bar, STEEL, theory="reissner"), "theory of beam must be 'timoshenko' or 'euler'"),
        (lambda: fx.beam(1.0, bar, STEEL, up=(2, 0, 0)), "up of beam is along the beam"),
        (lambda: fx.Tube(0.01, 0.02), "the wall of a tube of radius 0.01 is at most as thick, got 0.02"),
        (lambda: fx.Circle(-1.0), "radius of a Circle must be positive, got -1"),
        (lambda: fx.Elastic(1.0, 0.5, 1.0), "ratio nu of an elastic material must be between -1 and 0.5, got 0.5"),
        (lambda: fx.Elastic(0.0, 0.3, 1.0), "E of an elastic material must be positive, got 0"),
        (lambda: element(np.zeros((2, 3)), 0, 1, bar, STEEL, "euler"), "beam has no length"),
    ):
        with pytest.raises(ModelError, match=text):
            call()


def test_torsion_constants_of_rectangles():
    """Timoshenko and Goodier's table: J / (long short^3)."""
    for ratio, value in ((1, 0.1406), (1.5, 0.196), (2, 0.229), (4, 0.281), (10, 0.312)):
        assert fx.Rectangle(ratio, 1.0).section.J / ratio == pytest.approx(value, abs=6e-4)


def test_a_frame_of_one_member_is_the_beam():
    tube = fx.Tube(0.05, 0.002)
    beam = fx.beam(2.0, tube, STEEL, 3)
    frame = fx.frame({"a": (0, 0, 0), "b": (2, 0, 0)}, [fx.Member("a", "b", tube, STEEL, elements=3)])
    order = np.concatenate([np.arange(6 * i, 6 * i + 6) for i in (0, 2, 3, 1)])  # joints come first
    np.testing.assert_allclose(frame.K.toarray()[np.ix_(order, order)], beam.K.toarray(), rtol=1e-12, atol=1e-3)
    assert frame.dof_name(7) == "ty of node 1 ('b')"


def test_what_is_no_frame_is_refused():
    bar = fx.Circle(0.01)
    joints = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (2, 0, 0)}
    for members, text in (
        ([], "a frame needs members"),
        ([("a", "b")], "members of a frame are fx.Member"),
        ([fx.Member("a", "d", bar, STEEL)], "member 'a'-'d' has no joint 'd'"),
        ([fx.Member("a", "b", bar, STEEL)], "joint 'c' of the frame has no member"),
    ):
        with pytest.raises(ValueError, match=text):
            fx.frame(joints, members)
