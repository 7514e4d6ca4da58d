"""Every identity on every class of model its conditions allow: rigid trees in all axes, flexible trees, SKO models of
any blocks, and closed graphs with compound bodies."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded import sample
from tests.model.modal.trees import flexible_tree
from tests.profiles import tries
from tests.strategies import AXES, CLASSES, HINGES, OPEN, as_functions, keep, operators, parents

import soacraft as sc
from soacraft.loops.closure_operators import ClosedOperators

TOL = 1e-9
SERIAL = [identity for identity in sc.identities() if "serial" in identity.conditions]


def allowed(identity, s):
    """Whether a model meets the conditions of an identity."""
    met = {"serial": s.sko.tree.is_serial, "rigid": s.binding.axes is not None, "nodes": len(s.body) > 0}
    met["closed"] = isinstance(s, ClosedOperators)
    return all(met[condition] for condition in identity.conditions)


def wrong(s, chosen):
    """The identities that fail, with their errors."""
    errors = {identity.name: sc.verify(identity.left, identity.right, on=s).worst[1] for identity in chosen}
    return {name: error for name, error in errors.items() if not error <= TOL}


@pytest.mark.parametrize("kind", CLASSES)
@tries(8)
@given(data=st.data())
def test_identities_hold_on_trees(kind, data):
    s = data.draw(operators(kind, parents(max_size=6)))
    keep()
    assert wrong(s, [identity for identity in sc.identities() if allowed(identity, s)]) == {}


@pytest.mark.parametrize("kind", CLASSES)
@tries(5)
@given(data=st.data())
def test_identities_hold_on_serial_chains(kind, data):
    s = data.draw(operators(kind, parents(min_size=2, max_size=6, serial=True)))
    keep()
    assert wrong(s, OPEN) == {}


@cache
def models_of_verify():
    """The operators of the fixed models that `verify` chooses, in all axes."""
    from soacraft.ops.verify import random_models

    rigid = [sc.operators(m, axes=axes) for m in random_models() if not isinstance(m, sc.SKOModel) for axes in AXES]
    return rigid + [sc.operators(m) for m in random_models() if isinstance(m, sc.SKOModel)]


@pytest.mark.parametrize("identity", OPEN, ids=lambda identity: identity.name)
def test_each_identity_holds_on_the_models_of_verify(identity):
    """One named test for each, on the fixed models `verify` chooses."""
    places = [s for s in models_of_verify() if allowed(identity, s)]
    assert len(places) >= 5
    found = sc.verify(identity.left, identity.right, on=places, tolerance=TOL)
    assert found.ok, found


@pytest.mark.parametrize("identity", SERIAL, ids=lambda identity: identity.name)
@pytest.mark.parametrize("kind", CLASSES)
def test_serial_identities_fail_on_branched_trees(identity, kind):
    if kind == "sko":
        s = sc.operators(sc.random_sko(7, seed=11, min_dim=3))
    elif kind == "functions":
        s = sc.operators(as_functions(sc.random_sko(7, seed=11, min_dim=3), 1))
    elif kind == "embedded":
        s = sample()
    elif kind == "flexible":
        s = sc.operators(flexible_tree((-1, 0, 0, 1, 1, 3), 5, HINGES))
    else:
        s = sc.operators(sc.random_tree(7, seed=4), axes=kind)
    assert not s.sko.tree.is_serial
    assert sc.verify(identity.left, identity.right, on=s).worst[1] > 1e-3


def test_the_list_says_where_each_identity_holds():
    known = {"serial", "rigid", "nodes", "closed"}
    assert all(identity.conditions <= known for identity in sc.identities())
    assert {identity.name for identity in SERIAL} == {
        "decomposition of A* X B",
        "backward Lyapunov equation, serial",
        "Upsilon, serial",
        "decomposition of Omega",
        "decomposition of Omega with tildes",
    }
