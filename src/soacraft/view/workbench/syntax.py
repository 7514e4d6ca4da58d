"""The grammar of expressions, and a reader of it by recursive descent. Nothing is computed here.

    line     = [ name "=" ] sum
    sum      = product { ("+" | "-") product }
    product  = signed { ("*" | "@" | "/") signed }
    signed   = { "-" | "+" } power
    power    = postfix [ "**" signed ]
    postfix  = atom { "." name | "(" [ sum { "," sum } ] ")" | "[" sum { "," sum } "]" }
    atom     = number | text | name | "(" sum ")" | "[" text { "," text } "]"

It is the part of Python that expressions are printed in, so their text reads back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from soacraft.view.workbench.tokens import Token, fault, tokens, unquoted

#: Largest depth of nested brackets.
DEEPEST = 40


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    text: str
    place: int


@dataclass(frozen=True)
class Text:
    """A quoted text, such as the name of a body."""

    value: str
    place: int


@dataclass(frozen=True)
class Name:
    """A name."""

    name: str
    place: int


@dataclass(frozen=True)
class Many:
    """A list of names, as of nodes in `B(["hand", "foot"])`."""

    items: tuple[Tree, ...]
    place: int


@dataclass(frozen=True)
class Chain:
    """Terms or factors side by side: the first, then (sign, its place, the next)."""

    first: Tree
    rest: tuple[tuple[str, int, Tree], ...]
    place: int


@dataclass(frozen=True)
class Negative:
    """A minus before it."""

    arg: Tree
    place: int


@dataclass(frozen=True)
class Power:
    """A power; `place` is that of the sign."""

    base: Tree
    exponent: Tree
    place: int


@dataclass(frozen=True)
class Member:
    """`.name`."""

    name: str
    place: int


@dataclass(frozen=True)
class Call:
    """`(...)`."""

    args: tuple[Tree, ...]
    place: int


@dataclass(frozen=True)
class Index:
    """`[i]` or `[i, j]`."""

    args: tuple[Tree, ...]
    place: int


@dataclass(frozen=True)
class Postfix:
    """Atom with its suffixes."""

    base: Tree
    suffixes: tuple[Member | Call | Index, ...]
    place: int


Tree = Number | Text | Name | Many | Chain | Negative | Power | Postfix


@dataclass(frozen=True)
class Line:
    """A line of the prompt: a value, and the name it is given, or none."""

    value: Tree
    name: str
    place: int


def parse(text: str) -> Line:
    """A line as a tree; an `ExpressionError` with its place where it cannot be read.

    >>> parse("F = H*phi").name
    'F'
    """
    return _Reader(tokens(text)).line()


class _Reader:
    """The words that are left, one at a time."""

    def __init__(self, words: list[Token]) -> None:
        self._words, self._at, self._depth = words, 0, 0

    @property
    def _now(self) -> Token:
        return self._words[self._at]

    def _is(self, *signs: str) -> bool:
        return self._now.kind == "sign" and self._now.text in signs

    def _take(self) -> Token:
        word = self._now
        self._at += 1
        return word

    def _expect(self, sign: str, opened: Token) -> None:
        if not self._is(sign):
            where = f"the {opened.text!r} at column {opened.place + 1}"
            raise fault(self._now.place, f"{sign!r} is missing here, which closes {where}.")
        self._take()

    def line(self) -> Line:
        first, name = self._now, ""
        if first.kind == "name" and self._words[self._at + 1].text == "=" and self._words[self._at + 1].kind == "sign":
            name = self._take().text
            self._take()
        value = self._sum()
        if self._now.kind != "end":
            raise fault(self._now.place, f"{self._now.text[:20]!r} is not expected here; factors are joined by *.")
        return Line(value, name, first.place)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise fault(self._now.place, f"more than {DEEPEST} brackets and powers are inside each other: name parts.")

    def _sum(self) -> Tree:
        self._deeper()
        made = self._chain(self._product, "+", "-")
        self._depth -= 1
        return made

    def _product(self) -> Tree:
        return self._chain(self._signed, "*", "@", "/")

    def _chain(self, part: Callable[[], Tree], *signs: str) -> Tree:
        place, first, rest = self._now.place, part(), []
        while self._is(*signs):
            sign = self._take()
            rest.append((sign.text, sign.place, part()))
        return Chain(first, tuple(rest), place) if rest else first

    def _signed(self) -> Tree:
        place, minus = self._now.place, False
        while self._is("-", "+"):
            minus ^= self._take().text == "-"
        made = self._power()
        return Negative(made, place) if minus else made

    def _power(self) -> Tree:
        base = self._postfix()
        if not self._is("**"):
            return base
        sign = self._take()
        self._deeper()
        exponent = self._signed()
        self._depth -= 1
        return Power(base, exponent, sign.place)

    def _postfix(self) -> Tree:
        place, base = self._now.place, self._atom()
        suffixes: list[Member | Call | Index] = []
        while self._is(".", "(", "["):
            sign = self._take()
            if sign.text == ".":
                if self._now.kind != "name":
                    raise fault(self._now.place, "after a dot a name follows, as in phi.T or D.inv.")
                suffixes.append(Member(self._take().text, sign.place + 1))
            else:
                close, kind = (")", Call) if sign.text == "(" else ("]", Index)
                suffixes.append(kind(self._items(sign, close), sign.place))
        return Postfix(base, tuple(suffixes), place) if suffixes else base

    def _items(self, opened: Token, close: str) -> tuple[Tree, ...]:
        items: list[Tree] = []
        while not self._is(close):
            items.append(self._sum())
            if not self._is(","):
                break
            self._take()
        self._expect(close, opened)
        return tuple(items)

    def _atom(self) -> Tree:
        word = self._take()
        if word.kind == "number":
            return Number(word.text, word.place)
        if word.kind == "text":
            return Text(unquoted(word), word.place)
        if word.kind == "name":
            return Name(word.text, word.place)
        if word.text == "(":
            inside = self._sum()
            self._expect(")", word)
            return inside
        if word.text == "[":
            return Many(self._items(word, "]"), word.place)
        what = "the expression ends" if word.kind == "end" else f"there is {word.text!r}"
        raise fault(word.place, f"{what} where a name, a number or '(' is expected.")
