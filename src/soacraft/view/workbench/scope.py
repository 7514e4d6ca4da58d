"""`Scope`: the names that a page has, and the value of a line. Only functions of the vocabulary are ever called."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import islice
from keyword import iskeyword
from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import SoacraftError, near
from soacraft.ops.namespace import Operators
from soacraft.view.workbench import vocabulary as words
from soacraft.view.workbench.syntax import (
    Call,
    Chain,
    Index,
    Line,
    Many,
    Member,
    Name,
    Negative,
    Number,
    Postfix,
    Power,
    Text,
    Tree,
    parse,
)
from soacraft.view.workbench.tokens import fault

#: Operators that one expression may hold: `a = a*a`, typed again and again, doubles them each time.
MOST_LEAVES = 400
#: The largest power, and the largest whole number that stays one.
MOST_POWER, MOST_WHOLE = 64, 2**53
#: Names that a page may give.
MOST_NAMES = 200

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "@": operator.mul, "/": operator.truediv,
}  # fmt: skip
_KINDS = {
    "o": "an operator", "v": "a vector", "t": "a text in quotes, or a list of such", "n": "a whole number",
    "b": "a name in quotes or a whole number",
}  # fmt: skip


class Scope:
    """The operators of a model, and the names that a user gave.

    >>> import soacraft as sc
    >>> scope = Scope(sc.operators(sc.load("arm7")))
    >>> scope.run("F = H*phi")
    H*phi : hinge[7] <- body[42]
    >>> scope.run("F * M * F.T")
    H * phi * M * (H*phi).T : hinge[7] <- hinge[7]
    """

    def __init__(self, s: Operators) -> None:
        self.operators = s
        self.names: dict[str, Any] = {}

    def run(self, text: str) -> Any:
        """The value of a line. Errors are the library's, with `place` where in the text; a name is given at the end."""
        line = parse(text)
        value = self.value(line)
        self.name(line, value)
        return value

    def value(self, line: Line) -> Any:
        """The value of a line that was read; its name is not given yet."""
        if line.name:
            self._check_name(line)
        with np.errstate(all="ignore"):
            return self._of(line.value)

    def name(self, line: Line, value: Any) -> None:
        """Give a value the name that its line has, if any."""
        if line.name:
            self.names[line.name] = value

    def known(self) -> list[str]:
        """All names, for completion."""
        return sorted({*self.names, *words.OPERATORS, *words.STACKED, *words.FUNCTIONS})

    def _check_name(self, line: Line) -> None:
        name = line.name
        if name in words.TAKEN or iskeyword(name) or name.startswith("_") or name in ("sc", "np", "mb", "s"):
            raise fault(line.place, f"{name!r} means something already; choose another name.")
        if len(self.names) >= MOST_NAMES and name not in self.names:
            raise fault(line.place, f"the page has {MOST_NAMES} names, which is the most; use one of them again.")

    # -- trees ----------------------------------------------------------------------------------------------------

    def _of(self, tree: Tree) -> Any:
        match tree:
            case Number():
                return _number(tree)
            case Text():
                return tree.value
            case Name():
                return self._named(tree)
            case Many():
                return self._texts(tree)
            case Negative():
                return _small(_at(tree.place, operator.neg, _plain(self._of(tree.arg), tree.place)), tree.place)
            case Power():
                return self._power(tree)
            case Chain():
                value = self._of(tree.first)
                for sign, place, part in tree.rest:
                    value = _joined(value, sign, place, self._of(part))
                return value
            case Postfix():
                return self._followed(tree)

    def _named(self, tree: Name) -> Any:
        if tree.name in self.names:
            return self.names[tree.name]
        if tree.name in words.OPERATORS or tree.name in words.STACKED:
            return _at(tree.place, getattr, self.operators, tree.name)
        if tree.name in words.FUNCTIONS:
            raise fault(tree.place, f"{tree.name} is a function: write {tree.name}(...).")
        raise fault(tree.place, f"there is no {tree.name[:40]!r}{near(tree.name, self.known())}")

    def _texts(self, tree: Many) -> list[str]:
        items = [self._of(x) for x in tree.items]
        if not items or not all(isinstance(x, str) for x in items):
            raise fault(tree.place, "a list holds names of nodes in quotes, as in B(['hand', 'foot']).")
        return items

    def _power(self, tree: Power) -> Any:
        base, n = self._of(tree.base), self._of(tree.exponent)
        if isinstance(n, bool) or not isinstance(n, int) or abs(n) > MOST_POWER:
            raise fault(tree.place, f"a power is a whole number, {MOST_POWER} at most.")
        if not isinstance(base, Operator) and not _is_number(base):
            raise fault(tree.place, "operators and numbers have powers.")
        value = _small(_at(tree.place, operator.pow, base, n), tree.place)
        return _sparing(value, tree.place, abs(n))

    def _followed(self, tree: Postfix) -> Any:
        rest = list(tree.suffixes)
        if isinstance(tree.base, Name) and tree.base.name in words.FUNCTIONS and isinstance(rest[0], Call):
            name, call = tree.base.name, rest[0]
            del rest[0]
            value = self._call(words.FUNCTIONS[name], name, (self.operators,), call, tree.place)
        else:
            value = self._of(tree.base)
        while rest:
            suffix = rest.pop(0)
            match suffix:
                case Member():
                    value = self._member(value, suffix, rest)
                case Index():
                    value = self._block(value, suffix)
                case Call():
                    raise fault(suffix.place, "this is no function; factors are joined by *.")
        return value

    def _member(self, value: Any, suffix: Member, rest: list[Member | Call | Index]) -> Any:
        name, place = suffix.name, suffix.place
        methods = {Operator: words.METHODS, StackedVector: words.VECTOR_METHODS}
        known = next((methods[kind] for kind in methods if isinstance(value, kind)), {})
        if isinstance(value, Operator) and name in words.PROPERTIES:
            return _sparing(_at(place, getattr, value, name), place)
        if name not in known:
            there = near(name, [*known, *(words.PROPERTIES if isinstance(value, Operator) else ())])
            raise fault(place, f"{_kind(value)} has no .{name[:40]}{there}")
        if not rest or not isinstance(rest[0], Call):
            raise fault(place, f".{name} is called: write .{name}().")
        call = rest[0]
        del rest[0]
        return self._call(known[name], f".{name}", (value,), call, place)

    def _call(self, function: words.Function, name: str, before: tuple[Any, ...], call: Call, place: int) -> Any:
        most = len(function.kinds)
        if not function.least <= len(call.args) <= most:
            many = str(most) if most == function.least else f"{function.least} to {most}"
            raise fault(call.place, f"{name} takes {many} arguments, and here are {len(call.args)}.")
        args = [self._of(x) for x in call.args]
        for x, kind, tree in zip(args, function.kinds, call.args, strict=False):
            if not _suits(x, kind):
                raise fault(tree.place, f"{name} takes {_KINDS[kind]} here, not {_kind(x)}.")
        return _sparing(_at(place, function.does, *before, *args), place)

    def _block(self, value: Any, suffix: Index) -> Any:
        wanted = 2 if isinstance(value, Operator) else 1 if isinstance(value, StackedVector) else 0
        if not wanted:
            raise fault(suffix.place, f"{_kind(value)} has no blocks.")
        args = [self._of(x) for x in suffix.args]
        if len(args) != wanted or not all(_suits(x, "b") for x in args):
            how = "phi['hand', 'arm'] or phi[0, 2]" if wanted == 2 else "V['hand'] or V[0]"
            raise fault(suffix.place, f"a block of {_kind(value)} is named by bodies, as in {how}.")
        return _at(suffix.place, operator.getitem, value, tuple(args) if wanted == 2 else args[0])


def _at(place: int, do: Callable[..., Any], *args: Any) -> Any:
    """Call the library for the expression; its errors get a place. Any other error is one of the expression."""
    try:
        return do(*args)
    except SoacraftError as error:
        if error.place is None:
            error.place = place
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise fault(place, f"this cannot be computed: {str(error)[:200]}.") from None
    except RecursionError:
        raise fault(place, "the expression is nested too deep: name its parts, apply one after the other.") from None
    except MemoryError:
        raise fault(place, "there is not enough memory for this.") from None


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def _plain(x: Any, place: int) -> Any:
    if isinstance(x, (Operator, StackedVector, np.ndarray)) or _is_number(x):
        return x
    raise fault(place, f"{_kind(x)} cannot be computed with.")


def _number(tree: Number) -> int | float:
    whole = tree.text.isdigit()
    value = float(tree.text)
    if not math.isfinite(value):
        raise fault(tree.place, "this number is too large.")
    return int(tree.text) if whole and value <= MOST_WHOLE else value


def _small(value: Any, place: int) -> Any:
    """Numbers that are finite, and whole ones that a double holds."""
    if isinstance(value, complex) or (_is_number(value) and not math.isfinite(value)):
        raise fault(place, "the result is no finite number.")
    return float(value) if isinstance(value, int) and abs(value) > MOST_WHOLE else value


def _joined(left: Any, sign: str, place: int, right: Any) -> Any:
    """A sum, a difference, a product or a quotient."""
    left, right = _plain(left, place), _plain(right, place)
    blocks = [isinstance(x, np.ndarray) for x in (left, right)]
    if any(blocks):
        alike = all(blocks) and left.shape == right.shape and sign in "+-"
        scaled = sign in "*/" and _is_number(right if blocks[0] else left) and (sign == "*" or blocks[0])
        if not alike and not scaled:
            raise fault(place, "blocks of numbers are added where their shapes agree, and scaled by numbers.")
    return _sparing(_small(_at(place, _SIGNS[sign], left, right), place), place)


def _sparing(value: Any, place: int, times: int = 1) -> Any:
    """An expression of not too many operators."""
    if isinstance(value, Operator) and sum(1 for _ in islice(value.leaves(), MOST_LEAVES)) * times >= MOST_LEAVES:
        raise fault(place, f"the expression has {MOST_LEAVES} operators or more, which is too many.")
    if isinstance(value, np.generic):
        return value.item()
    return value


def _suits(x: Any, kind: str) -> bool:
    whole = isinstance(x, int) and not isinstance(x, bool)
    match kind:
        case "o":
            return isinstance(x, Operator)
        case "v":
            return isinstance(x, StackedVector)
        case "t":
            return isinstance(x, (str, list))
        case "n":
            return whole
        case _:
            return whole or isinstance(x, str)


def _kind(x: Any) -> str:
    if isinstance(x, Operator):
        return "an operator"
    if isinstance(x, StackedVector):
        return "a vector"
    if isinstance(x, np.ndarray):
        return "a block of numbers"
    if isinstance(x, (str, list)):
        return "a text"
    return "a number" if _is_number(x) else f"a {type(x).__name__.lower()}"
