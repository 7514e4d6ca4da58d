"""Result of `sc.prove`: a chain of named steps, short or complete, as text, LaTeX and HTML."""

from __future__ import annotations

from dataclasses import dataclass

from soacraft import markup
from soacraft.algebra.descriptions.printing import latex_words
from soacraft.algebra.expressions.nodes import Sum
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.rewriting.completion import Rule
from soacraft.cards import card, part
from soacraft.citations import cite, key
from soacraft.markup import Text

#: Steps that the short text of a proof shows, and characters of their expressions.
SHOWN, WIDTH = 10, 60
#: Characters of a line of text.
LINE = 80


@dataclass(frozen=True)
class Step:
    """One equality of a chain: the expression reached, by which relation, from which source, and how well numbers
    agree (the largest relative error).
    """

    expression: Operator
    name: str
    source: str
    error: float
    rule: Rule | None = None


@dataclass(frozen=True)
class Proof:
    """Result of `prove`: true with its steps, false with the reason. Prints in short; `full()` prints all steps, and a
    notebook shows the formula of each step.
    """

    left: Operator
    right: Operator
    steps: tuple[Step, ...]
    reason: str
    checked: str = ""

    @property
    def found(self) -> bool:
        """True if a chain was found."""
        return not self.reason

    def __bool__(self) -> bool:
        return self.found

    @property
    def lemmas(self) -> tuple[Rule, ...]:
        """The derived rules that the steps rest on, parents before children."""
        used = (rule for step in self.steps if step.rule is not None for rule in step.rule.ancestry())
        return tuple({id(rule): rule for rule in used if rule.derived}.values())

    @property
    def sources(self) -> tuple[str, ...]:
        """The equations that the proof starts from."""
        used = (rule for step in self.steps if step.rule is not None for rule in step.rule.ancestry())
        given = [rule.source for rule in used if not rule.derived]
        found = [*(step.source for step in self.steps if step.rule is None), *given]
        return tuple(dict.fromkeys(cite(source) for source in found if source))

    def __repr__(self) -> str:
        """The chain in short: long expressions and long chains are cut, derived rules are counted."""
        if not self.found:
            return f"{self._goal()}\n  not found: {self.reason}"
        steps, middle = self.steps, []
        if len(steps) > SHOWN:
            middle = [f"      ... {len(steps) - SHOWN + 1} more steps ..."]
        first = steps[: SHOWN // 2] if middle else steps
        last = steps[len(steps) - SHOWN + len(first) + 1 :] if middle else ()
        width = min(WIDTH, max((len(step.expression.text()) for step in steps), default=0))
        short = {id(step): _cut(step.expression.text()) for step in steps}
        shown = [line for step in first for line in _wrapped(short[id(step)], _because(step), width)]
        ending = [line for step in last for line in _wrapped(short[id(step)], _because(step), width)]
        lines = [f"      {_cut(self.left.text())}", *shown, *middle, *ending]
        count = len(self.lemmas)
        rules = f"{count} derived rule{'' if count == 1 else 's'}; " if count else ""
        cut = any("..." in line for line in lines)
        rest = [f"  {rules}proof.full() shows the whole"] if cut or count else []
        return "\n".join([*_filled(_cut(self._goal(), 2 * WIDTH), "", "  "), *lines, *self._below(), *rest])

    def _below(self) -> list[str]:
        papers = key(step.source for step in self.steps)
        return [f"  {self.checked}", *([f"  {papers}"] if papers else [])]

    def _goal(self) -> str:
        return f"{self.left.text()} = {self.right.text()}"

    def full(self) -> Text:
        """The whole proof: every step with its whole expression, and where each derived rule comes from.

        >>> import soacraft as sc
        >>> psi, phi, K, H = sc.operators(sc.load("arm7"), "psi phi K H")
        >>> print(sc.prove(psi.inv, phi.inv + K * H).full())  # doctest: +ELLIPSIS
        psi.inv = phi.inv + K*H
              psi.inv
            = I - E_psi              inverse of psi (Jain 2011 Eq. 34)
            = ...
        """
        if not self.found:
            return Text(repr(self))
        width = min(WIDTH, max((len(step.expression.text()) for step in self.steps), default=0))
        lines = _filled(self.left.text(), "      ", "        ")
        lines += [line for x in self.steps for line in _wrapped(x.expression.text(), _because(x), width)]
        if self.lemmas:
            derived = [_filled(_derivation(rule), "    ", "      ") for rule in self.lemmas]
            lines += ["  where", *(line for each in derived for line in each)]
        return Text("\n".join([*_filled(self._goal(), "", "  "), *lines, *self._below()]))

    def latex(self) -> str:
        """The chain as an `aligned` of LaTeX."""
        if not self.found:
            return rf"{self.left.latex()} \overset{{?}}{{=}} {self.right.latex()}"
        rows = [rf"&= {step.expression.latex()} && \text{{{latex_words(_because(step))}}}" for step in self.steps]
        return rf"\begin{{aligned}} {self.left.latex()} " + r" \\ ".join(rows) + r" \end{aligned}"

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def _repr_html_(self) -> str:
        goal = markup.math(f"{self.left.latex()} = {self.right.latex()}")
        if not self.found:
            return card(markup.math(self.latex()), markup.paragraph(f"not found: {self.reason}"))
        rows = [("", "", _formula(self.left, ""))]
        rows += [(str(i + 1), _because(x), _formula(x.expression, "= ")) for i, x in enumerate(self.steps)]
        below = [markup.paragraph(line) for line in self._below()]
        if self.lemmas:
            lemmas = [(repr(rule), _derivation(rule)) for rule in self.lemmas]
            below.append(part(f"{len(lemmas)} derived rules", lambda: markup.table(["rule", "derived"], lemmas)))
        count = f"proof in {len(self.steps)} step{'' if len(self.steps) == 1 else 's'}"
        return card(goal, part(count, lambda: markup.table(["", "because", ""], rows), True), *below)


def _cut(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def _wrapped(expression: str, reason: str, width: int) -> list[str]:
    """A step: its expression and its reason in one line, or the reason below where that would be too long."""
    line = f"    = {expression:<{width}}  {reason}"
    if len(line) <= LINE:
        return [line]
    return [*_filled(expression, "    = ", "      "), *_filled(reason, " " * 10, " " * 12)]


def _filled(text: str, first: str, others: str) -> list[str]:
    """A text in lines of at most `LINE` characters, broken at blanks and before the factors of long products."""
    lines, line = [], first
    for word in text.replace("*", "*\0").replace(" ", " \0").split("\0"):
        if len(line) + len(word.rstrip()) > LINE and line not in (first, others):
            lines.append(line.rstrip())
            line = others
        line += word
    return [*lines, line.rstrip()]


def _formula(x: Operator, head: str) -> markup.Html:
    """A formula for a card; of a long sum each term for itself, so that the page may break the line between them."""
    terms = [term.latex() for term in x.terms] if isinstance(x, Sum) and len(x.text()) > WIDTH else [x.latex()]
    pieces = [terms[0], *(term if term.startswith("-") else f"+ {term}" for term in terms[1:])]
    if "".join(pieces).replace(" ", "") != x.latex().replace(" ", ""):
        pieces = [x.latex()]
    return markup.Html(" ".join(markup.math(f"{head if not i else ''}{piece}") for i, piece in enumerate(pieces)))


def _because(step: Step) -> str:
    return f"{step.name} ({cite(step.source)})" if step.source else step.name


def _derivation(rule: Rule) -> str:
    """A derived rule and where it comes from."""
    if len(rule.left) == 1 and rule.left[0].endswith(".inv"):
        return f"{rule!r}: both products are I, by {', '.join(f'[{r.title}]' for r in rule.parents)}"
    first, *rest = rule.parents
    if rule.overlap:
        second, *rest = rest
        how = f"{'*'.join(rule.overlap)} by [{first.title}] and by [{second.title}]"
    else:
        how = f"[{first.title}]"
    return f"{rule!r}: from {how}" + (f", reduced by {', '.join(f'[{r.title}]' for r in rest)}" if rest else "")
