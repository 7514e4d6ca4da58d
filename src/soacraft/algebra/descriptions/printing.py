"""Expressions as text that reads back as Python, and as the LaTeX of the papers."""

from __future__ import annotations

from functools import singledispatch

from soacraft.algebra.expressions import questions
from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator

# Precedence of a piece of text: a piece next to a tighter operation gets parentheses.
SUM, PRODUCT, ATOM = 0, 1, 2


def text(expr: Operator) -> str:
    """Python that reads back to an expression of the same value."""
    return written(expr)[0]


def before_dot(expr: Operator) -> str:
    """Text that a dot may follow, as in `(2*E_phi).lyapunov(M)`."""
    return _held(expr, ATOM)


def _held(expr: Operator, tightness: int) -> str:
    words, holds = written(expr)
    return words if holds >= tightness else f"({words})"


@singledispatch
def written(expr: Operator) -> tuple[str, int]:
    """The text of a kind of expression, and how tightly it holds together."""
    raise no_rule("text", expr)


@written.register
def _(expr: Leaf) -> tuple[str, int]:
    return expr.name, ATOM


@written.register
def _(expr: Identity) -> tuple[str, int]:
    return "I", ATOM


@written.register
def _(expr: Transpose) -> tuple[str, int]:
    return f"{_held(expr.arg, ATOM)}.T", ATOM


@written.register
def _(expr: Inverse) -> tuple[str, int]:
    return f"{_held(expr.arg, ATOM)}.inv", ATOM


@written.register
def _(expr: Power) -> tuple[str, int]:
    return f"{_held(expr.arg, ATOM)}**{expr.n}", PRODUCT


@written.register
def _(expr: Scaled) -> tuple[str, int]:
    sign = "-" if expr.factor == -1 else f"{expr.factor!r}*"
    return sign + _held(expr.arg, ATOM), PRODUCT


@written.register
def _(expr: Product) -> tuple[str, int]:
    words = [_held(f, PRODUCT if i == 0 or isinstance(f, Power) else ATOM) for i, f in enumerate(expr.factors)]
    return (" * " if any("(" in w for w in words) else "*").join(words), PRODUCT


@written.register
def _(expr: Sum) -> tuple[str, int]:
    words = [_held(expr.terms[0], PRODUCT)]
    for term in expr.terms[1:]:
        if isinstance(term, Scaled) and term.factor == -1:
            words.append(f" - {_held(term.arg, PRODUCT)}")
        else:
            words.append(f" + {_held(term, PRODUCT)}")
    return "".join(words), SUM


#: Characters that LaTeX reads as commands, in the form for words.
_LATEX = str.maketrans({"\\": r"\backslash{}", "^": r"\^{}", "~": r"\~{}"} | {x: "\\" + x for x in "_&%#${}"})


def latex_words(words: str) -> str:
    """Words, such as the name of a body, as LaTeX shows them."""
    return words.translate(_LATEX)


def latex(expr: Operator) -> str:
    """The expression as a paper prints it: star for the transpose, brackets for sums."""
    return printed(expr)[0]


@singledispatch
def printed(expr: Operator) -> tuple[str, int]:
    """The LaTeX of a kind of expression, and how tightly it holds together."""
    raise no_rule("latex", expr)


@printed.register
def _(expr: Leaf) -> tuple[str, int]:
    return expr.latex_name, ATOM


@printed.register
def _(expr: Identity) -> tuple[str, int]:
    return r"\mathbf{I}", ATOM


@printed.register
def _(expr: Transpose | Inverse | Power) -> tuple[str, int]:
    mark, inner = "", expr
    while isinstance(inner, (Transpose, Inverse, Power)):
        one = "*" if isinstance(inner, Transpose) else "-1" if isinstance(inner, Inverse) else str(inner.n)
        mark = "-*" if {one, mark} == {"*", "-1"} else one if not mark else f"{one}\\,{mark}"
        inner = inner.arg  # type: ignore[assignment]
    word = _bracketed(inner, ATOM)
    return f"{{{word}}}^{{{mark}}}" if "^" in word else f"{word}^{{{mark}}}", ATOM


@printed.register
def _(expr: Scaled) -> tuple[str, int]:
    sign = "-" if expr.factor == -1 else rf"{expr.factor!r}\,"
    inner = printed(expr.arg)  # once: to ask twice would double the work at every level
    word = _in_brackets(*inner, PRODUCT)
    apart = word.startswith("-") or (isinstance(expr.arg, Scaled) and expr.factor != -1)
    return sign + (_in_brackets(*inner, ATOM) if apart else word), PRODUCT


@printed.register
def _(expr: Product) -> tuple[str, int]:
    words = [_bracketed(f, PRODUCT if i == 0 else ATOM) for i, f in enumerate(expr.factors)]
    return r"\, ".join(words), PRODUCT


@printed.register
def _(expr: Sum) -> tuple[str, int]:
    words = [printed(expr.terms[0])[0]]
    for term in expr.terms[1:]:
        word = _bracketed(term, PRODUCT)
        words.append(f" - {word[1:]}" if word.startswith("-") else f" + {word}")
    return "".join(words), SUM


def _bracketed(expr: Operator, tightness: int) -> str:
    return _in_brackets(*printed(expr), tightness)


def _in_brackets(words: str, holds: int, tightness: int) -> str:
    return words if holds >= tightness else rf"\left[{words}\right]"


questions.latex.register(Operator, latex)
questions.text.register(Operator, text)
