"""`read_matrix`: stiffness and mass matrices that FE programs write as text.

    Matrix Market   a head %%MatrixMarket matrix coordinate|array real|integer symmetric|general, letters of any case,
                    sizes, then  row column value,  or of an array values column by column (Boisvert et al. 1996)
    Abaqus          lines  node, dof, node, dof, value  (*MATRIX GENERATE, matrix input)
    CalculiX        lines  row column value  of one triangle (*FREQUENCY, SOLVER=MATRIXSTORAGE: .sti, .mas)
    Nastran         OUTPUT4 as text, files that end in .op4
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError
from soacraft.flexible.fe import Sparse
from soacraft.flexible.readers.op4 import read_op4
from soacraft.spatial.checks import Array

#: Bytes of a text file of numbers.
LARGEST = 2**31
#: Rows of a matrix: more dofs than a sparse factor takes.
ROWS = 10**7


def read_matrix(path: Any, name: str | None = None) -> Sparse:
    """A stiffness or mass matrix from a text file of Matrix Market, Abaqus, CalculiX or Nastran (`.op4`), for
    `fx.matrices`. Of several matrices in an `.op4` file, `name` is the one to read.

    Dofs of an Abaqus file are in the order of its nodes' numbers, three or six each; rows of the others are kept.

    >>> import pathlib, tempfile
    >>> import soacraft.flexible as fx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "k.sti")
    ...     _ = file.write_text("1 1 2.0\\n2 1 -1.0\\n2 2 2.0\\n")
    ...     fx.read_matrix(file).toarray()
    array([[ 2., -1.],
           [-1.,  2.]])
    """
    file = read_path(path, "a matrix file")
    if file.suffix.lower() == ".op4":
        return read_op4(file, name)
    if name is not None:
        raise ModelFileError(f"{file}: has one matrix; name= is for .op4 files.")
    text = _text(file)
    if text[:14].lower() == "%%matrixmarket":
        return _market(file, text)
    lines = [x for x in text.replace(",", " ").splitlines() if x.strip() and not x.lstrip().startswith("*")]
    width = len(lines[0].split()) if lines else 0
    if width == 5:
        return _abaqus(file, _table(file, lines, 5))
    if width == 3:
        table = _table(file, lines, 3)
        rows = _whole(file, table[:, :2], 1) - 1
        return _symmetric(file, rows[:, 0], rows[:, 1], table[:, 2], int(rows.max()) + 1)
    raise ModelFileError(
        f"{file}: is no matrix that is known: Matrix Market, Abaqus (node, dof, node, dof, value), CalculiX (row, "
        f"column, value); its first line has {width} columns."
    )


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST:
            raise ModelFileError(f"{file}: is larger than {LARGEST} bytes.")
        return file.read_text(encoding="ascii")
    except FileNotFoundError:
        raise ModelFileError(f"{file}: there is no such file.") from None
    except OSError as problem:
        raise ModelFileError(f"{file}: cannot be read: {problem.strerror}.") from None
    except UnicodeDecodeError:
        raise ModelFileError(f"{file}: is not a text of numbers.") from None


def _table(file: Path, lines: list[str], width: int) -> Array:
    try:
        numbers = np.array(" ".join(lines).replace("D", "E").replace("d", "e").split(), dtype=np.float64)
    except ValueError as problem:
        raise ModelFileError(f"{file}: {problem!s:.120}.") from None
    if len(numbers) != width * len(lines) or not np.isfinite(numbers).all():
        raise ModelFileError(f"{file}: every line must have {width} finite numbers.")
    return numbers.reshape(-1, width)


def _whole(file: Path, x: Array, least: int) -> npt.NDArray[np.intp]:
    if not len(x) or (x != np.floor(x)).any() or x.min() < least or x.max() > ROWS:
        raise ModelFileError(f"{file}: rows, columns, nodes and dofs must be whole numbers from {least} to {ROWS}.")
    return x.astype(np.intp)


#: Words of the head of Matrix Market that are read, and why others are not.
_WORDS = (("matrix",), ("coordinate", "array"), ("real", "integer"), ("symmetric", "general"))
_REFUSED = {
    "vector": "a vector is no matrix",
    "complex": "stiffness and mass are real; write their real part",
    "pattern": "a pattern has places and no values",
    "skew-symmetric": "stiffness and mass are symmetric",
    "hermitian": "stiffness and mass are real and symmetric",
}


def _market(file: Path, text: str) -> Sparse:
    head, _, rest = text.partition("\n")
    words = head.lower().split()[1:]
    for word, meanings in zip([*words, *[""] * 4], _WORDS, strict=False):
        if word not in meanings:
            why = f" ({_REFUSED[word]})" if word in _REFUSED else ""
            raise ModelFileError(
                f"{file}: has {word or 'nothing'!r:.40}{why} where its head needs {' or '.join(map(repr, meanings))}: "
                "matrices are 'coordinate' or 'array', 'real' or 'integer', 'symmetric' or 'general'."
            )
    if len(words) > 4:
        raise ModelFileError(f"{file}: its head has {words[4]!r:.40} after {words[3]!r}, where it ends.")
    lines = [x for x in rest.splitlines() if x.strip() and not x.startswith("%")]
    read = _coordinates if words[1] == "coordinate" else _array
    matrix, values = read(file, lines, words[3] == "symmetric")
    if words[2] == "integer" and (values != np.floor(values)).any():
        raise ModelFileError(f"{file}: its head says 'integer', and {values[values != np.floor(values)][0]:g} is none.")
    return matrix


def _coordinates(file: Path, lines: list[str], symmetric: bool) -> tuple[Sparse, Array]:
    """The matrix of lines  row column value,  and its values as they are written."""
    sizes = _whole(file, _table(file, lines[:1], 3) if lines else np.zeros((0, 3)), 0)[0]
    table = _table(file, lines[1:], 3) if len(lines) > 1 else np.zeros((0, 3))
    if sizes[0] != sizes[1] or len(table) != sizes[2] or not len(table):
        raise ModelFileError(
            f"{file}: a square matrix with some entries is needed; its second line says {sizes[0]} x {sizes[1]} with "
            f"{sizes[2]} entries, {len(table)} are there."
        )
    rows = _whole(file, table[:, :2], 1) - 1
    if rows.max() >= sizes[0]:
        raise ModelFileError(f"{file}: an entry is in row or column {rows.max() + 1} of {sizes[0]}.")
    size, values = int(sizes[0]), table[:, 2]
    if symmetric:
        return _symmetric(file, rows[:, 0], rows[:, 1], values, size), values
    return csr_array((values, (rows[:, 0], rows[:, 1])), shape=(size, size)), values


def _array(file: Path, lines: list[str], symmetric: bool) -> tuple[Sparse, Array]:
    """The matrix of all values, column by column, a symmetric one from its diagonal down; and these values."""
    rows, columns = _whole(file, _table(file, lines[:1], 2) if lines else np.zeros((0, 2)), 0)[0].tolist()
    values = _table(file, lines[1:], 1)[:, 0] if len(lines) > 1 else np.zeros(0)
    count = rows * (rows + 1) // 2 if symmetric else rows * columns
    if rows != columns or len(values) != count or not count:
        raise ModelFileError(
            f"{file}: a square matrix with all its entries is needed; its second line says {rows} x {columns}, which "
            f"has {count}, and {len(values)} are there."
        )
    if not symmetric:
        return csr_array(values.reshape(columns, rows).T), values
    dense = np.zeros((rows, rows))
    j, i = np.triu_indices(rows)  # columns from left to right, each from its diagonal down
    dense[i, j] = dense[j, i] = values
    return csr_array(dense), values


def _abaqus(file: Path, table: Array) -> Sparse:
    places = _whole(file, table[:, :4], 1)
    nodes, number = np.unique(places[:, [0, 2]], return_inverse=True)
    dof = places[:, [1, 3]] - 1
    if dof.max() > 5:
        raise ModelFileError(f"{file}: dofs of a node are 1 to 6, got {dof.max() + 1}.")
    per = 3 if dof.max() < 3 else 6
    rows = per * number.reshape(-1, 2) + dof
    return _symmetric(file, rows[:, 0], rows[:, 1], table[:, 4], per * len(nodes))


def _symmetric(
    file: Path, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp], values: Array, size: int
) -> Sparse:
    """The matrix of one triangle, or of both as they are."""
    below, above = bool((i > j).any()), bool((i < j).any())
    if below and above:
        return csr_array((values, (i, j)), shape=(size, size))
    other = i != j
    both = (np.concatenate([i, j[other]]), np.concatenate([j, i[other]]))
    return csr_array((np.concatenate([values, values[other]]), both), shape=(size, size))
