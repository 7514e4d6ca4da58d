"""Numbers of one version of a model: an edit by another thread while they are computed is a `StaleError`.

What was read before the edit and what was read after it belong to two models; whether they fit together, or fail in
some index, is chance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from soacraft.errors import StaleError

if TYPE_CHECKING:
    from soacraft.model.tree.graph import Graph

G = TypeVar("G", bound="Graph")
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
