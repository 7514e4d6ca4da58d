"""What is kept with an expression is computed once, and neither copies nor files take it along."""

import copy
import pickle

import numpy as np

import soacraft as sc
from soacraft.algebra.expressions.once import KEPT
from soacraft.ops.programs import fields
from soacraft.ops.programs.forms import form


def doubled(s, times):
    """A block-diagonal expression of few parts, each of them in the next one twice: 2^times leaves."""
    expr = s.M
    for _ in range(times):
        expr = sc.diag_of(expr * s.E_phi * s.E_phi.T * expr)
    return expr


def test_keys_and_forms_are_the_same_objects():
    H, phi = sc.operators(sc.load("arm7"), "H phi")
    expr = 2 * (H * phi).T + (H * phi).T
    assert expr.key() is expr.key()
    assert form(expr) is form(expr)
    assert expr.bindings() == (H.binding,)


def test_copies_and_pickles_compute_their_own():
    mb = sc.load("arm7")
    snapshot = mb.state(q=np.full(7, 0.3))
    H, phi = sc.operators(snapshot, "H phi")
    expr = H * phi
    before = expr.key(), form(expr), expr.bindings(), expr.batch
    for other in (copy.deepcopy(expr), pickle.loads(pickle.dumps(expr))):
        assert not KEPT & set(vars(other))
        assert other.key() != before[0]  # it is bound to another snapshot
        assert form(other) == before[1]
        assert other.bindings() != before[2]
        np.testing.assert_array_equal(other.array(), expr.array())


def test_parts_that_are_alike_are_lowered_once(monkeypatch):
    """The work grows with the parts, not with the paths to them."""
    s, lowered = sc.operators(sc.random_tree(4, seed=3)), []
    own = fields._field
    monkeypatch.setattr(fields, "_field", lambda expr, need: lowered.append(expr) or own(expr, need))
    expr = doubled(s, 7)
    found = expr.array()
    assert len(lowered) < 40  # of 2^7 leaves

    E, M = s.E_phi.array(), s.M.array()
    blocks = np.kron(np.eye(4), np.ones((6, 6)))
    for _ in range(7):
        M = blocks * (M @ E @ E.T @ M)
    np.testing.assert_allclose(found, M, rtol=1e-12, atol=1e-12 * np.abs(M).max())


def test_names_of_fields_are_written_once(monkeypatch):
    """Text is for people: making the program of an expression again writes none."""
    mb = sc.random_tree(4, seed=3)
    s = sc.operators(mb)
    s.P.diff("body2").array()
    monkeypatch.setattr(type(s.P.diff("body2")), "text", lambda x: 1 / 0)
    monkeypatch.setattr(type(s.P), "text", lambda x: 1 / 0)
    s.P.diff("body2").array()
