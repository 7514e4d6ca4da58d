"""Models for `pickle`: empty frames first, then their contents.

A frame refers to its parent, its children and its model; followed one after the other such references nest as deep as
the tree. So a model is made with all its frames empty, and a frame anywhere else is its model and its name.
"""

from __future__ import annotations

from typing import Any

from soacraft.model.states.current import CurrentState
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.attachments import Attachments
from soacraft.model.tree.body_tree import BodyTree
from soacraft.model.tree.edits import Edits
from soacraft.model.tree.frames.frame import Body, Carrier, Frame, Node, Root, find_frame
from soacraft.model.tree.frames.hinge_frame import find_hinge_frame

__all__ = ["empty_model", "fill", "find_frame", "find_hinge_frame", "reduced_model"]  # pickles name these

Reduced = tuple[Any, ...]
#: Parts of a model: packed one by one, without those that belong to the process or are made on demand.
_PARTS = {"_tree", "_attachments", "_state", "_edits"}


def reduced_model(mb: AttachedModel) -> Reduced:
    """Result of `__reduce__` of a model: the names of its frames, then the contents of model and frames. O(n)."""
    tree, state = mb._tree, mb._state
    names = [(x.name, tuple(node.name for node in x.nodes)) for x in (tree.root, *tree.bodies.values())]
    attached = {name: x for name, x in vars(mb._attachments).items() if name != "_mb"}
    attached["keyframes"] = {
        name: ({body: part for body, part in parts.items() if not body._removed}, attributes)
        for name, (parts, attributes) in mb._attachments.keyframes.items()
    }
    held = {
        "own": {name: x for name, x in vars(mb).items() if name not in _PARTS},
        "versions": (mb.version, mb.parameters),
        "attachments": attached,
        "state": {"parts": state.by_body(), "forces": state.forces},
        "frames": [_held(frame) for frame in _frames(tree)],
    }
    return empty_model, (type(mb), names), held


def _frames(tree: BodyTree) -> list[Frame]:
    carriers: list[Carrier] = [tree.root, *tree.bodies.values()]
    return [*carriers, *(node for x in carriers for node in x.nodes)]


def _held(frame: Frame) -> dict[str, Any]:
    """Contents of a frame without its model, its other frames, and the memos of operators on the inertial frame."""
    return {name: x for name, x in vars(frame).items() if name not in ("_graph", "_name", "_nodes", "_frames", "_book")}


def empty_model(kind: type[AttachedModel], names: list[tuple[str, tuple[str, ...]]]) -> AttachedModel:
    """A model whose frames have names and nothing else."""
    mb, root = kind.__new__(kind), Root.__new__(Root)
    bodies = [Body.__new__(Body) for _ in names[1:]]
    for carrier, (name, nodes) in zip((root, *bodies), names, strict=True):
        vars(carrier).update(_graph=mb, _name=name, _nodes={node: Node.__new__(Node) for node in nodes})
        for own, node in carrier._nodes.items():
            vars(node).update(_graph=mb, _name=own)
    mb._tree = BodyTree(root)
    mb._tree.bodies.update((body.name, body) for body in bodies)
    return mb


def fill(mb: AttachedModel, held: dict[str, Any]) -> None:
    """Give an empty model, and its frames, what they hold."""
    tree = mb._tree
    frames = _frames(tree)
    for frame, own in zip(frames, held["frames"], strict=True):
        vars(frame).update(own)
    tree.hinges.update((body.hinge_name, body) for body in tree.bodies.values())
    tree.nodes.update((frame.full_name, frame) for frame in frames if isinstance(frame, Node))
    vars(mb).update(held["own"], _attachments=Attachments(mb), _state=CurrentState(mb))
    vars(mb._attachments).update(held["attachments"])
    vars(mb._state).update(held["state"])
    mb._edits = Edits(mb._state, *held["versions"])
    ties = [x for x in mb._attachments.loops.values() if "hinge" in vars(x)]  # one packed before its model comes later
    for hinge in (*(body.hinge for body in tree.bodies.values()), *(loop.hinge for loop in ties)):
        hinge.watch(mb._edits)
