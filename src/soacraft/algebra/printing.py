"""Expressions as text that reads back as Python, and as the LaTeX of the papers."""

from __future__ import annotations

from soacraft.algebra.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import Leaf, Operator

# How tightly a piece of text holds together: what is next to a tighter operation gets parentheses.
SUM, PRODUCT, ATOM = 0, 1, 2


def text(expr: Operator) -> str:
    """Python that reads back to an expression of the same value."""
    return _text(expr)[0]


def _text(expr: Operator) -> tuple[str, int]:
    if isinstance(expr, Leaf):
        return expr.name, ATOM
    if isinstance(expr, Identity):
        return "I", ATOM
    if isinstance(expr, Transpose):
        return f"{_held(expr.arg, ATOM)}.T", ATOM
    if isinstance(expr, Inverse):
        return f"{_held(expr.arg, ATOM)}.inv", ATOM
    if isinstance(expr, Power):
        return f"{_held(expr.arg, ATOM)}**{expr.n}", PRODUCT
    if isinstance(expr, Scaled):
        sign = "-" if expr.factor == -1 else f"{expr.factor!r}*"
        return sign + _held(expr.arg, ATOM), PRODUCT
    if isinstance(expr, Product):
        words = [_held(f, PRODUCT if i == 0 or isinstance(f, Power) else ATOM) for i, f in enumerate(expr.factors)]
        return (" * " if any("(" in w for w in words) else "*").join(words), PRODUCT
    assert isinstance(expr, Sum)
    words = [_held(expr.terms[0], PRODUCT)]
    for term in expr.terms[1:]:
        if isinstance(term, Scaled) and term.factor == -1:
            words.append(f" - {_held(term.arg, PRODUCT)}")
        else:
            words.append(f" + {_held(term, PRODUCT)}")
    return "".join(words), SUM


def before_dot(expr: Operator) -> str:
    """Text that a dot may follow, as in `(2*E_phi).lyapunov(M)`."""
    return _held(expr, ATOM)


def _held(expr: Operator, tightness: int) -> str:
    words, holds = _text(expr)
    return words if holds >= tightness else f"({words})"


#: What LaTeX reads as commands, as it is to be written in words.
_LATEX = str.maketrans({"\\": r"\backslash{}", "^": r"\^{}", "~": r"\~{}"} | {x: "\\" + x for x in "_&%#${}"})


def latex_words(words: str) -> str:
    """Words, such as the name of a body, as LaTeX shows them."""
    return words.translate(_LATEX)


def latex(expr: Operator) -> str:
    """The expression as a paper prints it: star for the transpose, brackets for sums."""
    return _latex(expr)[0]


def _latex(expr: Operator) -> tuple[str, int]:
    if isinstance(expr, Leaf):
        return expr.latex_name, ATOM
    if isinstance(expr, Identity):
        return r"\mathbf{I}", ATOM
    if isinstance(expr, (Transpose, Inverse, Power)):
        return _superscript(expr), ATOM
    if isinstance(expr, Scaled):
        sign = "-" if expr.factor == -1 else rf"{expr.factor!r}\,"
        inner = _latex(expr.arg)  # once: to ask twice would double the work at every level
        word = _in_brackets(*inner, PRODUCT)
        apart = word.startswith("-") or (isinstance(expr.arg, Scaled) and expr.factor != -1)
        return sign + (_in_brackets(*inner, ATOM) if apart else word), PRODUCT
    if isinstance(expr, Product):
        words = [_bracketed(f, PRODUCT if i == 0 else ATOM) for i, f in enumerate(expr.factors)]
        return r"\, ".join(words), PRODUCT
    assert isinstance(expr, Sum)
    words = [_latex(expr.terms[0])[0]]
    for term in expr.terms[1:]:
        word = _bracketed(term, PRODUCT)
        words.append(f" - {word[1:]}" if word.startswith("-") else f" + {word}")
    return "".join(words), SUM


def _superscript(expr: Transpose | Inverse | Power) -> str:
    mark, inner = "", expr
    while isinstance(inner, (Transpose, Inverse, Power)):
        one = "*" if isinstance(inner, Transpose) else "-1" if isinstance(inner, Inverse) else str(inner.n)
        mark = "-*" if {one, mark} == {"*", "-1"} else one if not mark else f"{one}\\,{mark}"
        inner = inner.arg  # type: ignore[assignment]
    word = _bracketed(inner, ATOM)
    return f"{{{word}}}^{{{mark}}}" if "^" in word else f"{word}^{{{mark}}}"


def _bracketed(expr: Operator, tightness: int) -> str:
    return _in_brackets(*_latex(expr), tightness)


def _in_brackets(words: str, holds: int, tightness: int) -> str:
    return words if holds >= tightness else rf"\left[{words}\right]"
