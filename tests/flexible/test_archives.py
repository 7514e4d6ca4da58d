"""Modal data and matrices in files: kept to the last digit, damaged ones refused by name."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from scipy.io import mmread, mmwrite
from scipy.sparse import tril
from tests.flexible.models import slender

import soacraft.flexible as fx
from soacraft.errors import ModelError, ModelFileError


def boom(**more):
    return fx.reduce(slender(3), ["root", "tip"], modes=1, damping=0.01, **more)


@pytest.mark.parametrize("geometric", [True, False])
def test_modal_data_come_back_to_the_last_digit(tmp_path, geometric):
    data, file = boom(geometric=geometric), tmp_path / "boom.npz"
    fx.save(data, file)
    back = fx.read(str(file))
    for name in ("mass", "first", "second", "p", "N", "Q", "M", "K", "D", "S", "T", "points", "shapes"):
        np.testing.assert_array_equal(getattr(back, name), getattr(data, name), err_msg=name)
    assert (back.modes, back.kinds, back.notes) == (data.modes, data.kinds, data.notes)
    assert list(back.nodes) == ["root", "tip"]
    for name in ("gam", "lam", "gam2", "lam2"):
        np.testing.assert_array_equal(getattr(back.node("tip"), name), getattr(data.node("tip"), name), err_msg=name)
    assert back.node("tip").pose == data.node("tip").pose
    eta = 0.1 * np.ones(7)
    np.testing.assert_array_equal(back.skin.corners(eta), data.skin.corners(eta))
    np.testing.assert_array_equal(back.skin.triangles, data.skin.triangles)
    np.testing.assert_array_equal(back.recover("strain", np.ones(7)), data.recover("strain", np.ones(7)))


def rewritten(file, **changed):
    """The members of a file with some arrays put in their place, or left out where None."""
    with np.load(file) as arrays:
        kept = {**dict(arrays), **changed}
    np.savez(file, **{name: x for name, x in kept.items() if x is not None})


def test_files_that_are_not_modal_data_are_refused(tmp_path):
    good = tmp_path / "good.npz"
    fx.save(boom(), good)
    content = good.read_bytes()
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    cases = {
        "it is missing its K": (dict(K=None), "the array 'K' is missing"),
        "another number of modes": (dict(K=np.eye(3)), r"K of modal data must have shape \(7, 7\), got shape \(3, 3\)"),
        "not finite": (dict(p=np.full((7, 3), np.nan)), "p of modal data must be finite"),
        "no shapes of its skin": ({"skin.gam": None}, "the array 'skin.gam' is missing"),
        "a skin of other corners": (
            {"skin.triangles": np.array([[0, 1, 10**9]])}, "triangles of the skin of modal data must be whole numbers",
        ),
        "no names": (dict(names=None), "is not of the format 'soacraft-modal/1'"),
        "other names": (dict(names=np.frombuffer(b'{"format": 3}', dtype=np.uint8)), "is not of the format"),
        "objects": (dict(K=np.array([{}], dtype=object)), "is damaged: an array holds object, not numbers"),
        "text": (dict(K=np.array(["a"])), "is damaged: an array holds <U1, not numbers"),
    }
    for name, (changed, text) in cases.items():
        file = tmp_path / f"{name.replace(' ', '_')}.npz"
        file.write_bytes(content)
        rewritten(file, **changed)
        with pytest.raises(ModelFileError, match=text) as caught:
            fx.read(file)
        assert str(file) in str(caught.value)
    bomb = tmp_path / "bomb.npz"
    with zipfile.ZipFile(bomb, "w") as archive:
        archive.writestr("K.npy", header.getvalue())  # a terabyte by its header, nothing behind it
    with pytest.raises(ModelFileError, match="is damaged: cannot reshape"):
        fx.read(bomb)
    for path, text in (("none.npz", "there is no such file"), ("boom.txt", "files that end in .npz, .sid_fem, .fem")):
        with pytest.raises(ModelFileError, match=text):
            fx.read(tmp_path / path)
    with pytest.raises(ModelError, match="modal data are needed to save them, got 3"):
        fx.save(3, good)
    with pytest.raises(ModelError, match="a file of modal data takes a path"):
        fx.read(5)


def damaged(content, rng):
    """Some bytes changed, cut out or repeated."""
    x = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(x)))
        kind = rng.integers(3)
        if kind == 0:
            x[at] = int(rng.integers(256))
        elif kind == 1:
            del x[at : at + int(rng.integers(1, 40))]
        else:
            x[at:at] = x[at : at + int(rng.integers(1, 40))]
    return bytes(x)


def test_damaged_files_are_read_or_refused(tmp_path):
    rng, npz, text = np.random.default_rng(3), tmp_path / "boom.npz", tmp_path / "k.mtx"
    fx.save(boom(), npz)
    mmwrite(text, tril(slender(1).K), symmetry="general")
    files = {npz: (npz.read_bytes(), fx.read), text: (text.read_bytes(), fx.read_matrix)}
    for file, (content, call) in files.items():
        said = []
        for _ in range(80):
            file.write_bytes(damaged(content, rng))
            try:
                call(file)
            except ModelFileError as problem:
                said.append(str(problem))
        assert len(said) > 20
        assert all(str(file) in x and len(x) < 1000 for x in said)


def test_matrices_of_three_programs(tmp_path):
    fe = slender(2)
    K = np.tril(fe.K.toarray())
    K = K + np.tril(K, -1).T  # the upper half differs in the last digit
    i, j = np.nonzero(np.tril(K))
    market = tmp_path / "k.mtx"
    mmwrite(market, tril(fe.K), symmetry="symmetric", precision=17)
    calculix, abaqus = tmp_path / "k.sti", tmp_path / "k.inp"
    calculix.write_text("".join(f"{b + 1} {a + 1} {float(K[a, b])!r}\n" for a, b in zip(i, j, strict=True)))
    label = np.array([10, 20, 40])
    place = [f"{label[a // 6]},{a % 6 + 1}" for a in range(18)]
    rows = [f"{place[a]}, {place[b]}, {float(K[a, b])!r}" for a, b in zip(i, j, strict=True)]
    abaqus.write_text("\n".join(["*MATRIX INPUT", *rows]))
    for file in (market, calculix, abaqus):
        np.testing.assert_array_equal(fx.read_matrix(file).toarray(), K)


@pytest.mark.parametrize("banner", ["%%MatrixMarket matrix", "%%matrixmarket Matrix", "%%MATRIXMARKET MATRIX"])
@pytest.mark.parametrize("symmetry", ["symmetric", "General"])
@pytest.mark.parametrize("field", ["real", "integer", "INTEGER"])
@pytest.mark.parametrize("form", ["coordinate", "Array"])
def test_every_real_form_of_matrix_market_is_read(tmp_path, banner, form, field, symmetry):
    """Against scipy's reader of the format."""
    K = np.array([[4, -1, 0, 2], [-1, 5, 3, 0], [0, 3, 6, -2], [2, 0, -2, 7]])
    if symmetry == "General":
        K = K + np.array([[0, 1, 0, 0], [0, 0, 0, 0], [7, 0, 0, 0], [0, 0, 0, 0]])
    half = [(i, j) for j in range(4) for i in range(j if symmetry == "symmetric" else 0, 4)]  # column by column
    value = (lambda x: f"{x}.0E0") if field == "real" else str
    if form == "Array":
        rows = ["4 4", *(value(K[i, j]) for i, j in half)]
    else:
        rows = [f"4 4 {sum(K[i, j] != 0 for i, j in half)}"]
        rows += [f"{i + 1} {j + 1} {value(K[i, j])}" for i, j in half if K[i, j]]
    file = tmp_path / "k.mtx"
    file.write_text("\n".join([f"{banner} {form} {field} {symmetry}", "% a comment", *rows, ""]))
    read = fx.read_matrix(file)
    assert read.dtype == np.float64
    np.testing.assert_array_equal(read.toarray(), K)
    file.write_text(file.read_text().lower().replace("%%matrixmarket", "%%MatrixMarket"))
    peer = mmread(file)
    np.testing.assert_array_equal(peer if isinstance(peer, np.ndarray) else peer.toarray(), K)


def test_texts_that_are_no_matrix_are_refused(tmp_path):
    file = tmp_path / "k.mtx"
    head = "%%MatrixMarket matrix coordinate real symmetric\n"
    for text, message in (
        ("", "is no matrix that is known.*its first line has 0 columns"),
        ("1 2\n", "its first line has 2 columns"),
        ("1 1 2\n1 2\n", "every line must have 3 finite numbers"),
        ("1 1 nan\n", "every line must have 3 finite numbers"),
        ("0 1 2\n", "must be whole numbers from 1 to"),
        ("1.5 1 2\n", "must be whole numbers from 1 to"),
        ("1 1e9 2\n", "must be whole numbers from 1 to"),
        ("1 x 2\n", "could not convert string to float: 'x'"),
        ("1,7,1,7,2.0\n", "dofs of a node are 1 to 6, got 7"),
        ("%%MatrixMarket matrix array real general\n", "must be whole numbers from 0 to"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "says 2 x 2, which has 4, and 3 are there"),
        ("%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n4\n", "says 2 x 2, which has 3, and 4 are there"),
        ("%%MatrixMarket matrix array real general\n1 2\n1\n2\n", "says 1 x 2, which has 2, and 2 are there"),
        ("%%MatrixMarket matrix array real general\n1 1\n1 2\n", "every line must have 1 finite numbers"),
        ("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", "says 'integer', and 1.5 is none"),
        ("%%MatrixMarket matrix array integer general\n1 1\n0.5\n", "says 'integer', and 0.5 is none"),
        ("%%MatrixMarket matrix coordinate complex general\n", r"has 'complex' \(stiffness and mass are real"),
        ("%%MatrixMarket matrix coordinate pattern general\n", r"has 'pattern' \(a pattern has places and no values\)"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", r"has 'hermitian' \(stiffness and mass are real"),
        ("%%MatrixMarket matrix array real skew-symmetric\n", r"'skew-symmetric' \(stiffness and mass are symmetric\)"),
        ("%%MatrixMarket vector array real general\n", r"has 'vector' \(a vector is no matrix\) where its head needs"),
        ("%%MatrixMarket matrix dense real general\n", "has 'dense' where its head needs 'coordinate' or 'array'"),
        ("%%MatrixMarket matrix array real\n", "has 'nothing' where its head needs 'symmetric' or 'general'"),
        ("%%MatrixMarket matrix array real general row\n", "its head has 'row' after 'general', where it ends"),
        (head + "2 3 1\n1 1 1.0\n", "a square matrix with some entries is needed; its second line says 2 x 3"),
        (head + "2 2 3\n1 1 1.0\n", "with 3 entries, 1 are there"),
        (head + "2 2 1\n3 1 1.0\n", "an entry is in row or column 3 of 2"),
        (head, "must be whole numbers from 0 to"),
    ):
        file.write_text(text)
        with pytest.raises(ModelFileError, match=message):
            fx.read_matrix(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelFileError, match="is not a text of numbers"):
        fx.read_matrix(file)
