"""Datasets of logs: rows appended in blocks of any length are the rows that are read, while it is written and after."""

import h5py
import numpy as np
import pytest

from soacraft.sim.runs.log_dataset import BLOCK, LogDataset


def empty(file, size, kind="f8", chunks=None):
    return file.create_dataset("x", (0, *size), kind, maxshape=(None, *size), chunks=chunks or (BLOCK, *size))


LENGTHS = (1, BLOCK - 1, 3, 4 * BLOCK, 5 * BLOCK + 7, 0, 2, BLOCK)


@pytest.mark.parametrize("size", [(), (3,), (2, 5), (700,)])
def test_a_follower_reads_the_rows_that_were_appended(tmp_path, size):
    """After every block of rows, by another file that HDF5 opens meanwhile; rows of a chunk too large for the cache,
    too."""
    rows = np.random.default_rng(0).normal(size=(sum(LENGTHS), *size))
    with h5py.File(tmp_path / "a.h5", "w", libver="latest", locking=False) as file:
        made = empty(file, size)
        file.swmr_mode = True
        data, end = LogDataset(made, 0), 0
        for n in LENGTHS:
            data.append(rows[end : end + n])
            end += n
            data.settle()
            file.flush()
            with h5py.File(tmp_path / "a.h5", "r", libver="latest", swmr=True, locking=False) as seen:
                np.testing.assert_array_equal(seen["x"][:], rows[:end])
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["x"][:], rows)


@pytest.mark.parametrize("count", [0, 5, BLOCK, BLOCK + 9])
def test_rows_go_on_behind_those_of_a_file(tmp_path, count):
    """Also where the file has more than is counted, which is written over."""
    rows = np.random.default_rng(1).normal(size=(3 * BLOCK, 2))
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        empty(file, (2,)).resize(count + 3, axis=0)
        file["x"][:count] = rows[:count]
        file["x"][count:] = 1e9
    with h5py.File(tmp_path / "a.h5", "r+", libver="latest") as file:
        data = LogDataset(file["x"], count)
        data.append(rows[count:])
        data.settle()
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["x"][:], rows)


def test_rows_that_are_views_or_of_another_kind_are_the_same_numbers(tmp_path):
    wide = np.random.default_rng(2).normal(size=(2 * BLOCK + 1, 7))
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        data = LogDataset(empty(file, (3,)), 0)
        data.append(wide[:, 2:5])
        data.append(np.ones((BLOCK, 3), dtype=np.float32))
        data.settle()
        np.testing.assert_array_equal(data.data[: len(wide)], wide[:, 2:5])
        assert (data.data[len(wide) :] == 1.0).all()


@pytest.mark.parametrize(("kind", "chunks"), [("S8", None), (">f8", None), ("f4", None), ("f8", (64,))])
def test_datasets_of_other_layouts_grow_as_hdf5_lets_them(tmp_path, kind, chunks):
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        data = LogDataset(empty(file, (), kind, chunks), 0)
        for _ in range(3):
            data.append(np.arange(100).astype(kind))
        data.settle()
        np.testing.assert_array_equal(data.data[:], np.tile(np.arange(100), 3).astype(kind))
