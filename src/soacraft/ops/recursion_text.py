"""A product with an expression, written as the recursions of the papers: loops over the nodes, in text and in LaTeX.

    phi* H* v     for k = n...1:   V(k) = phi*(k+1,k) V(k+1) + H*(k) v(k)
    H phi x       for k = 1...n:   f(k) = phi(k,k-1) f(k-1) + x(k),   y(k) = H(k) f(k)

Nodes of a chain are counted as the papers do, tip 1 and base n. In a tree p is the parent of k, and sums go over the
children j of k. What needs articulated bodies begins with the Riccati recursion. Nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import NamedTuple

from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.ops.derived import DOWN, UP
from soacraft.ops.leaves import PropagatorLeaf

#: Kernels with the letter of their weights: the papers write phi(k,k-1) for the block of E_phi.
WEIGHTS = {"E_phi": ("phi", r"\phi"), "E_psi": ("psi", r"\psi")}
#: Result of a sweep, by the letter of its weights and its direction.
RESULTS = {("phi", "in"): "f", ("phi", "out"): "V", ("psi", "in"): "z", ("psi", "out"): "lambda"}
LATEX = {"lambda": r"\lambda", "eps": r"\epsilon", "nu": r"\nu"}
RICCATI = frozenset("P P_plus D G K tau tau_bar E_psi psi psi_tilde Upsilon Omega".split())


class Words(NamedTuple):
    """Words in text and in LaTeX."""

    text: str
    latex: str

    def __add__(self, other: object) -> Words:
        assert isinstance(other, Words)
        return Words(self.text + other.text, self.latex + other.latex)


def said(text: str, latex: str | None = None) -> Words:
    return Words(text, text if latex is None else latex)


@dataclass(frozen=True)
class Term:
    """Vector at node k: a variable, or words made of variables at k."""

    words: Words
    name: str = ""
    sum: bool = False

    def held(self) -> Words:
        """Words of the term, in brackets where it is a sum."""
        return Words(f"({self.words.text})", rf"\left({self.words.latex}\right)") if self.sum else self.words


@dataclass
class Loop:
    """Lines that run at one node after the other: tips to base ("in"), base to tips ("out"), or in any order ("")."""

    way: str
    lines: list[Words] = field(default_factory=list)


@dataclass(frozen=True)
class Recursion:
    """The loops of a product with a vector; prints as text, `_repr_latex_` gives the papers' form."""

    expression: str
    text: tuple[str, ...]
    latex: str

    def __repr__(self) -> str:
        return "\n".join(self.text)

    def _repr_latex_(self) -> str:
        return f"$${self.latex}$$"


class Writer:
    """Writes one expression."""

    def __init__(self, expr: Operator) -> None:
        rows, cols = expr.spaces
        tree = cols.tree or rows.tree
        self.serial = tree is not None and tree.is_serial
        self.loops: list[Loop] = []
        self.taken: dict[str, int] = {}

    # -- indices --------------------------------------------------------------------------------------------------

    def _at(self, where: str) -> Words:
        """k, its child or its parent."""
        if where == "k":
            return said("k")
        if self.serial:
            return said("k-1" if where == "child" else "k+1")
        return said("j" if where == "child" else "p")

    def value(self, name: str, where: str = "k") -> Words:
        """A variable at a node."""
        at = self._at(where)
        return Words(f"{name}({at.text})", f"{_letter(name)}({at.latex})")

    def weight(self, name: tuple[str, str], star: bool, where: str) -> Words:
        """phi(k,k-1) of a child, phi*(k+1,k) of the parent."""
        i, j = ("k", "child") if where == "child" else ("parent", "k")
        at = f"({self._at(i).text},{self._at(j).text})"
        mark = "*" if star else ""
        return Words(f"{name[0]}{mark}{at}", f"{name[1]}{'^{*}' if star else ''}{at}")

    def over_children(self, words: Words) -> Words:
        """The sum over the children, in a tree."""
        return words if self.serial else Words(f"sum_j {words.text}", rf"\sum_{{j}} {words.latex}")

    # -- lines ----------------------------------------------------------------------------------------------------

    def new(self, name: str) -> str:
        """A name that is not taken: V, V2, V3."""
        self.taken[name] = self.taken.get(name, 0) + 1
        return name if self.taken[name] == 1 else f"{name}{self.taken[name]}"

    def line(self, way: str, name: str, words: Words, fresh: bool = False) -> Term:
        """name(k) = words, in the loop that runs now if its direction fits, or in a new one."""
        last = self.loops[-1] if self.loops else None
        if last is None or fresh or (way and last.way and last.way != way):
            last = Loop(way)
            self.loops.append(last)
        last.way = last.way or way
        value = self.value(name)
        last.lines.append(Words(f"{value.text} = {words.text}", f"{value.latex} &= {words.latex}"))
        return Term(value, name)

    def named(self, x: Term, name: str = "y") -> Term:
        """Term with a name: x itself, or a new variable that x is assigned to."""
        return x if x.name else self.line("", self.new(name), x.words)

    # -- factors --------------------------------------------------------------------------------------------------

    def diagonal(self, words: Words, x: Term) -> Term:
        """F(k) x(k)."""
        return Term(words + said(" ", r"\, ") + x.held())

    def edges(self, name: tuple[str, str], down: bool, x: Term) -> Term:
        """Sum over the children of E(k,j) x(j), or E*(p,k) x(p)."""
        v = self.named(x)
        where = "parent" if down else "child"
        words = self.weight(name, down, where) + said(" ", r"\, ") + self.value(v.name, where)
        self.loops.append(Loop(""))  # the values of other nodes are known once the loop before is through
        return self.line("", self.new("y"), words if down else self.over_children(words))

    def sweep(self, name: tuple[str, str], down: bool, tilde: bool, x: Term) -> Term:
        """A gather or a scatter."""
        way, where = ("out", "parent") if down else ("in", "child")
        given = self.named(x) if tilde else x
        result = self.new(RESULTS.get((name[0], way), "y"))
        there = self.value(result, where)
        if tilde:
            there = Words(f"({there.text} + {self.value(given.name, where).text})",
                          rf"\left({there.latex} + {self.value(given.name, where).latex}\right)")  # fmt: skip
        words = self.weight(name, down, where) + said(" ", r"\, ") + there
        words = words if down else self.over_children(words)
        whole = words if tilde else words + said(" + ") + given.words
        last = self.loops[-1] if self.loops else None
        return self.line(way, result, whole, fresh=last is not None and last.way not in ("", way))


def _letter(name: str) -> str:
    base = name.rstrip("0123456789")
    number = name[len(base) :]
    return LATEX.get(base, base) + (f"_{{{number}}}" if number else "")


def recursion(expr: Operator) -> Recursion:
    """The loops of a product of an expression with a vector."""
    w = Writer(expr)
    if any(leaf.name in RICCATI for leaf in expr.leaves()) or _has_riccati_inverse(expr):
        _riccati(w)
    if any(leaf.name == "R" for leaf in expr.leaves()):
        _composite(w)
    if any(leaf.name == "Upsilon" for leaf in expr.leaves()):
        _compliance(w)
    x = w.new(_argument(expr))
    result = written(expr, w, False, Term(w.value(x), x))
    if not result.name or result.name == x:
        w.line("", w.new("y"), result.words)
    loops = [loop for loop in w.loops if loop.lines]
    return Recursion(expr.text(), tuple(_texts(loops, w.serial)), _latex(loops, w.serial))


def _has_riccati_inverse(expr: Operator) -> bool:
    """True if a known inverse in it needs articulated bodies."""
    if isinstance(expr, Inverse) and expr.arg.pattern() != DIAGONAL:
        known = expr.known()
        return known is not None and any(leaf.name in RICCATI for leaf in known[0].leaves())
    return any(map(_has_riccati_inverse, expr.parts()))


def _argument(expr: Operator) -> str:
    """v for what H* is applied to, T for other vectors of the hinges, x elsewhere."""
    kind = expr.spaces[1].kind
    last = expr.factors[-1] if isinstance(expr, Product) else expr
    turned = isinstance(last, Transpose) and isinstance(last.arg, Leaf) and last.arg.name == "H"
    return "v" if turned else "T" if kind == "hinge" else "x"


def _riccati(w: Writer) -> None:
    """P, D, G, P+ and the weights of psi (000 Eq. 22-24; 004 Eq. 33)."""
    phi, where = ("phi", r"\phi"), "child"
    weight, star = w.weight(phi, False, where), w.weight(phi, True, where)
    at = w._at(where)
    inner = Words(f"{weight.text} P+({at.text}) {star.text}", rf"{weight.latex} P^{{+}}({at.latex}) {star.latex}")
    sides = w.over_children(inner)
    loop = Loop("in")
    for text, latex in (
        (f"P(k) = {sides.text} + M(k)", rf"P(k) &= {sides.latex} + M(k)"),
        ("D(k) = H(k) P(k) H*(k)", r"D(k) &= H(k) P(k) H^{*}(k)"),
        ("G(k) = P(k) H*(k) D^-1(k)", r"G(k) &= P(k) H^{*}(k) D^{-1}(k)"),
        ("P+(k) = (I - G(k) H(k)) P(k)", r"P^{+}(k) &= \left(I - G(k) H(k)\right) P(k)"),
    ):
        loop.lines.append(Words(text, latex))
    up = "(k+1,k)" if w.serial else "(p,k)"
    loop.lines.append(Words(f"psi{up} = phi{up} (I - G(k) H(k))", rf"\psi{up} &= \phi{up} \left(I - G(k) H(k)\right)"))
    loop.lines.append(Words(f"K{up} = phi{up} G(k)", rf"K{up} &= \phi{up} G(k)"))
    w.loops.append(loop)


def _composite(w: Writer) -> None:
    """R (000 Eq. 19)."""
    weight, star = (w.weight(("phi", r"\phi"), star, "child") for star in (False, True))
    at = w._at("child")
    inner = w.over_children(
        Words(f"{weight.text} R({at.text}) {star.text}", f"{weight.latex} R({at.latex}) {star.latex}")
    )
    w.loops.append(Loop("in", [Words(f"R(k) = {inner.text} + M(k)", f"R(k) &= {inner.latex} + M(k)")]))


def _compliance(w: Writer) -> None:
    """Upsilon (000 Eq. 36)."""
    up, above = ("(k+1,k)", "(k+1)") if w.serial else ("(p,k)", "(p)")
    text = f"Upsilon(k) = psi*{up} Upsilon{above} psi{up} + H*(k) D^-1(k) H(k)"
    latex = rf"\Upsilon(k) &= \psi^{{*}}{up} \Upsilon{above} \psi{up} + H^{{*}}(k) D^{{-1}}(k) H(k)"
    w.loops.append(Loop("out", [Words(text, latex)]))


def _head(way: str, serial: bool) -> tuple[str, str]:
    if serial:
        order = {"in": "k = 1...n", "out": "k = n...1", "": "k = 1...n"}[way]
        return f"for {order}:", r"\textbf{for } " + order.replace("...", r" \cdots ") + ":"
    order = {"in": "all nodes k, tips to base", "out": "all nodes k, base to tips", "": "all nodes k"}[way]
    return f"for {order}:", rf"\textbf{{for {order.replace(' k', ' $k$')}}}:"


def _texts(loops: Sequence[Loop], serial: bool) -> list[str]:
    return [line for loop in loops for line in (_head(loop.way, serial)[0], *(f"    {x.text}" for x in loop.lines))]


def _latex(loops: Sequence[Loop], serial: bool) -> str:
    rows = [
        row
        for loop in loops
        for row in (rf"&{_head(loop.way, serial)[1]}", *(rf"\quad {line.latex}" for line in loop.lines))
    ]
    return r"\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}"


# -- kinds of expression ----------------------------------------------------------------------------------------------


@singledispatch
def written(expr: Operator, w: Writer, turned: bool, x: Term) -> Term:
    """The product of an expression, or of its transpose, with a term."""
    mark = ".T" if turned else ""
    name = f"[{before_dot(expr)}{mark}"
    return Term(Words(f"{name} {w.named(x).name}](k)", rf"\left[{expr.latex()}\, {_letter(w.named(x).name)}\right](k)"))


@written.register
def _(expr: Leaf, w: Writer, turned: bool, x: Term) -> Term:
    meaning, found = expr.definition(), expr.pattern()
    if meaning is not None:
        return written(meaning, w, turned, x)
    if found == DIAGONAL:
        name = "P+" if expr.name == "P_plus" else expr.name
        mark, star = ("*", "^{*}") if turned and "symmetric" not in expr.tags else ("", "")
        return w.diagonal(Words(f"{name}{mark}(k)", f"{expr.latex_name}{star}(k)"), x)
    if found in (UP, DOWN):
        name_of = WEIGHTS.get(expr.name, (expr.name, expr.latex_name))
        return w.edges(name_of, turned != (found == DOWN), x)
    v, mark, star = w.named(x).name, "*" if turned else "", "^{*}" if turned else ""
    w.loops.append(Loop(""))  # the values of all nodes are known once the loop before is through
    at = "i,k" if turned else "k,i"
    latex = rf"\sum_{{i}} {expr.latex_name}{star}({at})\, {_letter(v)}(i)"
    return Term(Words(f"sum_i {expr.name}{mark}({at}) {v}(i)", latex))


@written.register
def _(expr: PropagatorLeaf, w: Writer, turned: bool, x: Term) -> Term:
    kernel = expr.kernel
    assert isinstance(kernel, Leaf)
    return w.sweep(WEIGHTS.get(kernel.name, (kernel.name, kernel.latex_name)), turned, expr.what.tilde, x)


@written.register
def _(expr: Identity, w: Writer, turned: bool, x: Term) -> Term:
    return x


@written.register
def _(expr: Transpose, w: Writer, turned: bool, x: Term) -> Term:
    return written(expr.arg, w, not turned, x)


@written.register
def _(expr: Product, w: Writer, turned: bool, x: Term) -> Term:
    for factor in expr.factors if turned else reversed(expr.factors):
        x = written(factor, w, turned, x)
    return x


@written.register
def _(expr: Power, w: Writer, turned: bool, x: Term) -> Term:
    for _ in range(expr.n):
        x = written(expr.arg, w, turned, x)
    return x


@written.register
def _(expr: Scaled, w: Writer, turned: bool, x: Term) -> Term:
    y = written(expr.arg, w, turned, x).held()
    if expr.factor == -1:
        return Term(said("-") + y)
    return Term(said(f"{expr.factor:g} ", rf"{expr.factor:g}\, ") + y)


@written.register
def _(expr: Sum, w: Writer, turned: bool, x: Term) -> Term:
    given = w.named(x)
    total: Words | None = None
    for term in expr.terms:
        negative = isinstance(term, Scaled) and term.factor == -1
        y = written(term.arg if negative and isinstance(term, Scaled) else term, w, turned, given)
        part = y.held() if negative else y.words
        if total is None:
            total = said("-") + part if negative else part
        else:
            total = total + said(" - " if negative else " + ") + part
    assert total is not None
    return Term(total, sum=len(expr.terms) > 1)


@written.register
def _(expr: Inverse, w: Writer, turned: bool, x: Term) -> Term:
    if expr.arg.pattern() == DIAGONAL:
        inner, mark = before_dot(expr.arg), "*" if turned and "symmetric" not in expr.arg.tags else ""
        return w.diagonal(Words(f"{inner}^-1{mark}(k)", f"{{{expr.arg.latex()}}}^{{-1{mark}}}(k)"), x)
    known = expr.known()
    if known is None:
        v = w.named(x).name
        return Term(Words(f"[{before_dot(expr)} {v}](k)", rf"\left[{expr.latex()}\, {_letter(v)}\right](k)"))
    return written(known[0], w, turned, x)
