"""`sc.define` and `sc.state_identity`: the user's own operators and relations."""

from __future__ import annotations

from typing import Any

from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.rewriting.completion import Budget, OutOfBudget
from soacraft.errors import ModelError, SpaceError
from soacraft.ops import from_numbers
from soacraft.ops.binding import Bound, GraphBinding
from soacraft.ops.leaves import DefinedLeaf
from soacraft.ops.names import check_name, latex_of
from soacraft.ops.namespace import Operators, operators_of
from soacraft.ops.proofs import definitions
from soacraft.ops.proofs.letters import binding_of
from soacraft.ops.proofs.stated import StatedIdentity, book_of
from soacraft.ops.proofs.translate import Translator
from soacraft.ops.verify import verify

#: Random states of its model that a stated identity is checked at.
STATES = 4
#: Time limit for collecting its terms.
SECONDS = 2.0


def define(name: str, expr: Operator, latex: str | None = None, source: str = "") -> Operator:
    """An operator of your own: a name for an expression. Building it computes nothing.

    It prints as its name and takes part in `prove`, `simplify`, `cost`, `explain` and `verify`. It belongs to the model
    or sub-graph, and the axes, of the expression, and `simplify` uses the name there for as long as you keep the
    operator.

    >>> import soacraft as sc
    >>> H, psi, phi, K, I = sc.operators(sc.load("arm7"), "H psi phi K I")
    >>> L = sc.define("L", I - H * psi * K)
    >>> L * H * phi, sc.simplify(L * H * phi), sc.simplify((I + H * phi * K).inv)
    (L*H*phi : hinge[7] <- body[42], H*psi : hinge[7] <- body[42], L : hinge[7] <- hinge[7])
    """
    check_name(name)
    expr = released(expr)
    binding = _binding("define", f"{name} stands for", expr)
    expr.spaces  # noqa: B018  refuses an identity without a space
    known = book_of(binding).definitions
    old = known.get((name, binding.body))
    if old is not None:
        if old.meaning.key() == expr.key():
            return old
        raise ModelError(
            f"{name} is already defined as {old.meaning.text()}; choose another name for {expr.text()}, or drop "
            "the first."
        )
    words = latex_of(name) if latex is None else latex
    leaf = DefinedLeaf(name, words, expr, expr.tags, source or f"definition of {name}")
    known[name, binding.body] = leaf
    return leaf


def state_identity(name: str, left: Operator, right: Operator, source: str = "stated") -> StatedIdentity:
    """A relation of your own, left = right, for `prove` and `simplify` to use on this model.

    It is checked with numbers first, at the bound state and at random states, and refused with its residual if it does
    not hold. It belongs to the model or sub-graph, and the axes, of its operators: on a chain you may state what holds
    on chains only. It is used while the model has the parameters that it was checked with. `.forget()` takes it back.

    >>> import soacraft as sc
    >>> s = sc.operators(sc.serial_chain(4))
    >>> stated = sc.state_identity("plain sum", s.phi * s.E_phi + s.I, s.phi)
    >>> stated
    plain sum: phi*E_phi + I = phi (stated)
    >>> stated.forget()
    """
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"an identity needs a name in words, not {name!r}.")
    left, right = released(left), released(right)
    for side in (left, right):
        if not isinstance(side, Operator):
            raise SpaceError(f"the identity {name!r} relates operators, not {side!r}.")
    binding = _binding("state_identity", f"the identity {name!r} relates", left - right)
    known = book_of(binding).identities
    old = known.get((name, binding.body))
    if old is not None and old.parameters == binding.parameters:
        if (old.left.key(), old.right.key()) == (left.key(), right.key()):
            return old
        raise ModelError(f"the identity {name!r} is already stated: {old!r}; choose another name, or forget() it.")
    places = _checked_at(binding)
    for one, other in ((left, right), _collected(left - right, binding)):
        found = verify(one, other, on=places)
        if not found.ok:
            raise ModelError(f"the identity {name!r} does not hold: {found!r}.")
    known[name, binding.body] = StatedIdentity(name, source, left, right, binding, binding.parameters)
    return known[name, binding.body]


def matrix(like: Operator, array: Any, name: str = "A") -> Operator:
    """A constant operator of your own from a dense matrix, between the spaces of the operator `like`.

    A product with it costs N^2, and it is the one kind of operator whose inverse is computed densely, once. The
    numbers stay as they are at every state, so its derivatives are zero. Blocks by body: `s.block_diagonal`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> H, phi, M, D = sc.operators(sc.load("arm7"), "H phi M D")
    >>> S = sc.matrix(D, np.eye(7)[::-1], "S")
    >>> S * D * S.T, (S * S.T).is_identity()
    (S*D*S.T : hinge[7] <- hinge[7], True)
    """
    like = released(like)
    if not isinstance(like, Operator):
        raise SpaceError(f"matrix takes an operator that maps between the spaces meant, such as D or H, not {like!r}.")
    return from_numbers.matrix(_binding("matrix", f"{name} takes its spaces from", like), like, array, name)


def _binding(tried: str, what: str, expr: Any) -> Bound:
    if not isinstance(expr, Operator):
        raise SpaceError(f"{what} an operator expression, not {expr!r}.")
    binding = binding_of(tried, expr)
    if binding is None:
        raise SpaceError(f"{what} operators of a model, but {expr.text()} is made of identities alone.")
    return binding


def _collected(gap: Operator, binding: Bound) -> tuple[Operator, Operator]:
    """A difference with like terms collected, and zero: what nearly holds, as 1.0000000001*X = X, is seen here."""
    translator = Translator(binding, Budget(SECONDS))
    try:
        normal = definitions.base().reduce(translator.base(translator.read(gap)), translator.budget)
        collected = translator.write(normal, *gap.spaces)
    except OutOfBudget:
        collected = gap
    return collected, 0 * collected


def _checked_at(binding: Bound) -> list[Operators]:
    found = [operators_of(binding)]
    if isinstance(binding, GraphBinding):
        for seed in range(STATES):
            found.append(operators_of(binding.at(**binding.elsewhere(seed))))
    return found
