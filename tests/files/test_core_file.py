"""Models and expressions for C++: what is written, and what is refused. `tests/examples/test_cpp.py` loads them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft.errors import LoopError, ModelFileError


class OwnPin(sc.Pin):
    """A hinge of the user's."""


def two_bodies(hinge) -> sc.Multibody:
    mb = sc.Multibody("two")
    upper = mb.add_body("upper", inertia=sc.Inertia(1.0, [0, 0, -0.5], np.eye(3)), hinge=sc.Pin([0, 1, 0]))
    mb.add_body("lower", inertia=sc.Inertia(1.0, [0, 0, -0.5], np.eye(3)), hinge=hinge, parent=upper)
    return mb


def words(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 8}Q", data)


def checksum(data: bytes) -> int:
    total = 14695981039346656037
    for byte in data:
        total = (total ^ byte) * 1099511628211 % 2**64
    return total


@pytest.fixture
def files(tmp_path):
    mb = sc.load("arm7")
    H, psi = sc.operators(mb, "H psi")
    sc.save_core(mb, tmp_path / "model")
    (H * psi).compile().save(tmp_path / "expression")
    return tmp_path


@pytest.mark.parametrize(("name", "kind"), [("model", 1), ("expression", 2)])
def test_the_header_says_what_follows(files, name, kind):
    data = (files / name).read_bytes()
    assert data[:8] == b"soacraft"
    assert words(data)[1:5] == (3, kind, len(data) - 40, checksum(data[40:]))


def test_a_model_holds_its_parameters_as_they_are(files):
    """A change of one parameter changes the file; the change taken back gives it back."""
    mb, file = sc.load("arm7"), files / "again"
    sc.save_core(mb, file)
    before = file.read_bytes()
    assert before == (files / "model").read_bytes()
    gravity = mb.gravity
    for change, back in (
        (lambda: setattr(mb, "gravity", [0, 0, -1.62]), lambda: setattr(mb, "gravity", gravity)),
        (lambda: setattr(mb.bodies[3], "inertia", sc.Inertia(9.0, [0, 0, 0.1], np.eye(3))), None),
    ):
        change()
        sc.save_core(mb, file)
        assert file.read_bytes() != before
        if back:
            back()
            sc.save_core(mb, file)
            assert file.read_bytes() == before
    names = [frame.full_name.encode() for body in mb.bodies for frame in (body, *body.nodes)]
    assert all(name in before for name in names)
    assert np.float64(9.0).tobytes() in file.read_bytes()
    assert np.float64(9.0).tobytes() not in before


def test_an_expression_holds_the_parameters_as_they_are(tmp_path):
    mb = sc.load("arm7")
    H, psi = sc.operators(mb, "H psi")
    f = (H * psi).compile()
    f.save(tmp_path / "before")
    mb.bodies[3].inertia = sc.Inertia(9.0, [0, 0, 0.1], np.eye(3))
    f.save(tmp_path / "after")
    before, after = ((tmp_path / name).read_bytes() for name in ("before", "after"))
    assert np.float64(9.0).tobytes() not in before
    assert np.float64(9.0).tobytes() in after


def test_flexible_bodies_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"body 'body0' is flexible, and the files that C\+\+ load"):
        sc.save_core(flexible_tree((-1,), modes=(2,)), tmp_path / "bent.soacraft")


def test_what_only_python_knows_is_refused(tmp_path):
    file = tmp_path / "file"
    with pytest.raises(ModelFileError, match=r"is a OwnPin, which only Python knows. Use a built-in hinge"):
        sc.save_core(two_bodies(OwnPin([0, 1, 0])), file)
    mb = two_bodies(sc.Pin([0, 1, 0]))
    mb.bodies[1].gravity_compensation = 1.0
    with pytest.raises(ModelFileError, match="body 'lower' has weight compensation"):
        sc.save_core(mb, file)
    closed = sc.load("five_bar")
    with pytest.raises(LoopError, match=r"save_core: .* which the tree alone does not know"):
        sc.save_core(closed, file)
    assert not file.exists()
    sc.save_core(closed, file, ignore_loops=True)
    assert file.exists()


def test_what_is_no_model_or_has_no_file_is_refused(tmp_path):
    mb = two_bodies(sc.Pin([0, 1, 0]))
    with pytest.raises(ModelFileError, match="a Multibody is saved for C"):
        sc.save_core(mb.subgraph(["upper"]), tmp_path / "file")
    with pytest.raises(ModelFileError, match=r"a file for C.. has a name, such as 'arm.soacraft'; got 7"):
        sc.save_core(mb, 7)
    with pytest.raises(ModelFileError, match="it is a folder"):
        sc.save_core(mb, tmp_path)
    mb.bodies[1].add_node("n" * 1100)
    with pytest.raises(ModelFileError, match=r"'two' cannot be saved for C.*name of a frame has more than 1024 bytes"):
        sc.save_core(mb, tmp_path / "file")


def test_expressions_that_python_computes_a_part_of_are_refused(tmp_path):
    mb = sc.load("arm7")
    s = sc.operators(mb)
    part = sc.operators(mb.subgraph(["link3", "link4"]), axes="inertial")
    own = sc.operators(two_bodies(OwnPin([0, 1, 0])))
    for expr in (s.phi.dot(), part.H * part.phi, own.H * own.phi):
        with pytest.raises(ModelFileError, match=r"cannot be saved for C.*a part of it is computed in Python"):
            expr.compile().save(tmp_path / "file")
    assert not (tmp_path / "file").exists()
