"""Standard input data: what is written is read back to the same motion; files of other writers; refusals with lines."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.flexible.models import slender
from tests.flexible.readers import by_hand
from tests.flexible.readers.files import cloud_nodes

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ModelFileError
from soacraft.flexible.readers.sid_write import sid_text
from soacraft.model.modal.inertia import mass_derivatives, mass_matrix
from soacraft.spatial.rotations import skew


def boom(geometric=True):
    fe = slender(3)
    return fx.rereference(fx.reduce(fe, ["root", "tip"], modes=2, damping=0.02, geometric=geometric), "mean")


@pytest.mark.parametrize("geometric", [True, False])
@pytest.mark.parametrize("n", [1, 3, 4, 6])
def test_the_same_motion_comes_back(tmp_path, geometric, n):
    data, *_ = cloud_nodes(np.random.default_rng(n), n, geometric=geometric)
    file = tmp_path / "body.SID_FEM"
    fx.save(data, file)
    back = fx.read(file)
    eta = 0.1 * np.random.default_rng(1).standard_normal(n)
    np.testing.assert_allclose(mass_matrix(back, eta), mass_matrix(data, eta), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(mass_derivatives(back, eta), mass_derivatives(data, eta), rtol=1e-12, atol=1e-13)
    for name in ("K", "D", "mass", "p", "N"):
        np.testing.assert_allclose(getattr(back, name), getattr(data, name), rtol=1e-12, atol=1e-13)
    assert back.geometric == geometric == ("modal data" not in [x.element for x in back.import_report.entries])
    for one, other in zip(data.nodes.values(), back.nodes.values(), strict=True):
        for name in ("gam", "lam"):
            np.testing.assert_array_equal(getattr(other, name), getattr(one, name))
        if geometric:
            np.testing.assert_array_equal(other.gam2, one.gam2)
    assert (list(back.nodes), back.modes) == (list(data.nodes), data.modes)


def test_names_of_nodes_and_modes_come_back(tmp_path):
    """Any text is a name: with signs of the format, of other alphabets, or as a number of FE."""
    data = boom()
    assert list(data.nodes) == ["root", "tip"]
    names = {"root = end part": data.nodes["root"], 'Spitze "ü"\n': data.nodes["tip"]}
    data = replace(data, nodes=names, modes=tuple(f"η {k}" for k in range(data.n)))
    fx.save(data, tmp_path / "boom.SID_FEM")
    back = fx.read(tmp_path / "boom.SID_FEM")
    assert (list(back.nodes), back.modes) == (list(names), data.modes)
    for one, other in zip(data.nodes.values(), back.nodes.values(), strict=True):
        np.testing.assert_allclose(other.pose.translation, one.pose.translation, atol=1e-15)
    text = (tmp_path / "boom.SID_FEM").read_text()
    assert re.findall(r"new node = (.*)", text) == ["1", "2"]
    body = text[: text.index("\nend part\n") + 10]  # what other programs read
    (tmp_path / "other.SID_FEM").write_text(body)
    assert list(fx.read(tmp_path / "other.SID_FEM").nodes) == ["fe:1", "fe:2"]


def test_numbers_of_fe_nodes_are_kept(tmp_path):
    data = boom()
    names = {"fe:7001": data.nodes["root"], "fe:17": data.nodes["tip"]}
    text = sid_text(replace(data, nodes=names))
    assert re.findall(r"new node = (.*)", text) == ["7001", "17"]
    (tmp_path / "boom.SID_FEM").write_text(text)
    assert list(fx.read(tmp_path / "boom.SID_FEM").nodes) == list(names)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('node(1) = "root"', "node(1) = root", "a name is a text of JSON of up to 1000 characters, got 'root'"),
        ('node(1) = "root"', 'node(1) = ""', "a name is a text of JSON"),
        ('node(1) = "root"', f'node(1) = "{"x" * 1001}"', "a name is a text of JSON"),
        ('node(1) = "root"', f"node(1) = {'[' * 50_000}", "a name is a text of JSON"),
        ('node(1) = "root"', 'node(3) = "root"', r"node\(3,\) is no node, or no mode, of the file"),
        ('node(1) = "root"', 'frog(1) = "root"', r"frog\(1,\) is no node"),
        ('node(1) = "root"\n', "", "1 of 2 have names: each node needs one"),
        ('node(1) = "root"', 'node(1) = "tip"', "two are called 'tip'"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path, old, new, message):
    text = sid_text(boom())
    assert text.count(old) == 1
    file = tmp_path / "boom.SID_FEM"
    file.write_text(text.replace(old, new))
    with pytest.raises(ModelFileError, match=message):
        fx.read(file)


def test_a_reduced_beam_and_turned_nodes(tmp_path):
    for geometric in (True, False):
        data = boom(geometric)
        fx.save(data, tmp_path / "boom.SID_FEM")
        back = fx.read(tmp_path / "boom.SID_FEM")
        eta = 0.05 * np.random.default_rng(2).standard_normal(data.n)
        size = np.sqrt(np.diagonal(mass_matrix(data, eta)))
        off = (mass_matrix(back, eta) - mass_matrix(data, eta)) / np.outer(size, size)
        np.testing.assert_allclose(off, 0, atol=1e-9)


def test_the_moments_are_those_of_the_book():
    """Sums over point masses, as the book defines them, against what is written."""
    data, m, r, phi, _ = cloud_nodes(np.random.default_rng(3), 2)
    text = sid_text(data)

    def value(block, place):
        inner = text[text.index(f"\n{block}\n") : text.index(f"\nend {block}\n")]
        return float(re.search(rf"\n{re.escape(place)} = (.*)", inner)[1])

    def total(f):
        return sum(m[k] * f(k) for k in range(len(m)))

    w = np.array([0.3, 0.7, -0.4])
    gr = total(lambda k: -2.0 * skew(r[k]) @ skew(phi[k, :, 1]))
    assert value("Gr", "m0(2,2)") == pytest.approx(gr[1, 0], rel=1e-12)  # axis x, mode 2
    ge = total(lambda k: 2.0 * np.cross(phi[k, :, 1], phi[k, :, 0]))  # Phi_1* 2 w x phi_2 = ge . w
    assert value("Ge", "m0(1,4)") == pytest.approx(ge[1], rel=1e-12)
    oe = np.array([value("Oe", f"m0(2,{k})") for k in range(1, 7)])
    products = np.array([w[0] ** 2, w[1] ** 2, w[2] ** 2, w[0] * w[1], w[1] * w[2], w[0] * w[2]])
    force = total(lambda k: phi[k, :, 1] @ np.cross(w, np.cross(w, r[k])))
    assert oe @ products == pytest.approx(force, rel=1e-12)
    moving = np.array([value("Oe", f"m1(1,2,{k})") for k in range(1, 7)])
    assert moving @ products == pytest.approx(total(lambda k: phi[k, :, 0] @ np.cross(w, np.cross(w, phi[k, :, 1]))))
    J1 = total(lambda k: -skew(r[k]) @ skew(phi[k, :, 0]) - skew(phi[k, :, 0]) @ skew(r[k]))
    assert value("J", "m1(6,1,1)") == pytest.approx(J1[2, 1], rel=1e-12)
    turning = total(lambda k: np.cross(phi[k, :, 0], phi[k, :, 1]))
    assert value("Cr", "m1(2,1,3)") == pytest.approx(turning[2], rel=1e-12)


def read_by_hand(tmp_path, *changes):
    text = by_hand.SID
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file = tmp_path / "body.SID_FEM"
    file.write_text(text)
    return fx.read(file)


def test_a_file_as_fembs_writes_it(tmp_path):
    """Moments of four point masses by hand, in the orders and the numbers of FEMBS."""
    data = read_by_hand(tmp_path)
    assert data.mass == by_hand.MASS
    np.testing.assert_allclose(data.first, by_hand.FIRST, rtol=1e-15)
    np.testing.assert_allclose(data.inertia.matrix()[:3, :3], by_hand.J, atol=1e-14)
    for name in ("p", "N", "Q", "M", "K"):
        np.testing.assert_allclose(getattr(data, name), getattr(by_hand, name.upper()), atol=1e-14, err_msg=name)
    assert data.kinds == ("Eigen Mode 1 : 1.592 Hz", "Eigen Mode 2 : 1.007 Hz")
    node = data.node("fe:17")
    np.testing.assert_array_equal(node.pose.translation, [1, 0, 0])
    np.testing.assert_array_equal(node.gam, [[0, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(node.lam, [[0, 0.5], [0, 0], [0, 0]])
    assert not data.geometric
    again = tmp_path / "again.SID_FEM"
    fx.save(data, again)
    for name in ("first", "second", "p", "N", "Q", "M", "K"):
        np.testing.assert_allclose(getattr(fx.read(again), name), getattr(data, name), atol=1e-14, err_msg=name)


def test_geometric_stiffening_as_fembs_writes_it(tmp_path):
    """A swings on an arm of 1 m in mode 1, x = 1 - q^2 / 2: a spin about z by w adds 2 w^2 to its stiffness of 200."""
    order, first = "m0( 1, 3)             = 2.0", "m1( 1, 1, 1)          =-2.00000000000D+00\n"
    head = "Ct\n                          order                 =    0"
    data = read_by_hand(
        tmp_path,
        (head, head.replace("=    0", "=    1")),
        (order, f"m1( 1, 1, 1)          =-2.00000000000D+00\n{order}"),
        (f"{first}                          m1( 1, 1, 2)          =-2.00000000000D+00\n",
         f"{first}                          m1( 1, 1, 3)          = 2.00000000000D+00\n"),
    )  # fmt: skip
    assert data.geometric
    np.testing.assert_allclose(data.S[0, 0], [-2, 0, 0], atol=1e-14)  # sum m phi2
    both = by_hand.Q[0, 0] + np.diag([-2.0, 0, 0])  # Q + T
    np.testing.assert_allclose(data.Q[0, 0] + data.T[0, 0], both, atol=1e-14)
    mb = sc.Multibody("spun", gravity=(0, 0, 0))
    mb.add_body("body", None, sc.Pin((0, 0, 1)), modal=data)
    spun = sc.dynamics.inverse_dynamics(mb, [0.0, 1e-3, 0.0], [5.0, 0.0, 0.0], np.zeros(3))
    assert spun[1] == pytest.approx((200 + 2 * 25) * 1e-3, rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("m0( 1, 4)             =-1.2", "m0( 1, 4)             =-1.3", "Cr and Gr have the same"),
        ("m1( 4, 2, 1)          =-8.0", "m1( 4, 2, 1)          =-7.0", "J and Gr have the same"),
        ("m1( 1, 2, 1)          = 3.0", "m1( 1, 2, 1)          = 3.5", "mdCM and Ct have the same"),
        ("nrow                  =    6", "nrow                  =    4", "nrow of 'J' must be 3, got 4"),
        (" part\n      new", " parts\n      new", "block 'part' is missing"),
    ],
)
def test_a_file_of_fembs_that_contradicts_itself(tmp_path, old, new, text):
    with pytest.raises(ModelFileError, match=text):
        read_by_hand(tmp_path, (old, new))


def other_writer(text, n):
    """m1 by (row, column, mode), J as a matrix, Gr and Ge by modes, the columns of Oe as xx, yy, zz, xy, xz, yz, frames
    as 'new frame'."""

    def changed(block, change):
        start, stop = text.index(f"\n{block}\n"), text.index(f"\nend {block}\n")
        return text[:start] + change(text[start:stop]) + text[stop:]

    def by_mode(x):
        axis, mode = divmod(int(x[2]) - 1, n)
        return f"m0({x[1]},{3 * mode + axis + 1})"

    place = ["1,1", "2,2", "3,3", "2,1", "3,1", "3,2"]
    text = changed("J", lambda x: re.sub(r"m0\((\d),1\)", lambda y: f"m0({place[int(y[1]) - 1]})", x))
    text = changed(
        "J",
        lambda x: re.sub(
            r"m1\((\d),(\d+),1\)",
            lambda y: "m1({},{},{})".format(*place[int(y[1]) - 1].split(",")[:1], y[2], place[int(y[1]) - 1][-1]),
            x,
        ),
    )
    text = changed("J", lambda x: x.replace("nrow = 6", "nrow = 3").replace("ncol = 1", "ncol = 3"))
    text = changed("J", lambda x: x.replace("structure = 3", "structure = 2"))
    for name in ("Gr", "Ge"):
        text = changed(name, lambda x: re.sub(r"m0\((\d+),(\d+)\)", by_mode, x))
    text = re.sub(r"m1\((\d+),(\d+),(\d+)\)", r"m1( \1, \3, \2)", text)
    text = changed("Oe", lambda x: re.sub(r"m0\((\d+),([56])\)", lambda y: f"m0({y[1]},{11 - int(y[2])})", x))
    text = changed(
        "Oe", lambda x: re.sub(r"m1\( (\d+), ([56]), (\d+)\)", lambda y: f"m1( {y[1]}, {11 - int(y[2])}, {y[3]})", x)
    )
    return text.replace("\nframe\n", "\nnew frame\n")


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_files_of_other_writers(tmp_path, n):
    data, *_ = cloud_nodes(np.random.default_rng(n), n)
    file = tmp_path / "body.sid_fem"
    file.write_text(other_writer(sid_text(data), n))
    back = fx.read(file)
    eta = np.full(n, 0.2)
    np.testing.assert_allclose(mass_matrix(back, eta), mass_matrix(data, eta), rtol=1e-12, atol=1e-13)
    notes = [x.note for x in back.import_report.entries]
    assert "columns xx, yy, zz, xy, xz, yz" in notes
    assert ("columns by modes" in notes) == (n > 1)


def replaced(old, new):
    return lambda text: text.replace(old, new, 1)


def cut(block):
    return lambda text: text.replace(text[text.index(f"\n{block}\n") : text.index(f"\nend {block}\n")], "", 1)


BAD = [
    (lambda text: "", "block 'part' is missing"),
    (lambda text: text[:300], "has no end"),
    (replaced("nelastq = 2", "nelastq = 20000"), r":6: nelastq must be a whole number from 1 to 1000, got '20000'"),
    (replaced("nelastq = 2", "nelastq = 3"), r":389: nrow of 'Ct' must be 3, got 2"),
    (replaced("end refmod", "end part"), r":9: 'end part' ends no block here; 'end refmod' is expected"),
    (replaced("end part", ""), "block 'part' has no end"),
    (replaced("part", "part\n" + "deep\n" * 20), ":10: 'deep' begins no block; blocks .* are at most 8 deep"),
    (replaced("mass = ", "mass = x"), r":5: 'x[\d.]*' is not a finite number"),
    (replaced("mass = ", "mass = 3\nmass = "), ":6: 'mass = .*' is no entry, or one of that name is there already"),
    (replaced("m0(1,1) = ", "m0(9,1) = "), r":\d+: an index is outside of 3 x 1"),
    (replaced("m0(1,1) = ", "m0(1,1) = 1e999"), "is not a finite number"),
    (replaced("order = 1", "order = 0"), r":\d+: m1\(1, 1, 1\) is not read in 'origin' of order 0"),
    (replaced("structure = 3", "structure = 7"), "structure must be a whole number from 0 to 4, got '7'"),
    (replaced("nrow = 3", "nrow = 1000000000"), "nrow of 'origin' must be 3, got 1000000000"),
    (replaced("new node = 2", "new node = 1"), "'node' '1' is no node, or one of that number is there"),
    (replaced("\nGr\n", "\nGx\n"), "'end Gr' ends no block here; 'end Gx' is expected"),
]


@pytest.mark.parametrize(("damage", "text"), BAD, ids=[text[:40] for _, text in BAD])
def test_refused_with_the_line(tmp_path, damage, text):
    data, *_ = cloud_nodes(np.random.default_rng(3), 2, points=4)
    file = tmp_path / "body.SID_FEM"
    file.write_text(damage(sid_text(data)))
    with pytest.raises(ModelFileError, match=text) as caught:
        fx.read(file)
    assert str(caught.value).startswith(str(file))


def test_signs_and_orders_that_contradict_each_other(tmp_path):
    data, *_ = cloud_nodes(np.random.default_rng(3), 2)
    text, file = sid_text(data), tmp_path / "body.SID_FEM"

    def negated(block):
        start, stop = text.index(f"\n{block}\n"), text.index(f"\nend {block}\n")
        return text[:start] + re.sub(r"(m\d\(.*\)) = ", r"\1 = -", text[start:stop]).replace("--", "") + text[stop:]

    for block, message in (("Cr", "Cr and Gr have the same"), ("Oe", "Oe and Gr have the same"),
                           ("Ge", "Ge and Cr have the same"), ("Gr", "Cr and Gr have the same")):  # fmt: skip
        file.write_text(negated(block))
        with pytest.raises(ModelFileError, match=rf":\d+: {message} moments of the modes, and differ by"):
            fx.read(file)
    file.write_text(negated("Me"))
    with pytest.raises(ModelFileError, match="the modal mass M is singular or indefinite"):
        fx.read(file)


def test_what_is_ignored_is_said(tmp_path):
    data, *_ = cloud_nodes(np.random.default_rng(3), 2, points=4)
    text = sid_text(data)
    text = text.replace(
        "\nksigma\norder = 0\nnrow = 2\nncol = 1\nnq = 2\nnqn = 0\nstructure = 0\n",
        "\nksigma\norder = 0\nnrow = 2\nncol = 1\nnq = 2\nnqn = 0\nstructure = 3\nm0(1,1) = 4.0\n",
    )
    sigma = "\nsigma\norder = 0\nnrow = 6\nncol = 1\nstructure = 3\nm0(1,1) = 2.0\nend sigma"
    text = text.replace("\nend node", f"{sigma}\nend node", 1)
    text = text.replace("\nend modal", "\nextra\nx = 3\nend extra\nend modal")
    file = tmp_path / "body.SID_FEM"
    file.write_text(text)
    report = fx.read(file).import_report
    assert {x.element for x in report.ignored} == {"ksigma", "node/sigma", "extra", "modal data"}
    assert [x.element for x in report.not_simulated] == ["ksigma"]


def test_turned_nodes_come_back_either_way(tmp_path):
    """AP is the rotation of a node, or of the body in the node: its first order tells."""
    data, *_ = cloud_nodes(np.random.default_rng(3), 2, points=4)
    R = sc.Pose.from_rpy(0.3, -0.2, 0.5).rotation
    nodes = {name: replace(x, pose=sc.Pose(R, x.pose.translation)) for name, x in data.nodes.items()}
    text, file = sid_text(replace(data, nodes=nodes)), tmp_path / "body.SID_FEM"
    file.write_text(text)
    np.testing.assert_allclose(fx.read(file).node("fe:2").pose.rotation, R, atol=1e-14)

    def transposed(part):
        part = re.sub(r"m0\((\d),(\d)\)", r"m0(\2,\1)", part)
        return re.sub(r"m1\((\d),(\d),(\d)\)", r"m1(\3,\2,\1)", part)

    file.write_text(re.sub(r"\nAP\n.*?\nend AP", lambda x: transposed(x[0]), text, flags=re.DOTALL))
    np.testing.assert_allclose(fx.read(file).node("fe:2").pose.rotation, R, atol=1e-14)

    def constant(part):
        return re.sub(r"m1\(.*\n", "", part).replace("order = 1", "order = 0")

    file.write_text(re.sub(r"\nAP\n.*?\nend AP", lambda x: constant(x[0]), text, flags=re.DOTALL))
    back = fx.read(file)
    np.testing.assert_array_equal(back.node("fe:2").pose.rotation, np.eye(3))
    assert "it may turn either way: the node has the axes of the body" in [x.note for x in back.import_report.ignored]
