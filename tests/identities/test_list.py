"""The list of identities: enough of them, no two alike, no transposed copies."""

import numpy as np
import pytest
from tests.strategies import OPEN

import soacraft as sc
from soacraft.algebra import Identity, Inverse, Leaf, Operator, Power, Product, Scaled, Sum, Transpose
from soacraft.citations import cite

RENAMED = {"psi": "phi", "E_psi": "E_phi", "psi_tilde": "phi_tilde"}


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.random_tree(4, seed=1, branching=0.0))


def written(x, star=False, names=None):
    """An expression with stars moved inside, sums in any order, and no star on what is symmetric."""
    if isinstance(x, Identity):
        return "I"
    if isinstance(x, Leaf):
        name = (names or {}).get(x.name, x.name)
        return name + (".T" if star and "symmetric" not in x.tags else "")
    if isinstance(x, Transpose):
        return written(x.arg, not star, names)
    if isinstance(x, Sum):
        return ("sum", *sorted((written(t, star, names) for t in x.terms), key=str))
    if isinstance(x, Product):
        factors = [written(f, star, names) for f in x.factors]
        return ("product", *(factors[::-1] if star else factors))
    if isinstance(x, Scaled):
        return ("scaled", x.factor, written(x.arg, star, names))
    assert isinstance(x, (Inverse, Power))
    return (type(x).__name__, getattr(x, "n", None), written(x.arg, star, names))


def relation(identity, s, star=False, names=None):
    """What an identity says, whichever side stands first; None when it is about vectors or numbers."""
    sides = [side(s) for side in (identity.left, identity.right)]
    if not all(isinstance(side, Operator) for side in sides):
        return None
    return frozenset(written(side, star, names) for side in sides)


def test_there_are_at_least_45_and_no_two_have_the_same_name():
    names = [identity.name for identity in sc.identities()]
    assert len(names) >= 45
    assert len(set(names)) == len(names)


def test_every_identity_names_its_source():
    for identity in sc.identities():
        assert identity.source[:3] in ("000", "001", "002", "003", "004"), identity
        only = "".join(f", {condition} only" for condition in identity.conditions)
        assert repr(identity) == f"{identity.name}: {identity.relation.text}  ({cite(identity.source)}{only})"


def test_no_two_are_copies_or_transposes_of_each_other(s):
    seen = {}
    for identity in OPEN:
        plain, starred = relation(identity, s), relation(identity, s, star=True)
        if plain is None:
            continue
        for form in {plain, starred}:
            assert form not in seen, f"{identity} says what {seen[form]} says"
        seen[plain] = seen[starred] = identity


def test_45_remain_when_psi_is_read_as_phi(s):
    """An identity of phi and the same one of psi count once."""
    operators = [i for i in OPEN if relation(i, s) is not None]
    distinct = {relation(identity, s, names=RENAMED) for identity in operators}
    vectors = len(OPEN) - len(operators)
    assert len(distinct) + vectors >= 45


def test_no_side_is_the_other_side(s):
    """left = left proves nothing."""
    for identity in OPEN:
        found = relation(identity, s)
        assert found is None or len(found) == 2, identity


def test_vectors_and_numbers_are_not_compared_with_themselves(s):
    for identity in OPEN:
        if relation(identity, s) is None:
            left, right = identity.left, identity.right
            codes = [getattr(side, "__code__", None) for side in (left, right)]
            assert codes[0] is not codes[1], identity
            assert np.shape(np.asarray(left(s))) == np.shape(np.asarray(right(s))), identity
