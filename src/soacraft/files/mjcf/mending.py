"""Repairs by which `lenient` goes on after MuJoCo refused a part."""

from __future__ import annotations

from collections.abc import Iterable

from soacraft.errors import ModelFileError
from soacraft.files.mjcf.engine import REFUSED
from soacraft.files.mjcf.faults import local
from soacraft.files.mjcf.moments import moment_of, nearest_moment, text_of
from soacraft.files.mjcf.walk import Given, Walk
from soacraft.files.xml_tree import Element

MOST = 20  # faults of MuJoCo to go on from: each takes another try
_WITHOUT = {"material": ("material",), "rgba": ("rgba",), "range": ("range", "limited")}


def mend(walk: Walk, trees: Iterable[Given], problem: ModelFileError) -> bool:
    """Change what MuJoCo is given so that it need not refuse for this reason, and report it; False where one cannot.

    An attribute that is only looked at, or a limit, is left out; an inertia becomes the nearest that a body can have;
    else the element itself is left out, if it is one that the bodies do not depend on.
    """
    element = problem.where
    if not isinstance(element, Element) or not problem.fault.startswith(REFUSED):
        return False
    chain = _chain(trees, element)
    return bool(chain) and (
        _leave_out_attribute(walk, chain[-1], problem)
        or _mend_inertia(walk, chain[-1], problem)
        or _without_mass(walk, chain[-1], problem)
        or _leave_out(walk, chain, problem)
    )


def _chain(trees: Iterable[Given], element: Element) -> list[Given]:
    """Elements in MuJoCo's documents that hold an element, the outermost first, and the element itself; empty if MuJoCo
    does not get it.
    """
    above: dict[int, Given] = {}
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        if node.source is element:
            chain = [node]
            while id(chain[0]) in above:
                chain.insert(0, above[id(chain[0])])
            return chain
        above |= {id(child): node for child in node.children}
        waiting += node.children
    return []


def _leave_out_attribute(walk: Walk, node: Given, problem: ModelFileError) -> bool:
    for word, attributes in _WITHOUT.items():
        if word in problem.fault and word in node.attributes:
            for name in attributes:
                if node.attributes.pop(name, None) is not None:
                    walk.tell(node.source, "ignored", name, problem.fault, key=node.key)
            return True
    return False


def _mend_inertia(walk: Walk, node: Given, problem: ModelFileError) -> bool:
    """The inertial element of a body with the nearest inertia that a body can have."""
    inertial = next((child for child in node.children if child.key == "body/inertial"), None)
    if "inertia" not in problem.fault or inertial is None:
        return False
    for name in ("diaginertia", "fullinertia"):
        J = moment_of(name, inertial.attributes.get(name, ""))
        if J is None:
            continue
        near = nearest_moment(J)
        text = text_of(name, near)
        if text == inertial.attributes[name] or not near.any():
            return False
        inertial.attributes[name] = text
        note = f"{problem.fault.rstrip('.')}: with lenient body {node.attributes.get('name', '')!r} has {text}"
        walk.tell(inertial.source, "repaired", name, note, dynamic=True, key=inertial.key)
        return True
    return False


def _without_mass(walk: Walk, node: Given, problem: ModelFileError) -> bool:
    """A body that moves and has no mass is massless here; MuJoCo is given a little, which is not taken over."""
    if "mass and inertia of moving bodies" not in problem.fault or id(node.source) in walk.massless:
        return False
    walk.massless.add(id(node.source))
    little = {"pos": "0 0 0", "mass": "1e-6", "diaginertia": "1e-6 1e-6 1e-6"}
    node.children = [child for child in node.children if child.key != "body/inertial"]
    node.children.append(Given("inertial", little, node.source, "body/inertial"))
    note = f"{problem.fault.rstrip('.')}: with lenient it is massless"
    walk.tell(node.source, "repaired", note=note, dynamic=True, key=node.key)
    return True


def _leave_out(walk: Walk, chain: list[Given], problem: ModelFileError) -> bool:
    """The nearest element around the fault that the bodies do not depend on."""
    for parent, node in zip(chain[-2::-1], chain[:0:-1], strict=True):
        moves = local(node.key)
        if moves is not None:
            parent.children = [child for child in parent.children if child is not node]
            walk.leave_out(node.source, node.key, problem.fault, moves)
            return True
    return False
