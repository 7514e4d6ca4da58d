"""Building blocks of HTML for notebooks: no script from elsewhere, every word escaped, long tables cut with a line.

Cards (`soacraft.cards`) of models, reports and results are made of these.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from soacraft import mathml

#: Rows of a table, and lines of a text, that a notebook shows; a line says how many more there are.
ROWS, LINES = 60, 400
#: Characters of one cell.
WIDTH = 300
#: Characters of LaTeX of one formula: what is longer fills pages, and holds up the browser.
FORMULA = 6000

#: Script of a filter box: rows of the table below it are hidden unless they hold the typed words.
_FILTER = (
    "const w=this.value.toLowerCase();"
    "for(const r of this.parentNode.querySelectorAll('tbody tr'))"
    "r.style.display=r.textContent.toLowerCase().includes(w)?'':'none'"
)


class Html(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


class Text(str):
    """Text that shows itself at the prompt, and in a notebook with its spaces and lines kept.

    >>> Text("base\\n└─ arm")
    base
    └─ arm
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return preformatted(self)


def words(x: Any) -> Html:
    """Words, escaped and not too long; what is HTML already stays.

    >>> words("<b>"), words(Html("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    if isinstance(x, Html):
        return x
    text = str(x)
    return Html(escape(text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."))


def paragraph(x: Any) -> Html:
    """Paragraph with these words."""
    return Html(f"<p>{words(x)}</p>")


def code(x: Any) -> Html:
    """Text as Python, such as an expression."""
    return Html(f"<code>{words(x)}</code>")


def math(latex: str) -> Html:
    r"""A formula as MathML, which browsers show by themselves; of a long one how long it is.

    >>> math(r"\phi^{*}")
    '<math alttext="\\phi^{*}"><msup><mi>ϕ</mi><mo>*</mo></msup></math>'
    """
    if len(latex) > FORMULA:
        return words(f"a formula of {len(latex):,} characters; print its latex() to see it")
    _, _, inside = mathml.math(latex)
    return _element(["math", {"alttext": latex}, inside])


def image(data: bytes, alt: str, width: int) -> Html:
    """A PNG picture inside the page, so many pixels wide; nothing is asked for from elsewhere.

    >>> image(b"\\x89PNG", "arm", 20)
    '<img alt="arm" width="20" src="data:image/png;base64,iVBORw==">'
    """
    return Html(f'<img alt="{escape(alt)}" width="{width}" src="data:image/png;base64,{b64encode(data).decode()}">')


def _element(element: mathml.Element | str) -> Html:
    if isinstance(element, str):
        return Html(escape(element))
    tag, attributes, children = element
    said = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return Html(f"<{tag}{said}>{''.join(map(_element, children))}</{tag}>")


def numbers(x: Iterable[float]) -> str:
    """A few numbers in one cell, to six digits.

    >>> numbers([1.0, -0.0, 2 / 3])
    '1  0  0.666667'
    """
    return "  ".join(f"{each + 0.0:.6g}" for each in x)


def preformatted(text: str, lines: int = LINES) -> Html:
    """Text with its spaces and lines kept."""
    all_lines = text.splitlines()
    more = f"\n... {len(all_lines) - lines:,} more lines; print it to see all" if len(all_lines) > lines else ""
    shown = "\n".join(line if len(line) <= WIDTH else line[: WIDTH - 3] + "..." for line in all_lines[:lines])
    return Html(f'<pre style="line-height:1.2">{escape(shown + more)}</pre>')


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], total: int = 0, more: str = "") -> Html:
    """A table with a heading for each column. Of long ones the first rows are shown, and a line says how many are left
    out; `total` is how many there are where not all are given, `more` says where the others can be seen.
    """
    total = max(total, len(rows))
    rest = f"... {total - ROWS:,} more of {total:,}{f'; {more}' if more else ''}"
    return Html(_table(head, rows[:ROWS]) + (paragraph(rest) if total > ROWS else ""))


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    top = "".join(f"<th>{words(title)}</th>" for title in head)
    body = "".join("<tr>" + "".join(f"<td>{words(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def searchable(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Html:
    """A table with a box: rows that do not hold the words typed into it are hidden. All rows are there."""
    box = f'<input type="search" placeholder="filter" oninput="{escape(_FILTER)}">'
    return Html(f"<div>{box}{_table(head, rows)}</div>")


def folded(summary: Any, inside: Html, is_open: bool = False) -> Html:
    """Section that a click opens and folds."""
    return Html(f"<details{' open' if is_open else ''}><summary>{words(summary)}</summary>{inside}</details>")
