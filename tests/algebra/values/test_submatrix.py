"""Several blocks at once, against the dense matrix."""

import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SpaceError


@pytest.fixture(scope="module")
def s():
    mb = sc.load("biped")
    mb.set_state(*mb.random_state(1))
    return sc.operators(mb)


def rows_of(space, names):
    return np.concatenate([np.arange(space.size)[space.block(space.index(name))] for name in names])


@pytest.mark.parametrize("text", ["phi", "M", "H*phi*M*phi.T*H.T", "H.T", "Omega", "K"])
def test_slices_and_lists(s, text):
    names = {name: getattr(s, name) for name in ("phi", "M", "H", "Omega", "K")}
    expr = eval(text, names)
    dense, (rows, cols), labels = expr.array(), expr.spaces, s.body.labels
    several = ["left_foot", "pelvis", "right_shank"]
    size = np.abs(dense).max()
    for index, chosen in (
        (slice(None), labels),
        (slice(labels[1], labels[4]), labels[1:5]),
        (slice(1, 4), labels[1:4]),
        (slice(-2, None), labels[-2:]),
        (slice(None, labels[3]), labels[:4]),
        (slice(4, 100), labels[4:]),
        (several, several),
        (tuple(several), several),
        ([s.binding.graph[name] for name in several], several),
        ("left_foot", ["left_foot"]),
        ([], []),
    ):
        picked = rows_of(rows, chosen) if chosen else np.zeros(0, dtype=int)
        np.testing.assert_allclose(expr[index, :], dense[picked], atol=1e-13 * size)
        first = dense[np.ix_(picked, rows_of(cols, ["pelvis"]))]
        np.testing.assert_allclose(expr[index][["pelvis"]], first, atol=1e-13 * size)
        picked = rows_of(cols, chosen) if chosen else np.zeros(0, dtype=int)
        np.testing.assert_allclose(expr[:, index], dense[:, picked], atol=1e-13 * size)


def test_one_label_is_one_block_as_before(s):
    assert s.phi["pelvis", "left_foot"].shape == (6, 6)
    np.testing.assert_allclose(s.phi[["pelvis"], "left_foot"], s.phi["pelvis", "left_foot"], atol=1e-14)
    assert repr(s.phi["pelvis":"left_thigh"]).startswith("block rows 'pelvis', ")


def test_batches(s):
    mb = s.binding.graph
    q = np.stack([mb.random_state(seed)[0] for seed in range(3)])
    mass = (s.H * s.phi * s.M * s.phi.T * s.H.T).at(q=q)
    assert mass[1:3, ["pelvis", "left_foot"]].shape[0] == 3
    np.testing.assert_allclose(mass[:, :], mass.array(), atol=1e-12)


def test_vectors(s):
    V, labels = s.V, s.body.labels
    np.testing.assert_array_equal(V[labels[1] : labels[2]], np.concatenate([V[1], V[2]]))
    np.testing.assert_array_equal(V[["left_foot", "pelvis"]], np.concatenate([V["left_foot"], V["pelvis"]]))
    np.testing.assert_array_equal(V[:], np.asarray(V))


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (slice("left_foot", "pelvis"), "there is nothing from 'left_foot' to 'pelvis' in body[72]"),
        (slice(0, 4, 2), "a slice of them takes no step"),
        (["pelvis", "pelvis"], "names 'pelvis' twice"),
        (["pelvis", "tail"], "no body or hinge 'tail'"),
        (slice("tail", None), "no body or hinge 'tail'"),
        (np.array([True, False]), "not by an array of bool"),
        ([1.5], "got 1.5"),
    ],
)
def test_refusals(s, index, text):
    for attempt in (lambda: s.phi[index, :], lambda: s.phi[:, index], lambda: s.V[index]):
        with pytest.raises(SpaceError, match=re.escape(text)):
            attempt()
