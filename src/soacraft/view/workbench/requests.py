"""Requests of the workbench page."""

from __future__ import annotations

from typing import Annotated

import msgspec

from soacraft.view.server import Request
from soacraft.view.workbench.upload import MOST

_Text = Annotated[str, msgspec.Meta(max_length=100_000)]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class Run(Request):
    """A line of the prompt."""

    text: _Text


class Value(Request):
    """The numbers of an answer at the present state."""

    entry: _Number


class Block(Request):
    """One block of an answer: a row and a column of its picture."""

    entry: _Number
    row: _Number
    column: _Number


class Upload(Request):
    """A model file."""

    name: Annotated[str, msgspec.Meta(max_length=1000)]
    text: Annotated[str, msgspec.Meta(max_length=MOST)]
