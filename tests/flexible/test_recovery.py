"""Stresses and strains by modes against beam theory, and the calls on a body that need its FE nodes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.flexible.test_solids import bar

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ModelError
from soacraft.flexible.recovery import recovered

STEEL = fx.Elastic(200e9, 0.3, 7850.0)


def deflected(data, wrench):
    """eta under a wrench [moment; force] at the tip with the root held, of first order: K eta = Pi* f."""
    tip = data.node("tip")
    return np.linalg.solve(data.K, np.vstack([tip.lam, tip.gam]).T @ np.asarray(wrench))


@pytest.mark.parametrize(
    ("section", "c"), [(fx.Circle(0.02), 0.02), (fx.Tube(0.03, 0.004), 0.03), (fx.Rectangle(0.03, 0.05), 0.025)]
)
def test_bending_and_tension_of_a_cantilever(section, c):
    """sigma = F / A, and F (L - x) c / I in the middle of each element."""
    fe = fx.beam(1.0, section, STEEL, elements=8)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    data = fx.reduce(fe, ["root", "tip"], "guyan")
    s, x = section.section, (np.arange(8) + 0.5) / 8
    pulled = data.recover("stress", deflected(data, [0, 0, 0, 300.0, 0, 0]))
    np.testing.assert_allclose(pulled, np.full((8, 4), 300.0 / s.A), rtol=1e-9)
    bent = data.recover("stress", deflected(data, [0, 0, 0, 0, 0, 50.0]))
    np.testing.assert_allclose(np.abs(bent).max(axis=1), 50.0 * (1 - x) * c / s.Iy, rtol=1e-9)
    top = np.argmax([z for _, z in s.outermost])
    assert (bent[:, top] < 0).all()  # a load along z shortens the upper fibre
    moment = data.recover("section_force", deflected(data, [0, 0, 0, 0, 0, 50.0]))[:, 4]
    np.testing.assert_allclose(np.abs(moment), 50.0 * (1 - x), rtol=1e-9)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 0.6, 0.8)])
def test_all_forces_at_a_tip_at_once_by_statics(axis):
    """N, Qy, Qz and Mx, My, Mz of a cantilever in its own axes, and N / A - Mz y / Iz + My z / Iy at its corners."""
    section, elements, L = fx.Rectangle(0.03, 0.05), 5, 1.2
    fe = fx.beam(L, section, STEEL, elements=elements, axis=axis)
    e1 = np.array(axis, dtype=float)
    e3 = np.array([0, 0, 1.0]) - e1[2] * e1
    e3 /= np.linalg.norm(e3)
    R = np.column_stack([e1, np.cross(e3, e1), e3])
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=tuple(L * e1))
    data = fx.reduce(fe, ["root", "tip"], "guyan")
    T, my, mz, N, Qy, Qz = 11.0, 3.0, -5.0, 300.0, 40.0, -70.0
    eta = deflected(data, np.concatenate([R @ [T, my, mz], R @ [N, Qy, Qz]]))
    arm = L * (1 - (np.arange(elements) + 0.5) / elements)
    My, Mz = my - Qz * arm, mz + Qy * arm
    one = np.ones(elements)
    wanted = np.stack([N * one, Qy * one, Qz * one, T * one, My, Mz], axis=1)
    np.testing.assert_allclose(data.recover("section_force", eta), wanted, rtol=1e-7, atol=1e-6)
    s = section.section
    stress = [[N / s.A - b * y / s.Iz + a * z / s.Iy for y, z in s.outermost] for a, b in zip(My, Mz, strict=True)]
    np.testing.assert_allclose(data.recover("stress", eta), stress, rtol=1e-7, atol=1.0)


def test_a_solid_in_a_field_of_constant_strain_by_hookes_law():
    """Displacements A x: strains (A + A*) / 2 with angles twice that, stresses lame tr(A) + G (A + A*)."""
    fe = bar(n=3)
    A = 1e-3 * np.array([[1.0, 0.4, -0.3], [0.2, -2.0, 0.7], [0.5, -0.1, 3.0]])
    found = recovered(fe, np.column_stack([(fe.nodes @ A.T).ravel(), -2.0 * (fe.nodes @ A.T).ravel()]))
    pairs = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]
    strain = np.array([A[i, j] + (0.0 if i == j else A[j, i]) for i, j in pairs])
    lame, G = STEEL.E * STEEL.nu / ((1 + STEEL.nu) * (1 - 2 * STEEL.nu)), STEEL.E / (2 * (1 + STEEL.nu))
    stress = np.array([G * (A[i, j] + A[j, i]) + (lame * np.trace(A) if i == j else 0.0) for i, j in pairs])
    for k, factor in enumerate((1.0, -2.0)):
        for name, wanted in (("strain", strain), ("stress", stress)):
            each = np.broadcast_to(factor * wanted, found[name].shape[:2])
            np.testing.assert_allclose(found[name][:, :, k], each, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_a_section_of_numbers_has_no_stress():
    fe = fx.beam(1.0, fx.Section(1e-4, 1e-9, 1e-9, 2e-9), STEEL, elements=2)
    fe.interface("root", at=(0, 0, 0))
    data = fx.reduce(fe, ["root"], "fixed", modes=1)
    assert set(data.recovery) == {"strain", "section_force"}
    with pytest.raises(ModelError, match="these modal data do not recover 'stress'; did you mean 'strain'"):
        data.recover("stress", np.zeros(1))


def test_a_solid_under_tension():
    """Away from its ends a bar that is pulled has F / A along it and nothing across."""
    fe = bar(n=12)
    data = fx.reduce(fe, ["root", "tip"], "guyan")
    eta = deflected(data, [0, 0, 0, 1000.0, 0, 0])
    stress, strain = data.recover("stress", eta), data.recover("strain", eta)
    middle = np.abs(fe.nodes[fe.solid.cells].mean(axis=1)[:, 0] - 0.5) < 0.1
    sigma = 1000.0 / 0.05**2
    np.testing.assert_allclose(stress[middle, 0], sigma, rtol=1e-4)
    np.testing.assert_allclose(stress[middle, 1:], 0.0, atol=1e-4 * sigma)
    np.testing.assert_allclose(strain[middle, 0], sigma / STEEL.E, rtol=1e-4)
    np.testing.assert_allclose(strain[middle, 1:3], -STEEL.nu * sigma / STEEL.E, rtol=1e-3)


def test_the_calls_of_a_boom_on_a_hub():
    """From a beam to a body, its report, nodes, deflection and strains."""
    fe = fx.beam(length=2.0, section=fx.Tube(0.05, 0.002), material=fx.Elastic(70e9, 0.33, 2700.0), elements=20,
                 theory="timoshenko")  # fmt: skip
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(2, 0, 0))
    data = fx.reduce(fe, ["root", "tip"], method="craig_bampton", modes=6, damping=0.01)
    assert str(data.report()) == str(fx.report(data))
    mb = sc.Multibody("craft")
    hub = mb.add_body("hub", hinge=sc.Free(), inertia=sc.Inertia(40.0, (0, 0, 0), 5.0 * np.eye(3)))
    hub.add_node("flange", sc.Pose(translation=(0.5, 0, 0)))
    boom = mb.add_body("boom", parent="hub/flange", hinge=sc.Pin((0, 0, 1)), modal=data, hinge_node="root")
    mb.add_body("camera", parent="boom/tip", hinge=sc.Weld(), inertia=sc.Inertia(1.2))
    boom.add_node("sensor", on="fe:17")
    mb.set_force("boom/tip", np.array([0, 0, 0, 0, 5.0, 0]))
    mb.set_force("boom/sensor", np.array([0, 0, 0, 0, 1.0, 0]))
    assert fx.effective_mass(data).hz.shape == (12,)
    eta = np.zeros(12)
    eta[1] = 0.1  # the tip along y
    mb.q = {f"boom.mode{k}": x for k, x in enumerate(eta)}
    np.testing.assert_array_equal(mb["boom"].eta, eta)
    assert data.recover("stress", eta).shape == (20, 4)
    assert [x.name for x in boom.nodes] == ["root", "tip", "sensor"]
    places = [(1.7, 0, 0), (2, 0, 0)]
    np.testing.assert_array_equal(mb["boom"].deformed(places), mb["boom"].deformed()[[17, 20]])
    np.testing.assert_array_equal(mb["boom"].deformed([17, 20]), mb["boom"].deformed(places))
    np.testing.assert_array_equal(mb["boom"].deformed((2.0, 0, 0)), mb["boom"].deformed(20))
    np.testing.assert_allclose(mb["boom"].deformed((2.0, 0, 0)), (2, 0.1, 0), atol=1e-12)
    batch = np.stack([eta, 2 * eta])
    np.testing.assert_array_equal(mb["boom"].deformed(places, batch)[0], mb["boom"].deformed(places))
    linear = mb.pose("boom/sensor", "boom").translation - mb["boom"].deformed((1.7, 0, 0))
    assert np.abs(linear).max() < 0.1**2  # the node has what is of second order besides
    for points, text in (
        ((1.73, 0, 0), r"has no point of its modal data at \(1\.73, 0, 0\); the nearest is point 17 at \(1\.7, 0, 0\)"),
        ([21], "points of body 'boom' are 0 to 20, got 21 to 21"),
        ([0.5], r"points of body 'boom' must have shape"),
    ):
        with pytest.raises(ModelError, match=text):
            mb["boom"].deformed(points)
    with pytest.raises(ModelError, match="these modal data have no node 'fe:21'"):
        boom.add_node("other", on="fe:21")


def test_fe_nodes_move_as_those_that_were_named(tmp_path):
    fe = fx.beam(1.0, fx.Circle(0.01), STEEL, elements=4)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    named = fx.reduce(fe, ["root", "tip"], modes=1, nodes=[2])
    data = fx.reduce(fe, ["root", "tip"], modes=1)
    assert ("fe:2" in named.nodes, "fe:2" in named.fe_nodes) == (True, False)
    assert list(data.nodes) == ["root", "tip"]
    fx.save(data, tmp_path / "boom.npz")
    chord = fx.rereference(data, "chord")
    for one, other in ((named, data), (named, fx.read(tmp_path / "boom.npz")), (fx.rereference(named, "chord"), chord)):
        for name in ("gam", "lam", "gam2", "lam2"):
            np.testing.assert_array_equal(getattr(other.node("fe:2"), name), getattr(one.node("fe:2"), name))


def test_a_mesh_of_another_program():
    corner = np.array([(9.0, 9, 9), (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    cells = {"tetra": np.array([[1, 2, 3, 4]]), "triangle": np.array([[0, 1, 2]])}
    mesh = SimpleNamespace(points=corner, cells_dict=cells)
    fe = fx.solid(mesh, STEEL)
    assert fe.mass == pytest.approx(7850.0 / 6)
    for kinds, text in (
        ({"tetra": cells["tetra"], "hexahedron": np.zeros((1, 8), int)}, "this mesh has 'hexahedron', 'tetra'"),
        ({"triangle": cells["triangle"]}, "elements of one type, 'tetra' or 'tetra10'; this mesh has 'triangle'"),
        ({"tetra": cells["tetra"], "tetra10": np.zeros((1, 10), int)}, "this mesh has 'tetra', 'tetra10'"),
        ({"VTK_LAGRANGE_TETRAHEDRON": cells["tetra"]}, "this mesh has 'VTK_LAGRANGE_TETRAHEDRON'"),
    ):
        with pytest.raises(ModelError, match=text):
            fx.solid(SimpleNamespace(points=corner, cells_dict=kinds), STEEL)
    with pytest.raises(ModelError, match="a solid is made of a mesh with points and cells_dict, as meshio reads it"):
        fx.solid(corner, STEEL)
    with pytest.raises(ModelError, match=r"got 'part\.inp'\. Read the file first: meshio\.read\(path\)\."):
        fx.solid("part.inp", STEEL)
