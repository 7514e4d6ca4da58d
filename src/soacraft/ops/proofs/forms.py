"""Factored forms as expressions."""

from __future__ import annotations

from functools import reduce

from soacraft.algebra.expressions.nodes import Identity, product
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.rewriting.factoring import Form
from soacraft.algebra.spaces.space import Space
from soacraft.ops.proofs.letters import plus
from soacraft.ops.proofs.translate import Translator


def write(translator: Translator, form: Form, rows: Space | None) -> Operator:
    """A form as an expression of the translator's model, with values in the space `rows`."""
    if form.terms:
        return _sum(translator, form, rows)
    if not form.factors:
        return translator.word(form.word, rows)
    made: list[Operator] = []
    for factor in form.factors:
        made.append(write(translator, factor, made[-1].cols if made else rows))
    return reduce(product, made)


def _sum(translator: Translator, form: Form, rows: Space | None) -> Operator:
    """Sum of the terms, the identity first, then the negative ones; (X - Y).T where that saves stars."""
    made = _added_up(translator, form, rows)
    if made.rows != made.cols or ".T" not in made.text():
        return made
    turned = _added_up(translator, _turned(translator, form), rows).T
    return turned if turned.text().count(".T") < made.text().count(".T") else made


def _turned(translator: Translator, form: Form) -> Form:
    """The adjoint of a form."""
    return Form(
        form.price,
        translator.alphabet.adjoint(form.word),
        tuple((c, _turned(translator, part)) for c, part in form.terms),
        tuple(_turned(translator, part) for part in reversed(form.factors)),
    )


def _added_up(translator: Translator, form: Form, rows: Space | None) -> Operator:
    parts = [(c, write(translator, part, rows)) for c, part in form.terms]
    parts.sort(key=lambda t: (t[0] < 0, not isinstance(t[1], Identity), len(t[1].text())))
    made: Operator | None = None
    for c, part in parts:
        made = plus(made, part, c)
    assert made is not None
    return made
