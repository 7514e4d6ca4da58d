"""Meaning of names: the one place where bodies, hinges and dofs are found, from themselves or their names.

A name is looked for as the kind of thing that is wanted, and only then as another kind:

    wanted                                      a name is that of
    a body (`index`, blocks, `diff`, `remove`)  a body, else of a hinge: its body (for `diff` else of a dof)
    a hinge (`recut`)                           a hinge, else of a body: its hinge
    dofs (`couple`, `fixed=`, `prescribed=`)    a dof, else of a hinge: all its dofs, else of a body: those of its hinge
    coordinates (`q_slice`, `q_of`, states)     as for dofs; the name of a body that is the hinge of another is refused
    a frame (`pose`, `jacobian`, `set_force`)   a body, a node `body/node` or the inertial frame

The dofs of a hinge with several are `name.0`, `name.1`, ... A hinge is given by its name or by its body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Protocol

from soacraft.errors import ModelError, near
from soacraft.model.flat.layout import dofs_of
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges.base import Hinge, has_coordinates
from soacraft.model.tree.arguments import ROOT_NAME
from soacraft.model.tree.frames.frame import Body, Frame


class Names(Protocol):
    """The frames of a model by name: a `BodyTree`."""

    bodies: dict[str, Body]
    hinges: dict[str, Body]

    def find(self, name: str) -> Frame | None:
        """The frame of a name, if there is one."""


#: A body and which dofs of its hinge: all of them, or one.
Dofs = tuple[Body, slice]
#: An error made of its text.
Error = Callable[[str], Exception]


def find_body(graph: Structure, given: Any, error: Error = ModelError) -> Body:
    """A body of the graph, from itself, its name or the name of its hinge. O(1).

    >>> import soacraft as sc
    >>> find_body(sc.load("panda"), "joint4")
    body 'link4' on 'link3' by Pin(axis=(0, 0, 1))
    """
    if not isinstance(given, str):
        return _own(graph, _object(graph, given, error), error)
    tree = _tree(graph)
    body = tree.bodies.get(given) or tree.hinges.get(given)
    if body is None:
        frame = tree.find(given)
        if frame is not None:
            raise error(f"{frame.full_name!r} is not a body of {graph.name!r}.")
        raise error(f"{graph.name!r} has no body or hinge {given!r}{_close(graph, given, _body_names)}")
    return _own(graph, body, error)


def find_hinge(graph: Structure, given: Any, error: Error = ModelError) -> Body:
    """The body of a hinge, from the name of the hinge, or from the body or its name. O(1)."""
    if not isinstance(given, str):
        return _own(graph, _object(graph, given, error), error)
    tree = _tree(graph)
    body = tree.hinges.get(given) or tree.bodies.get(given)
    if body is None:
        raise error(f"{graph.name!r} has no hinge or body {given!r}{_close(graph, given, _body_names)}")
    return _own(graph, body, error)


def find_dofs(graph: Structure, given: Any, error: Error = ModelError) -> Dofs:
    """Dofs of one hinge, from the name of a dof or a hinge, or from a body or its name. O(1).

    >>> import soacraft as sc
    >>> find_dofs(sc.load("simple_humanoid"), "root.2")
    (body 'WAIST_LINK0' on 'inertial' by Free(), slice(2, 3, None))
    """
    if not isinstance(given, str):
        body = _object(graph, given, error)
        return _own(graph, body, error), slice(0, body.hinge.nv)
    tree = _tree(graph)
    if (one := _one_dof(tree, given)) is not None:
        return _own(graph, one[0], error), slice(one[1], one[1] + 1)
    hinge = tree.hinges.get(given) or tree.bodies.get(given)
    if hinge is None:
        raise error(f"{graph.name!r} has no dof, hinge or body {given!r}{_close(graph, given, _dof_names)}")
    return _own(graph, hinge, error), slice(0, hinge.hinge.nv)


def find_step(graph: Structure, given: Any) -> tuple[Body, int | None]:
    """A body or hinge, and the number in its hinge where the name is that of one of several dofs. O(1)."""
    tree = _tree(graph)
    if isinstance(given, str) and given not in tree.bodies and given not in tree.hinges:
        one = _one_dof(tree, given)
        if one is not None:
            return _own(graph, one[0], ModelError), one[1]
    return find_body(graph, given), None


def one_dof(graph: Structure, given: Any, what: str, coordinate: bool = False) -> str:
    """The name of a single dof that `what` needs, of one that is a coordinate where asked for. O(1)."""
    body, part = find_dofs(graph, given, lambda text: ModelError(f"{what}: {text}"))
    dofs = dofs_of(body)[part]
    if coordinate and part.start < body.hinge.nv and not has_coordinates(body.hinge):
        raise ModelError(
            f"{what}: {graph.name!r} has no coordinate {given!r:.60}: the velocities of {body.hinge!r} are not rates "
            "of its coordinates."
        )
    if len(dofs) != 1:
        shown = ", ".join(map(repr, dofs)) or "none"
        raise ModelError(f"{what}: {given!r:.60} of {graph.name!r} is not one dof; its hinge has {shown}.")
    return dofs[0]


def find_coordinates(graph: Structure, given: Any, error: Error = ModelError) -> Dofs:
    """`find_dofs` for where hinge and body are meant alike; a name that means different ones is refused. O(1)."""
    body, part = find_dofs(graph, given, error)
    other = _tree(graph).bodies.get(given) if isinstance(given, str) else None
    if other is not None and other is not body:
        raise error(
            f"{given!r} is a body of {graph.name!r} and the hinge of another, {body.name!r}; give the body that is "
            f"meant: mb.body({given!r}) or mb.body({body.name!r})."
        )
    return body, part


def find_keyed(graph: Structure, given: Any) -> Frame:
    """Frame meant by `mb[given]`: a frame of that name, else the body of a hinge of that name."""
    tree = _tree(graph)
    if isinstance(given, str) and given in tree.hinges and tree.find(given) is None:
        return find_body(graph, given)
    return graph.frame(given)


def q_place(graph: Structure, given: Any, error: Error = ModelError) -> slice:
    """Slice of the coordinates of a hinge, or of a dof that is one coordinate, in q."""
    body, part = find_coordinates(graph, given, error)
    k, nv = graph.layout.index[body], body.hinge.nv
    at = graph.layout.hinge_q[k]
    if part.start >= nv and nv < part.stop:  # a coordinate of the body itself
        return slice(at.stop + part.start - nv, at.stop + part.stop - nv)
    if part.stop - part.start == nv:
        return at
    if not has_coordinates(body.hinge):
        raise error(
            f"{given!r} is a velocity of {graph.name!r} and no coordinate: hinge {body.hinge_name!r} has "
            f"{body.hinge.nq} coordinates for {nv} dofs; give {body.hinge_name!r}."
        )
    return slice(at.start + part.start, at.start + part.stop)


def v_place(graph: Structure, given: Any, error: Error = ModelError) -> slice:
    """Slice of the velocities of a hinge, or of one dof, in v."""
    body, part = find_coordinates(graph, given, error)
    start = graph.layout.v_slices[graph.layout.index[body]].start
    return slice(start + part.start, start + part.stop)


def hinge_note(graph: Structure, name: str) -> str:
    """Note for an error where a frame is wanted and the name is that of a hinge."""
    body = _tree(graph).hinges.get(name)
    return "" if body is None else f"; {name!r} is the hinge of body {body.name!r}, whose frame is {body.name!r}."


def frame_names(graph: Structure) -> Iterator[str]:
    """The names of all frames: the inertial one, bodies, nodes."""
    yield ROOT_NAME
    yield from (body.name for body in graph.bodies)
    for carrier in (graph.root, *graph.bodies):
        yield from (node.full_name for node in carrier.nodes)


def key_names(graph: Structure) -> list[str]:
    """Keys of `mb[...]`: the names of frames, and of hinges whose names differ from their bodies'."""
    return list(dict.fromkeys(chain(frame_names(graph), (body.hinge_name for body in graph.bodies))))


# -- inside --------------------------------------------------------------------------------------------------


def _tree(graph: Structure) -> Names:
    """The names of the whole model."""
    tree: Names = graph.root._graph._tree
    return tree


def _object(graph: Structure, given: Any, error: Error) -> Body:
    """A body given as an object; everything else is refused."""
    if isinstance(given, Frame):
        found = graph.frame(given)
        if isinstance(found, Body):
            return found
        raise error(f"{found.full_name!r} is not a body of {graph.name!r}.")
    if isinstance(given, Hinge):
        raise error(f"a hinge of {graph.name!r} is given by its name or by its body, got {given!r:.60}.")
    raise error(f"give a body, hinge or dof of {graph.name!r}, or its name, got {given!r:.60}.")


def _own(graph: Structure, body: Body, error: Error) -> Body:
    if graph is not body.graph and body not in graph.layout.index:
        raise error(f"{body.full_name!r} is not on a body of {graph.name!r}; ask the model itself.")
    return body


def _one_dof(tree: Names, name: str) -> tuple[Body, int] | None:
    """The body of a single dof and the number of the dof in its hinge, from a name of `dof_names`."""
    body = tree.hinges.get(name)
    if body is not None and body.hinge.nv == 1:
        return body, 0
    hinge, _, number = name.rpartition(".")
    body = tree.hinges.get(hinge)
    if body is not None and body.hinge.nv > 1 and number in map(str, range(body.hinge.nv)):
        return body, int(number)
    body = tree.bodies.get(hinge)
    if body is None or number not in body._own:
        return None
    return body, body.hinge.nv + body._own.index(number)


def _body_names(graph: Structure) -> Iterator[str]:
    for body in graph.bodies:
        yield body.name
        yield body.hinge_name


def _dof_names(graph: Structure) -> Iterator[str]:
    for body in graph.bodies:
        yield from dict.fromkeys((*dofs_of(body), body.hinge_name, body.name))


def _close(graph: Structure, name: str, names: Callable[[Structure], Iterator[str]]) -> str:
    return near(name, dict.fromkeys(names(graph)), "it has")
