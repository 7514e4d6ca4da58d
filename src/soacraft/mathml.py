"""The LaTeX of expressions as MathML, which browsers show by themselves: no script from elsewhere.

Only what `expr.latex()` writes is known. An element is `[tag, attributes, children]`, a child an element or text: data,
of which a page makes nodes, so that no name in it can become markup.
"""

from __future__ import annotations

import re
from typing import Any

#: `[tag, attributes, children]`.
Element = list[Any]

_WORDS = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?(?:e[+-]?\d+)?|[^\s]", re.DOTALL)
_LETTERS = {
    "phi": "ϕ", "psi": "ψ", "tau": "τ", "Omega": "Ω", "Upsilon": "Υ", "alpha": "α", "beta": "β", "gamma": "γ",
    "delta": "δ", "Delta": "Δ", "epsilon": "ϵ", "nu": "ν", "theta": "θ", "lambda": "λ", "Lambda": "Λ", "Phi": "Φ",
    "Psi": "Ψ", "omega": "ω", "Pi": "Π", "pi": "π", "ell": "ℓ", "Gamma": "Γ", "mu": "μ", "eta": "η", "Theta": "Θ",
    "partial": "∂",
}  # fmt: skip
_ACCENTS = {"bar": "¯", "tilde": "~", "widetilde": "~", "hat": "^", "widehat": "^", "dot": "˙", "overline": "¯"}
_SIGNS = {
    "sum": "∑", "cdot": "·", "cdots": "⋯", "le": "≤", "leq": "≤", "ldots": "…", "in": "∈", "times": "×", "to": "→",
}  # fmt: skip
_SPACES = {",": "0.1667em", ";": "0.2778em", ":": "0.2222em", "quad": "1em", "qquad": "2em", " ": "0.25em"}
#: Script letters that Unicode had before the others.
_SCRIPT = {"B": "ℬ", "E": "ℰ", "F": "ℱ", "H": "ℋ", "I": "ℐ", "L": "ℒ", "M": "ℳ", "R": "ℛ"}
#: Largest depth of nested groups.
_DEEPEST = 120


def math(latex: str) -> Element:
    r"""The LaTeX of an expression as a MathML element.

    >>> math(r"\phi^{*}")
    ['math', {'display': 'block'}, [['msup', {}, [['mi', {}, ['ϕ']], ['mo', {}, ['*']]]]]]
    """
    reader = _Reader(_WORDS.findall(latex))
    return ["math", {"display": "block"}, reader.row("")]


def plain_text(element: Element | str) -> str:
    """All words of an element, for those who do not see it."""
    return element if isinstance(element, str) else "".join(plain_text(x) for x in element[2])


class _Reader:
    """The words that are left."""

    def __init__(self, words: list[str]) -> None:
        self._words, self._at, self._depth = words, 0, 0

    def _now(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _take(self) -> str:
        word = self._now()
        self._at += 1
        return word

    def row(self, end: str) -> list[Element]:
        """Elements up to a word, which is taken."""
        elements: list[Element] = []
        while self._now() and self._now() != end:
            if self._now() in ("^", "_"):
                elements.append(self._raised(elements.pop() if elements else _element("mrow")))
            else:
                elements.append(self._one())
        self._take()
        return elements

    def _raised(self, base: Element) -> Element:
        """A base with what is above and below it."""
        marks: dict[str, Element] = {}
        while self._now() in ("^", "_") and self._now() not in marks:
            mark = self._take()
            marks[mark] = self._group()
        kind = "msubsup" if len(marks) == 2 else "msup" if "^" in marks else "msub"
        return _element(kind, base, *(marks[x] for x in "_^" if x in marks))

    def _group(self) -> Element:
        """Element of a group in braces, or of one word."""
        if self._now() != "{":
            return self._one()
        self._take()
        self._depth += 1
        inside = self.row("}") if self._depth <= _DEEPEST else []
        self._depth -= 1
        return inside[0] if len(inside) == 1 else _element("mrow", *inside)

    def _words_of_group(self) -> str:
        """The text in braces, its escapes undone."""
        if self._take() != "{":
            return ""
        depth, words = 1, ""
        while self._now():
            word = self._take()
            depth += (word == "{") - (word == "}")
            if not depth:
                break
            words += {"\\backslash": "\\", "{": "", "}": ""}.get(word, word[1:] if word[0] == "\\" else word)
        return words

    def _one(self) -> Element:
        word = self._now()
        if word == "{":
            return self._group()
        self._take()
        if not word:
            return _element("mrow")
        if word[0] == "\\" and len(word) > 1:
            return self._command(word[1:])
        if word[0].isdigit():
            return _element("mn", word)
        if word.isalpha():
            return _element("mi", word)
        return _element("mo", {"-": "−"}.get(word, word), **({"stretchy": "false"} if word in "()[]{}|" else {}))

    def _command(self, name: str) -> Element:
        if name == "textstyle":  # formulas are in lines of text
            return _element("mrow")
        if name in _LETTERS:
            return _element("mi", _LETTERS[name])
        if name in _SIGNS:
            return _element("mo", _SIGNS[name])
        if name in _SPACES:
            return _element("mspace", width=_SPACES[name])
        if name in _ACCENTS:
            return _element("mover", self._group(), _element("mo", _ACCENTS[name]), accent="true")
        if name in ("mathcal", "mathbf"):
            text = self._words_of_group()
            return _element("mi", "".join(_script(x) if name == "mathcal" else _bold(x) for x in text))
        if name == "mathfrak":
            return _element("mi", "".join(_fraktur(x) for x in self._words_of_group()))
        if name in ("log", "det"):
            return _element("mi", name, mathvariant="normal")
        if name == "overset":
            above, below = self._group(), self._group()
            return _element("mover", below, above)
        if name in ("mathrm", "operatorname", "text"):
            return _element("mi", self._words_of_group(), mathvariant="normal")
        if name in ("left", "right"):
            return self._bracket(name)
        return _element("mtext", name if len(name) == 1 else f"\\{name}")

    def _bracket(self, name: str) -> Element:
        sign = self._take().lstrip("\\")
        if name == "right":  # without a left one
            return _element("mo", sign)
        self._depth += 1
        inside = self.row("\\right") if self._depth <= _DEEPEST else []
        self._depth -= 1
        return _element("mrow", _element("mo", sign), *inside, _element("mo", self._take().lstrip("\\")))


def _element(tag: str, *children: Element | str, **attributes: str) -> Element:
    return [tag, attributes, list(children)]


def _script(x: str) -> str:
    return _SCRIPT.get(x) or (chr(0x1D49C + ord(x) - ord("A")) if "A" <= x <= "Z" else x)


def _fraktur(x: str) -> str:
    return chr(0x1D51E + ord(x) - ord("a")) if "a" <= x <= "z" else x


def _bold(x: str) -> str:
    return chr(0x1D400 + ord(x) - ord("A")) if "A" <= x <= "Z" else x
