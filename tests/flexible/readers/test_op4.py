"""Matrices of Nastran's OUTPUT4 as text: all forms give the matrix back; what is wrong is refused with its line."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.models import slender
from tests.flexible.readers.files import op4_text

import soacraft.flexible as fx
from soacraft.errors import ModelFileError


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("form", ["dense", "sparse", "big"])
def test_every_form_gives_the_matrix_back(tmp_path, form, words):
    fe = slender(2)
    K, M = fe.K.toarray(), fe.M.toarray()
    K[:, 4], K[4] = 0.0, 0.0  # a null column is not written
    how = dict(sparse=form != "dense", big=form == "big", words=words)
    file = tmp_path / "body.op4"
    file.write_text(op4_text("KGG", K, **how) + op4_text("MGG", M, **how))
    np.testing.assert_array_equal(fx.read_matrix(file, "KGG").toarray(), K)
    np.testing.assert_array_equal(fx.read_matrix(file, name="mgg").toarray(), M)
    with pytest.raises(ModelFileError, match="has the matrices KGG, MGG; say which with name="):
        fx.read_matrix(file)
    with pytest.raises(ModelFileError, match="has no matrix 'KAA'"):
        fx.read_matrix(file, "KAA")
    file.write_text(op4_text("KGG", K, digits=9, **how))  # numbers without blanks between them
    np.testing.assert_allclose(fx.read_matrix(file).toarray(), K, rtol=1e-9)


def test_a_body_from_such_matrices(tmp_path):
    fe = slender(4)
    (tmp_path / "k.op4").write_text(op4_text("K", fe.K.toarray(), sparse=True))
    m = fe.M.sum() / 3 / 5 * np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 0.0], 5)
    (tmp_path / "m.op4").write_text(op4_text("M", np.diag(m)))
    made = fx.matrices(fx.read_matrix(tmp_path / "k.op4"), fx.read_matrix(tmp_path / "m.op4"), fe.nodes, dofs=6)
    made.interface("root", at=(0, 0, 0))
    assert fx.reduce(made, ["root"], "fixed", modes=2).n == 2


GOOD = op4_text("K", np.array([[2.0, -1.0], [-1.0, 3.0]]))
SPARSE = op4_text("K", np.array([[2.0, 0.0], [0.0, 3.0]]), sparse=True)
BAD = [
    ("", "is empty"),
    ("hello\n", ":1: a matrix begins with its columns, rows, form and type"),
    (GOOD.replace("       2       2       6", "       3       2       6"), ":1: .* is square, got 2 rows"),
    (GOOD.replace("       2       2       6", "99999999       2       6"), ":1: the number of columns must"),
    (GOOD.replace("       6       2K", "       6       4K"), ":1: a complex matrix is no stiffness or mass"),
    (GOOD.replace("       6       2K", "       9       2K"), ":1: a matrix of form 9 is not read"),
    (GOOD.replace("1P,3E23.16", "(*)"), r":1: the format '\(\*\)' is not known"),
    (GOOD.replace("1P,3E23.16", "1P,3E999.9"), ":1: numbers of 999 characters are not read"),
    (GOOD.replace("2.0000000000000000E+00", "2.0000000000000000E+0x"), ":3: '2.0*E\\+0x' is not a finite number"),
    (GOOD.replace("2.0000000000000000E+00", "2.0000000000000000E999"), "is not a finite number"),
    (GOOD.replace("       1       1       4", "       1       1      40"), ":2: 20 numbers of column 1 must"),
    (GOOD.replace("       1       1       4", "       1       2       4"), ":2: column 1 goes to row 3 of 2"),
    (GOOD.replace("       2       1       4", "       1       1       4"), ":4: column 1 comes after column 1"),
    (GOOD.replace("       2       1       4", "       2       1"), ":4: 3 whole numbers must be here"),
    (GOOD[:118], ":3: the file ends before the last column, 3"),
    (GOOD + GOOD, ":8: the matrix 'K' occurs twice"),
    (SPARSE.replace(f"{65536 * 3 + 1:8d}", f"{65536 * 3 + 9:8d}"), ":3: column 1 goes to row 9 of 2"),
    (SPARSE.replace(f"{65536 * 3 + 1:8d}", "       7"), ":3: the head of a string must be a whole number"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_refused_with_the_line(tmp_path, text, message):
    file = tmp_path / "k.op4"
    file.write_text(text)
    with pytest.raises(ModelFileError, match=message) as caught:
        fx.read_matrix(file)
    assert str(caught.value).startswith(str(file))


def test_a_name_is_for_files_of_several_matrices(tmp_path):
    (tmp_path / "k.sti").write_text("1 1 2.0\n")
    with pytest.raises(ModelFileError, match=r"has one matrix; name= is for \.op4 files"):
        fx.read_matrix(tmp_path / "k.sti", "K")
