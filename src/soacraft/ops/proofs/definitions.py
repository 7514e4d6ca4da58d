"""Defining relations of the operators, and the rules that follow from them: the knowledge of `prove` and `simplify`.

`DEFINITIONS` writes each named operator by others; `RELATIONS` are the equations that define the remaining ones.
Nothing else is assumed: every other rule is derived, with its parents, from these and their adjoints by completion. 000
is the PyCraft paper, 004 the SKO-models paper; misprints are corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from soacraft.algebra.rewriting.completion import Budget, Relation, Rule, System, complete
from soacraft.algebra.rewriting.polynomial import Alphabet, Number, Polynomial, Word, quotient

#: Operators that are their own adjoints.
SYMMETRIC = ("P", "P_plus", "M", "R", "D", "D.inv", "Upsilon", "Omega")
#: Letters from small to large, and weights: words in heavier letters are rewritten in lighter ones.
ORDER = ("D.inv D H G P M P_plus R Upsilon E_phi K tau tau_bar E_psi Omega phi psi phi_tilde psi_tilde").split()
WEIGHTS = {"R": 3, "P_plus": 2}


@dataclass(frozen=True)
class Definition:
    """A name for a polynomial in other letters. For an inverse, the rules by which both products become I."""

    name: str
    meaning: Polynomial
    source: str
    rules: tuple[Rule, ...] = ()

    @property
    def relation(self) -> Relation:
        """name = meaning, as an equation."""
        return Relation(f"definition of {self.name}", self.source, Polynomial.of(self.name) - self.meaning)


def words(text: str) -> Polynomial:
    """A polynomial of a text such as "phi - I" or "E_phi tau_bar": words of letters with signs between.

    >>> words("P - E_phi P_plus E_phi.T")
    P - E_phi*P_plus*E_phi.T
    """
    terms: dict[Word, Number] = {}
    for piece in text.replace(" - ", " + -").split(" + "):
        sign = -1 if piece.startswith("-") else 1
        letters = tuple(x for x in piece.removeprefix("-").split() if x != "I")
        terms[letters] = terms.get(letters, 0) + sign
    return Polynomial(terms)


def _definition(name: str, meaning: str, source: str) -> Definition:
    return Definition(name, words(meaning), source)


def _relation(name: str, source: str, left: str, right: str) -> Relation:
    return Relation(name, source, words(left) - words(right))


#: Order of the definitions: each is written by the ones below it and by H, E_phi, phi, psi, P, D.inv, M, R, Upsilon.
DEFINITIONS = (
    _definition("Omega", "psi.T H.T D.inv H psi", "000 Eq. 34"),
    _definition("phi_tilde", "phi - I", "004 Cor. 3.1"),
    _definition("psi_tilde", "psi - I", "004 Cor. 3.1"),
    _definition("K", "E_phi G", "004 Eq. 37"),
    _definition("E_psi", "E_phi tau_bar", "004 Eq. 34"),
    _definition("P_plus", "tau_bar P", "000 Eq. 24"),
    _definition("tau_bar", "I - tau", "000 Eq. 24"),
    _definition("tau", "G H", "000 Eq. 24"),
    _definition("G", "P H.T D.inv", "000 Eq. 24"),
    _definition("D", "H P H.T", "000 Eq. 24"),
)

RELATIONS = (
    _relation("propagation, kernel last", "000 Eq. 9", "phi - phi E_phi", "I"),
    _relation("propagation, kernel first", "000 Eq. 9", "phi - E_phi phi", "I"),
    _relation("articulated propagation, kernel last", "004 Eq. 34", "psi - psi E_psi", "I"),
    _relation("articulated propagation, kernel first", "004 Eq. 34", "psi - E_psi psi", "I"),
    _relation("inverse of D", "000 Eq. 24", "D D.inv", "I"),
    _relation("Riccati equation", "004 Eq. 36", "M", "P - E_psi P E_psi.T"),
    _relation("composite bodies", "000 Eq. 21", "M", "R - E_phi R E_phi.T"),
)

#: Upsilon = H* D^-1 H + diagOf(E_psi* Upsilon E_psi); times G the last term vanishes block by block, since E_psi G = 0.
UPSILON = _relation("backward Lyapunov equation of Upsilon, times G", "000 Eq. 36", "Upsilon G", "H.T D.inv")


def alphabet(symmetric: Iterable[str] = ()) -> Alphabet:
    """The letters of the papers, and others that are symmetric."""
    return Alphabet((*SYMMETRIC, *symmetric), WEIGHTS, ORDER)


def expanded(p: Polynomial, letters: Alphabet, definitions: Iterable[Definition] = DEFINITIONS) -> Polynomial:
    """Every name replaced by its definition, adjoints too."""
    for definition in definitions:
        p = unfolded(p, definition, letters)
    return p


def unfolded(p: Polynomial, definition: Definition, letters: Alphabet) -> Polynomial:
    """One name replaced by its definition, its adjoint too."""
    star = letters.star(definition.name)
    found = p.substituted(definition.name, definition.meaning)
    return found if star == definition.name else found.substituted(star, letters.transposed(definition.meaning))


def with_adjoints(relations: Iterable[Relation], letters: Alphabet) -> list[Relation]:
    """Relations and their adjoints, where these say something else."""
    found = []
    for r in relations:
        star = letters.transposed(r.zero)
        found.append(r)
        if star not in (r.zero, r.zero.scaled(-1)):
            found.append(Relation(f"adjoint of {r.name}", r.source, star))
    return found


@cache
def base() -> System:
    """The rules for H, E_phi, phi, psi, P, D.inv, M, R, Upsilon and adjoints: they decide equality. Made once."""
    letters = alphabet()
    relations = [Relation(r.name, r.source, expanded(r.zero, letters)) for r in (*RELATIONS, UPSILON)]
    found = complete(letters, with_adjoints(relations, letters), Budget(30.0))
    assert found.confluent, "the defining relations complete in milliseconds"
    return found


@cache
def named() -> System:
    """Rules with all names but Upsilon as letters: about a hundred identities, all derived. Computed once."""
    letters = alphabet()
    relations = [*(d.relation for d in DEFINITIONS), *RELATIONS]
    found = complete(letters, with_adjoints(relations, letters), Budget(30.0))
    assert found.confluent, "the defining relations complete in milliseconds"
    return found


#: Number of rules that completion may derive from relations beyond those of the papers before it stops.
MORE_RULES = 60

_extended: dict[tuple[frozenset[str], frozenset[Relation]], System] = {}


def extended(relations: Iterable[Relation], symmetric: Iterable[str]) -> System:
    """The rules that decide equality, with more relations in expanded letters; kept for the next time. Completion may
    not end with them: then the rules found so far still prove, but do not decide.
    """
    letters = alphabet(symmetric)
    wanted = [Relation(r.name, r.source, expanded(r.zero, letters)) for r in relations]
    if not wanted and not letters.symmetric - set(SYMMETRIC):
        return base()
    key = (letters.symmetric, frozenset(wanted))
    if key not in _extended:
        start = base()
        found = complete(letters, with_adjoints(wanted, letters), Budget(1.0), start, MORE_RULES)
        if len(_extended) > 64:
            _extended.clear()
        _extended[key] = found
    return _extended[key]


#: The inverses that the papers know: (operator, inverse, source), each checked by multiplying out before it is used.
INVERSES = (
    ("phi", "I - E_phi", "000 Eq. 9"),
    ("psi", "I - E_psi", "004 Eq. 34"),
    ("D", "D.inv", "000 Eq. 24"),
    ("I + H phi K", "I - H psi K", "000 Eq. 29"),
    ("I + K H phi", "I - K H psi", "004 Eq. 44"),
    ("I + phi K H", "I - psi K H", "004 Eq. 44"),
    (
        "H phi M phi.T H.T",
        "D.inv - D.inv H psi K - K.T psi.T H.T D.inv + K.T psi.T H.T D.inv H psi K",
        "000 Eq. 30",
    ),
)


@dataclass(frozen=True)
class Inverses:
    """An operator (`size` times its key), its inverse, the source, the rules by which both products become I."""

    size: Number
    operator: Polynomial
    inverse: Polynomial
    source: str
    rules: tuple[Rule, ...]


@cache
def inverses() -> Mapping[Polynomial, Inverses]:
    """Inverses known from the papers, by the reduced operator over its leading coefficient, both ways and for adjoints.
    """
    system, letters = base(), alphabet()
    one = Polynomial.of()
    found: dict[Polynomial, Inverses] = {}
    for text, inverse, source in INVERSES:
        pair = (words(text), words(inverse))
        for a, b in (pair, pair[::-1]):
            for x, y in ((a, b), (letters.transposed(a), letters.transposed(b))):
                X, Y, used = expanded(x, letters), expanded(y, letters), dict[int, Rule]()
                checked = system.reduce(X * Y, used=used) == system.reduce(Y * X, used=used) == one
                assert checked, f"{inverse} is not the inverse of {text}"
                normal = system.reduce(X)
                size = normal.terms[letters.leading(normal)]
                known = Inverses(size, x, y, source, tuple(used.values()))
                found.setdefault(normal.scaled(quotient(1, size)), known)
    return found
