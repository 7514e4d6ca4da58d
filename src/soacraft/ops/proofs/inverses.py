"""Inverses of whatever equals something the papers know the inverse of, however it is written."""

from __future__ import annotations

from soacraft.algebra.expressions.nodes import Scaled
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.rewriting.completion import Budget, OutOfBudget
from soacraft.algebra.rewriting.factoring import Factoring
from soacraft.algebra.rewriting.polynomial import quotient
from soacraft.errors import SoacraftError
from soacraft.ops.proofs import definitions
from soacraft.ops.proofs.forms import write
from soacraft.ops.proofs.letters import binding_of, plain_number
from soacraft.ops.proofs.translate import Translator

SECONDS = 0.5


def inverse_by_normal_form(x: Operator) -> tuple[Operator, str] | None:
    """The inverse of c X, where X has the normal form of phi, psi, D, I + H phi K, the mass matrix or their like."""
    try:
        translator = Translator(binding_of(".inv", x), Budget(SECONDS, terms=500))
        normal = definitions.base().reduce(translator.base(translator.read(x)), translator.budget)
    except (OutOfBudget, SoacraftError):
        return None
    if not normal:
        return None
    c = normal.terms[translator.alphabet.leading(normal)]
    known = definitions.inverses().get(normal.scaled(quotient(1, c)))
    if known is None:
        return None
    ratio = quotient(known.size, c)
    try:
        form = Factoring(lambda letter: (1,), (0,), translator.budget).form(known.inverse)
        found = write(translator, form, x.rows)
        return (found if ratio == 1 else Scaled(plain_number(ratio), found)), known.source
    except OutOfBudget:
        return None
