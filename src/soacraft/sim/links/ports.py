"""Components whose ports are a bundle, and whose equations are one call at each tick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from inspect import Parameter, Signature
from typing import Any, ClassVar

from soacraft.attributes import Uncopied
from soacraft.errors import WiringError
from soacraft.fingerprint import describe_by
from soacraft.sim.components.bundles import Bundle, read_bundle
from soacraft.sim.components.component import Component, Interface
from soacraft.sim.components.declarations import Discrete, In, OfState, Output, update
from soacraft.sim.links.layout import Layout

#: The name of the discrete state of components that have one.
STATE = "state"


class Equated:
    """A function with names of arguments that are known when it is made: one item of what a component calls."""

    def __init__(self, owner: Linked, name: str, item: int, arguments: tuple[str, ...]) -> None:
        self.__name__, self.__doc__ = name, None
        self.__signature__ = Signature([Parameter(x, Parameter.POSITIONAL_OR_KEYWORD) for x in arguments])
        self._owner, self._item = owner, item

    def __call__(self, *given: Any) -> Any:
        return self._owner.item(self._item, given)


class Linked(Uncopied, Component):
    """A sampled component whose inputs and outputs are bundles: all outputs, and its state if it has one, come from one
    call of `exchange(t, dt, inputs, state)` at each tick. Calls with the same arguments are answered from the last one.

    Outside of a run, as where a system is checked, nothing is exchanged, and outputs are zero.
    """

    _instead: ClassVar = "it is a link to another program; make another where it is needed"
    content: Any = ""
    """Digests of the files of what it is connected to, by which fingerprints know it."""
    unkept = ""
    """Reason why a checkpoint cannot hold the state of the other side; empty if it can."""

    def __init__(
        self, title: str, inputs: Bundle, outputs: Bundle, more: Bundle | None = None, state: int | None = None
    ) -> None:
        super().__init__()
        self.title = title
        self.sent, self.received = Layout(f"{title}_in", inputs), Layout(f"{title}_out", outputs)
        self._more = tuple(x.signal(None).dtype(0) for x in read_bundle(more or {}, title).values())
        sources = read_bundle(inputs, f"inputs of {title!r}")
        results = {**read_bundle(outputs, f"outputs of {title!r}"), **read_bundle(more or {}, title)}
        both = [x for x in [*results, STATE][: None if state is not None else -1] if x in sources]
        if both or (state is not None and STATE in results):
            raise WiringError(f"{title!r} has two ports {(both or [STATE])[0]!r}; give one another name.")
        arguments = ("t", "dt", *sources, *((STATE,) if state is not None else ()))
        ins = {
            name: named_port(In(x.unit, shape=x.shape, dtype=x.dtype, frame=x.frame), name, title)
            for name, x in sources.items()
        }
        outs = {
            name: named_port(Output(Equated(self, name, i, arguments), x, None), name, title)
            for i, (name, x) in enumerate(results.items())
        }
        discrete: dict[str, Discrete] = {}
        updates: dict[str, OfState] = {}
        if state is not None:
            stored = named_port(Discrete(shape=(state,), dtype=int, start=lambda _: self.first()), STATE, title)
            discrete[STATE] = stored
            updates[STATE] = named_port(update(stored)(Equated(self, "next", len(results), arguments)), "next", title)
        face = Interface(ins, {}, discrete, outs, {}, updates, {}, [])
        self.interface = face  # type: ignore[misc]
        self._has_state, self._open = state is not None, False
        self._last: tuple[Any, tuple[Any, ...]] | None = None

    def first(self) -> Any:
        """The state at the start."""
        return 0

    def exchange(self, t: float, dt: float, body: bytes, state: Any) -> tuple[tuple[Any, ...], Any]:
        """Outputs, and the next state, from packed inputs and the state."""
        raise AssertionError("every kind overrides it")

    def item(self, i: int, given: tuple[Any, ...]) -> Any:
        """One of what `called` gives."""
        return self.called(*given)[i]

    def called(self, t: float, dt: float, *given: Any) -> tuple[Any, ...]:
        """All outputs and, where there is one, the next state."""
        state = given[-1] if self._has_state else None
        if not self._open:
            return (*self.received.zeros(), *self._more, *((state,) if self._has_state else ()))
        body = self.sent.body(given[:-1] if self._has_state else given)
        key = t, dt, body, None if state is None else state.tobytes()
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        values, after = self.exchange(t, dt, body, state)
        self._last = key, (*values, *((after,) if self._has_state else ()))
        return self._last[1]

    def begin(self) -> None:
        """A run begins: exchange from now on."""
        self._open = True

    def end(self) -> None:
        """A run ended."""
        self._open = False

    def close(self) -> None:
        """Let go what it is connected to."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.title!r})"


def named_port(x: Any, name: str, owner: str) -> Any:
    """A declaration with the name that a class would give it."""
    x.name, x.owner = name, owner
    return x


@contextmanager
def running(components: Mapping[str, Component]) -> Iterator[None]:
    """All links of a system are open within."""
    with ExitStack() as stack:
        for x in components.values():
            if isinstance(x, Linked):
                x.begin()
                stack.callback(x.end)
        yield


def _description(linked: Linked) -> Any:
    return type(linked).__name__, linked.title, linked.content


describe_by(Linked, _description)
