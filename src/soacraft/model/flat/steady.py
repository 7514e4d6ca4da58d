"""Numbers of one version of a model: an edit by another thread while they are computed is a `StaleError`.

What was read before the edit and what was read after it belong to two models; whether they fit together, or fail in
some index, is chance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from soacraft.errors import StaleError


class Versioned(Protocol):
    """A graph, of which only the versions matter here."""

    @property
    def name(self) -> str:
        """The name used in messages."""

    @property
    def version(self) -> int:
        """The version of the structure."""

    @property
    def parameters(self) -> int:
        """The version of the parameters."""


G = TypeVar("G", bound=Versioned)
P = ParamSpec("P")
R = TypeVar("R")


def steady(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """A method of a graph whose answer, or error, holds only if the graph stayed as it was."""

    @wraps(method)
    def call(graph: G, /, *args: P.args, **kwargs: P.kwargs) -> R:
        version, parameters = graph.version, graph.parameters
        try:
            found = method(graph, *args, **kwargs)
        except StaleError:
            raise
        except Exception as error:
            if version != graph.version or parameters != graph.parameters:
                raise disturbed(graph.name, method.__name__) from error
            raise
        if version != graph.version or parameters != graph.parameters:
            raise disturbed(graph.name, method.__name__)
        return found

    return call


def disturbed(name: str, what: str) -> StaleError:
    """The error for a computation under which the model changed."""
    return StaleError(f"{name!r} was edited while {what} read it: the numbers would be of neither model; call again.")
