"""Cards: displays of an expression, a model, a state, a result, a report or a run in notebooks.

In go a head and parts made of `soacraft.markup`; out comes HTML with one style, which reads well on light and dark
pages, asks for nothing from elsewhere and runs no script. `_repr_html_` of each class is a call of `card`.
"""

from soacraft.cards.card import card, facts, part, says_why
from soacraft.cards.drawings import block_picture, sparkline
from soacraft.cards.registry import card_of

__all__ = ["block_picture", "card", "card_of", "facts", "part", "says_why", "sparkline"]


def __dir__() -> list[str]:
    return __all__
