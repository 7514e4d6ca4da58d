"""Modal files of MBDyn: the moments are those of the lumped masses; what is wrong is refused with its line."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.readers import by_hand
from tests.flexible.readers.files import cloud_nodes, mbdyn_text

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ModelFileError
from soacraft.model.modal.inertia import mass_matrix


def written(tmp_path, text):
    file = tmp_path / "body.fem"
    file.write_text(text)
    return file


def sound(n=2, **more):
    data, m, r, phi, psi = cloud_nodes(np.random.default_rng(4), n)
    return data, mbdyn_text(m, r, phi, psi, data.M, data.K, **more)


def test_the_moments_of_the_lumped_masses(tmp_path):
    data, text = sound(D=0.1 * np.eye(2), labels=(10, 20, 30, 17, 5, 6))
    back = fx.read(written(tmp_path, text))
    eta = np.array([0.3, -0.2])
    np.testing.assert_allclose(mass_matrix(back, eta), mass_matrix(data, eta), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(back.K, data.K, rtol=1e-14)
    np.testing.assert_allclose(back.D, data.D, rtol=1e-14)
    for name, node in zip(("fe:10", "fe:20", "fe:30", "fe:17", "fe:5", "fe:6"), data.nodes.values(), strict=True):
        np.testing.assert_allclose(back.node(name).gam, node.gam, rtol=1e-14)
        np.testing.assert_allclose(back.node(name).lam, node.lam, rtol=1e-14)
        np.testing.assert_allclose(back.node(name).pose.translation, node.pose.translation, rtol=1e-14)
    mb = sc.Multibody()
    mb.add_body("boom", hinge=sc.Weld(), modal=back, hinge_node="fe:17")
    mb.add_body("tip", "boom/fe:5", sc.Weld(), sc.Inertia(1.0))
    assert mb.nv == 2


def test_a_file_as_femgen_writes_it(tmp_path):
    """Moments of four point masses by hand."""
    data = fx.read(written(tmp_path, by_hand.MBDYN))
    assert data.mass == by_hand.MASS
    np.testing.assert_allclose(data.first, by_hand.FIRST, rtol=1e-15)
    np.testing.assert_allclose(data.inertia.matrix()[:3, :3], by_hand.J, atol=1e-14)
    for name in ("p", "N", "Q", "M", "K"):
        np.testing.assert_allclose(getattr(data, name), getattr(by_hand, name.upper()), atol=1e-14, err_msg=name)
    assert list(data.nodes) == ["fe:17", "fe:20", "fe:30", "fe:40"]
    node = data.node("fe:17")
    np.testing.assert_array_equal(node.pose.translation, [1, 0, 0])
    np.testing.assert_array_equal(node.gam, [[0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(node.lam, [[0, 0.5], [0, 0], [0, 0]])
    assert "a row of zeros after the last node" in [x.note for x in data.import_report.ignored]
    text = by_hand.MBDYN.replace("  0.0000000000E+00\n** END", "  1.0000000000E+00\n** END")
    with pytest.raises(ModelFileError, match=r":\d+: record group 11, lumped masses, must have 24 numbers .* got 30"):
        fx.read(written(tmp_path, text))


def test_turns_of_nodes_with_moments_of_inertia_carry_momentum(tmp_path):
    """Against sum of m u . u + theta . J theta, the kinetic energy of lumped bodies, which shares no code."""
    _, m, r, phi, psi = cloud_nodes(np.random.default_rng(5), 2)
    rotary = np.tile([0.02, 0.03, 0.04], (6, 1))
    M = np.einsum("k,kai,kaj->ij", m, phi, phi) + np.einsum("ka,kai,kaj->ij", rotary, psi, psi)
    back = fx.read(written(tmp_path, mbdyn_text(m, r, phi, psi, M, np.eye(2), rotary=rotary)))
    np.testing.assert_allclose(back.M, M, rtol=1e-12)
    angular = sum(m[k] * np.cross(r[k], phi[k].T).T + rotary[k][:, None] * psi[k] for k in range(6))
    np.testing.assert_allclose(mass_matrix(back, np.zeros(2))[:3, 6:], angular, rtol=1e-12, atol=1e-14)


def test_the_report(tmp_path):
    _, text = sound(start=np.array([0.1, 0.0]))
    report = fx.read(written(tmp_path, text + "** RECORD GROUP 14, INVARIANT 3\n1 2 3\n")).import_report
    said = {entry.element: (entry.status, entry.note) for entry in report.entries}
    assert said["record group 8"] == ("used", "")
    assert said["record group 9"][0] == "converted"
    assert said["record group 14"] == ("ignored", "invariants follow from the lumped masses")
    assert "neither stiffens nor buckles" in said["modal data"][1]
    assert [x.element for x in report.not_simulated] == ["record group 3"]
    assert next(x.line for x in report.entries if x.element == "record group 2") == 7


def replaced(old, new):
    return lambda text: text.replace(old, new, 1)


BAD = [
    (lambda text: "", "is no modal file of MBDyn: it needs"),
    (replaced("VER2  6  2", "VER2  6  2000"), ":5: a number of modes must be a whole number from 0 to 1000"),
    (replaced("VER2  6  2", "VER2  6  0"), ":5: modes are 1 to 1000, got 0"),
    (replaced("VER2  6  2", "VER2  999999  2"), r":7: record group 2, labels of nodes, must have 999999"),
    (replaced("1 2 3 4 5 6", "1 2 3 4 5 x"), r":8: the label of a node must be a whole number .* got 'x'"),
    (replaced("1 2 3 4 5 6", "1 2 3 4 5 5"), ":7: the label of a node occurs twice"),
    (replaced("RECORD GROUP 8", "RECORD GROUP 14"), "record group 8, mode shapes, is missing"),
    (replaced("RECORD GROUP 11", "RECORD GROUP 16"), "has no record group 11: without lumped masses"),
    (replaced("RECORD GROUP 10", "RECORD GROUP 9"), r":56: record group 9 occurs twice, first in line 53"),
    (replaced("RECORD GROUP 2,", "RECORD GROUP 0,"), "record group 2, labels of nodes, is missing"),
    (lambda text: text[: len(text) // 2], "record group 9, modal mass, is missing"),
    (replaced("NODAL X COORDINATES\n", "NODAL X COORDINATES\nnan "), ":14: .*must have 6 numbers.* got 7"),
    (lambda text: text.replace("e-01", "e+999"), "is not a finite number"),
    (lambda text: text + "\u00e9", "is not a text of numbers"),
]


@pytest.mark.parametrize(("damage", "text"), BAD, ids=[text[:40] for _, text in BAD])
def test_refused_with_the_line(tmp_path, damage, text):
    file = written(tmp_path, damage(sound()[1]))
    with pytest.raises(ModelFileError, match=text) as caught:
        fx.read(file)
    assert str(caught.value).startswith(str(file))


def test_masses_that_do_not_belong_together(tmp_path):
    data, m, r, phi, psi = cloud_nodes(np.random.default_rng(4), 2)
    with pytest.raises(ModelFileError, match=r":\d+: the modal mass differs from that of the lumped masses by 0\.\d+"):
        fx.read(written(tmp_path, mbdyn_text(m, r, phi, psi, 1.2 * data.M, data.K)))
    c = data.first / data.mass
    inertia = data.mass, c, data.inertia.moment
    assert fx.read(written(tmp_path, mbdyn_text(m, r, phi, psi, data.M, data.K, inertia=inertia))).n == 2
    heavy = 1.1 * data.mass, c, data.inertia.moment
    with pytest.raises(ModelFileError, match=r":\d+: the inertia of the body differs from that of the lumped"):
        fx.read(written(tmp_path, mbdyn_text(m, r, phi, psi, data.M, data.K, inertia=heavy)))
    phi[:, :, 1], psi[:, :, 1] = [0.0, 0.3, 0.0], 0.0
    M = np.einsum("k,kai,kaj->ij", m, phi, phi)
    with pytest.raises(ModelFileError, match="the modes hold a motion of the rigid body"):
        fx.read(written(tmp_path, mbdyn_text(m, r, phi, psi, M, data.K)))
    text, first = mbdyn_text(m, r, phi, psi, M, data.K), f"{m[0]:.16e}"
    file = written(tmp_path, text.replace(f"{first} {first} {first}", f"{first} {first} 0.0"))
    with pytest.raises(ModelFileError, match=r"the lumped mass of the 1\. node differs along x, y and z"):
        fx.read(file)
