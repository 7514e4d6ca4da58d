"""Couplings that others imply or contradict, against what is solvable by hand; in any units and any order."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc


def model(*couplings, unit=1.0):
    """Five slides, with couplings by terms and offset."""
    mb = sc.Multibody("geared")
    for name in "abcde":
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia.sphere(1.0, 0.1 * unit))
    for k, (terms, offset) in enumerate(couplings):
        mb.couple(f"c{k}", terms, offset)
    return mb


def findings(mb):
    return [x for x in sc.check(mb) if "contradicts" in x.text or "its force" in x.text]


def test_couplings_that_depend_on_nothing_are_not_named():
    assert findings(model(({"a": 1, "b": -1}, 0.0), ({"b": 1, "c": -1}, 0.1), ({"a": 1, "b": 1}, 0.0))) == []
    assert findings(model(({"a": (1, 2), "b": -1}, 0.0), ({"a": 1, "b": -1}, 0.0))) == []  # of another degree
    assert findings(model()) == []


@pytest.mark.parametrize("scale", [1.0, -2.5, 1e9, 1e-9])
def test_the_same_coupling_twice(scale):
    offset = 0.3
    mb = model(({"a": 1, "b": -3}, offset), ({"c": 1, "d": 1}, 0.0), ({"a": scale, "b": -3 * scale}, scale * offset))
    (one,) = findings(mb)
    assert (one.severity, one.subject, one.cure) == ("warning", "coupling 'c2'", "leave one of them out")
    assert one.text == "says what 'c0' says: its force is not determined"
    other = model(({"a": 1, "b": -3}, offset), ({"a": scale, "b": -3 * scale}, scale * offset * 1.5))
    (one,) = findings(other)
    assert (one.severity, one.subject) == ("error", "coupling 'c1'")
    assert one.value == pytest.approx(scale * offset * 1.5)
    assert one.text == f"contradicts 'c0': its offset would have to be {scale * offset:.6g}"
    assert not sc.check(other).ok


def test_three_in_a_ring():
    """a - b = 1, b - c = 2, so a - c = 3; and what is not part of the ring is not named."""
    ring = [({"a": 1, "b": -1}, 1.0), ({"d": 1, "e": 1}, 0.0), ({"b": 1, "c": -1}, 2.0)]
    (one,) = findings(model(*ring, ({"a": 1, "c": -1}, 3.0)))
    assert (one.severity, one.text) == (
        "warning", "says what 'c0' and 'c2' say together: its force is not determined",
    )  # fmt: skip
    (one,) = findings(model(*ring, ({"a": 2, "c": -2}, 5.0)))
    assert (one.severity, one.text) == (
        "error", "contradicts 'c0' and 'c2': its offset would have to be 6",
    )  # fmt: skip


def test_one_coordinate_held_at_two_places():
    (one,) = findings(model(({"a": 1}, 0.0), ({"a": 1}, 0.2)))
    assert (one.severity, one.text) == ("error", "contradicts 'c0': its offset would have to be 0")


def test_polynomials_count_by_their_monomials():
    (one,) = findings(model(({"a": (1, 2), "b": -1}, 0.1), ({"a": (2, 4), "b": -2}, 0.2)))
    assert one.severity == "warning"
    (one,) = findings(model(({"a": (1, 2), "b": -1}, 0.1), ({"a": (2, 4), "b": -2}, 0.3)))
    assert one.severity == "error"


def test_inactive_and_one_sided_couplings_tie_nothing():
    mb = model(({"a": 1, "b": -1}, 0.0))
    mb.couple("off", {"a": 1, "b": -1}, 1.0, active=False)
    mb.couple("stop", {"a": 1, "b": -1}, 1.0, one_sided=True)
    assert findings(mb) == []


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_in_any_units_and_against_ranks(unit):
    """Random rows, some of them sums of others: as many findings as the rank is short, contradictions where the rank
    with offsets is larger. Lengths in units of `unit`: ratios of slides to a turn change by it."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        C = rng.integers(-2, 3, size=(3, 5)).astype(float)
        C, b = C[np.abs(C).sum(axis=1) > 0], rng.standard_normal(3)[np.abs(C).sum(axis=1) > 0] * unit
        mix = rng.integers(-2, 3, size=(2, len(C))).astype(float)
        rows, offsets = np.vstack([C, mix @ C]), np.concatenate([b, mix @ b])
        offsets[-1] += unit * rng.integers(0, 2)
        keep = np.abs(rows).sum(axis=1) > 0
        rows, offsets = rows[keep], offsets[keep]
        terms = [{"abcde"[j]: x for j, x in enumerate(row) if x} for row in rows]
        seen = findings(model(*zip(terms, offsets, strict=True), unit=unit))
        rank = np.linalg.matrix_rank(rows)
        assert len(seen) == len(rows) - rank
        solvable = np.linalg.matrix_rank(np.column_stack([rows, offsets / unit]), tol=1e-9) == rank
        assert any(x.severity == "error" for x in seen) != solvable
