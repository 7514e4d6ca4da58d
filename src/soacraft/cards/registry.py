"""Cards by class: `_repr_html_` of a class asks here, and the module that makes its card registers it.

A card shows an object with more than its class knows of, so its maker is above the class. The package of both imports
the maker, and so it is registered wherever the class is.
"""

from __future__ import annotations

from functools import singledispatch


@singledispatch
def card_of(shown: object) -> str:
    """HTML of an object: `@card_of.register` before a function of one annotated argument adds a class."""
    raise AssertionError(f"no module has registered a card of {type(shown).__name__}")
