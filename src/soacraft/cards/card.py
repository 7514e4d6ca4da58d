"""`card`, the one maker of a card, with its style sheet; `part`, a piece that folds; `facts`, a list by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from soacraft import markup
from soacraft.errors import SoacraftError
from soacraft.markup import Html

#: Letters take the colour of the page, lines and shades are see-through greys: the same rules suit light and dark.
STYLE = (
    ".soacraft-card{border:1px solid rgba(127,127,127,.4);border-radius:6px;padding:.5em .8em;margin:.3em 0;"
    "max-width:70em;overflow-x:auto;color:inherit;background:transparent}"
    ".soacraft-card>header{font-weight:600;margin-bottom:.2em}"
    ".soacraft-card p{margin:.25em 0}"
    ".soacraft-card details{margin:.25em 0}"
    ".soacraft-card summary{cursor:pointer;color:inherit}"
    ".soacraft-card table{border-collapse:collapse;margin:.25em 0;font-size:.92em}"
    ".soacraft-card th,.soacraft-card td{text-align:left;vertical-align:top;padding:.1em .7em .1em 0;"
    "border-bottom:1px solid rgba(127,127,127,.2);background:transparent;color:inherit}"
    ".soacraft-card pre{margin:.25em 0;background:transparent;color:inherit}"
    ".soacraft-card>img{float:right;max-width:40%;margin:0 0 .5em 1em}"
    ".soacraft-card svg{vertical-align:middle;max-width:100%}"
)


def card(head: Any, *parts: Html) -> str:
    """A card: its head, and its parts below each other. Words are escaped, `Html` stays as it is.

    >>> card("arm <7>", markup.paragraph("7 dofs")).endswith("<header>arm &lt;7&gt;</header><p>7 dofs</p></div>")
    True
    """
    top = f"<style>{STYLE}</style><header>{markup.words(head)}</header>"
    return f'<div class="soacraft-card">{top}{"".join(parts)}</div>'


def part(title: str, make: Callable[[], Html], is_open: bool = False) -> Html:
    """A part that folds. One that cannot be made, of a model that changed since for example, says why instead: to
    show a thing never fails.

    >>> part("bodies", lambda: markup.paragraph("none"))
    '<details><summary>bodies</summary><p>none</p></details>'
    """
    try:
        inside = make()
    except SoacraftError as why:
        inside = markup.paragraph(f"not shown: {why}")
    return markup.folded(title, inside, is_open)


Self = TypeVar("Self")


def says_why(shown: Callable[[Self], str]) -> Callable[[Self], str]:
    """Decorator for `_repr_html_` of an object that can outlive its model: where it is refused, the card says why."""

    @wraps(shown)
    def guarded(self: Self) -> str:
        try:
            return shown(self)
        except SoacraftError as why:
            return card(repr(self), markup.paragraph(f"not shown: {why}"))

    return guarded


def facts(rows: Iterable[tuple[str, Any]]) -> Html:
    """A list of what is known, by name; rows without a value are left out.

    >>> facts([("mass", "2 kg"), ("loops", "")]).count("<tr>")
    1
    """
    lines = "".join(f"<tr><th>{markup.words(name)}</th><td>{markup.words(x)}</td></tr>" for name, x in rows if str(x))
    return Html(f"<table><tbody>{lines}</tbody></table>")
