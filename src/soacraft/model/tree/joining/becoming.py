"""A model made equal to another one, bit by bit. Frames that both have, by name, stay the objects they are."""

from __future__ import annotations

from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.frames.frame import Body, Carrier, Frame, Node
from soacraft.model.tree.joining.copying import PLACED, copy_numbers, copy_parts, copy_state

_TIES = ("loops", "couplings", "tendons", "springs", "bushings", "actuators", "materials", "keyframes")


def become(mb: AttachedModel, other: AttachedModel) -> None:
    """Make a model equal another one: add the parts it lacks, and remove the others. O(n).

    Bodies and nodes of the same name are the same objects after it, with new numbers; those that are gone are stale.
    The folder of mesh files stays that of the model.

    >>> from soacraft.model import serial_chain
    >>> mb, body = (chain := serial_chain(3)), chain["link2"]
    >>> become(mb, serial_chain(2))
    >>> mb, mb["link2"] is body
    (Multibody 'chain': 2 bodies, 2 dofs, True)
    """
    tree, parts = mb._tree, mb._attachments
    with mb._edits.lock:
        mb._edits.structure()
        mb._edits.parameter()
        mb._state.parts.clear()
        mb._state.forces.clear()
        vars(mb).update(_name=other.name, _gravity=other.gravity)
        old = dict(tree.bodies)
        for known in (tree.bodies, tree.hinges, tree.nodes):
            known.clear()
        frames: dict[Frame, Frame] = {other.root: tree.root}
        tree.root._children = {}
        _refit(tree.root, other.root, frames)
        for body in other.bodies:
            on = frames[body.parent]
            assert isinstance(on, Carrier)
            twin = _hung(old.pop(body.name, None), body, on)
            tree.add(twin)
            body.hinge.watch(mb._edits)
            frames[body] = twin
            _refit(twin, body, frames)
        for gone in old.values():
            gone._removed = True
            for node in gone._nodes.values():
                node._removed = True
        tree.reorder(other._tree.bodies)
        for one in (other.root, *other.bodies):
            twin_of = frames[one]
            assert isinstance(twin_of, Carrier)
            twin_of._children = {name: twin_of._children[name] for name in one._children}
        for name in _TIES:
            getattr(parts, name).clear()
        parts.active = 0
        copy_state(other, mb, frames)
        copy_parts(other, mb, frames)
        parts.records[:] = other.records
        parts.import_report = other.import_report


def _hung(twin: Body | None, body: Body, on: Carrier) -> Body:
    """A body of its name with the hinge, the inertia and all numbers of another, on a frame."""
    if twin is None:
        twin = Body(on, body.name, body.hinge, body.hinge_name, body.inertia, body.inboard, body.outboard)
    else:
        for name in [x for x in vars(twin) if x not in PLACED]:
            del vars(twin)[name]
        vars(twin).update(
            _parent=on, _hinge=body.hinge, _hinge_name=body.hinge_name, _inertia=body.inertia, _inboard=body.inboard,
            _outboard=body.outboard, _children={},
        )  # fmt: skip
    copy_numbers(body, twin)
    return twin


def _refit(carrier: Carrier, other: Carrier, frames: dict[Frame, Frame]) -> None:
    """The nodes and shapes of another frame."""
    old, tree = dict(carrier._nodes), carrier._graph._tree
    carrier._nodes = {}
    for node in other.nodes:
        twin = old.pop(node.name, None)
        if twin is None:
            twin = Node(carrier, node.name, node.pose, node.modal_node, node.role)
        else:
            vars(twin).update(_pose=node.pose, _modal=node.modal_node, _role=node.role)
        tree.add_node(twin)
        frames[node] = twin
    for gone in old.values():
        gone._removed = True
    carrier._geometries = dict(other._geometries)
