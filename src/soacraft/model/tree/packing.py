"""Models for `pickle` and what is made of them: empty frames first, then what they hold.

A frame refers to its parent, its children and its model; followed one after the other such references nest as deep as
the tree. So a model is made with all its frames empty, and a frame anywhere else is its model and its name.
"""

from __future__ import annotations

from collections import Counter
from threading import RLock
from typing import TYPE_CHECKING, Any

from soacraft.model.tree.frame import Body, Carrier, Frame, Node, Root

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody

Reduced = tuple[Any, ...]
#: What belongs to the process, or is made again when it is asked for.
_LEFT_OUT = {"_current", "_store", "_stamp", "_layout", "_counters", "_lock", "_root", "_bodies", "_hinges"}


def reduced_model(mb: Multibody) -> Reduced:
    """What `__reduce__` of a model gives: the names of its frames, then what model and frames hold. O(n)."""
    carriers: list[Carrier] = [mb.root, *mb._bodies.values()]
    names = [(x.name, tuple(node.name for node in x.nodes)) for x in carriers]
    held = {name: x for name, x in vars(mb).items() if name not in _LEFT_OUT}
    held["_parts"] = mb._state_parts()
    held["_keyframes"] = {
        name: ({body: part for body, part in parts.items() if not body._removed}, attributes)
        for name, (parts, attributes) in mb._keyframes.items()
    }
    frames: list[Frame] = [*carriers, *(node for x in carriers for node in x.nodes)]
    return empty_model, (type(mb), names), (held, [_held(frame) for frame in frames])


def _held(frame: Frame) -> dict[str, Any]:
    """What a frame holds, but its model, its nodes, and what operators keep with the inertial frame."""
    return {name: x for name, x in vars(frame).items() if name not in ("_graph", "_name", "_nodes", "_book")}


def empty_model(kind: type[Multibody], names: list[tuple[str, tuple[str, ...]]]) -> Multibody:
    """A model whose frames have names and nothing else."""
    mb = kind.__new__(kind)
    carriers: list[Carrier] = [Root.__new__(Root), *(Body.__new__(Body) for _ in names[1:])]
    for carrier, (name, nodes) in zip(carriers, names, strict=True):
        vars(carrier).update(_graph=mb, _name=name, _nodes={node: Node.__new__(Node) for node in nodes})
        for own, node in carrier._nodes.items():
            vars(node).update(_graph=mb, _name=own)
    vars(mb).update(_root=carriers[0], _bodies={x.name: x for x in carriers[1:]})
    return mb


def fill(mb: Multibody, state: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    """Give an empty model, and its frames, what they hold."""
    held, of_frames = state
    carriers: list[Carrier] = [mb.root, *mb._bodies.values()]
    frames: list[Frame] = [*carriers, *(node for x in carriers for node in x.nodes)]
    for frame, own in zip(frames, of_frames, strict=True):
        vars(frame).update(own)
    hinges = {body.hinge_name: body for body in mb._bodies.values()}
    own = {"_layout": None, "_current": None, "_store": None, "_stamp": 0, "_counters": Counter(), "_lock": RLock()}
    vars(mb).update(held, _hinges=hinges, **own)
    for hinge in (*(body.hinge for body in mb._bodies.values()), *(loop.hinge for loop in mb._loops.values())):
        hinge.watch(mb)


def reduced_frame(frame: Frame) -> Reduced:
    """What `__reduce__` of a frame gives: its model and its name; a frame that was removed has no model."""
    frame.require_present()
    carrier = frame.carrier
    name = None if isinstance(carrier, Root) else carrier.name
    return find_frame, (frame.graph, name, frame.name if isinstance(frame, Node) else None)


def find_frame(mb: Multibody, carrier: str | None, node: str | None) -> Frame:
    """A frame of a model that is perhaps still empty."""
    found: Carrier = mb.root if carrier is None else mb._bodies[carrier]
    return found if node is None else found._nodes[node]
