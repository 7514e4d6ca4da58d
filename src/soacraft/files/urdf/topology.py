"""Tree of the links: parents, order of building, and every fault it can have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice

from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import ModelError
from soacraft.files.urdf.parts import Joint, Link
from soacraft.files.urdf.reading import Reading
from soacraft.files.xml_tree import Element, fail, shorten

WORLD = "world"
_KNOWN = 2000
_LONGEST = 80


@dataclass(frozen=True)
class Topology:
    """Links in the order of building, parents first; the joint above each; the root link (None: all on the world)."""

    links: tuple[Link, ...]
    above: dict[str, Joint]
    root: Link | None


def topology(r: Reading, robot: Element) -> Topology:
    """The tree of the links; siblings in the order of their joints in the file. O(n log n)."""
    if not r.links:
        raise fail(robot, "has no <link>; a model needs at least one.")
    above: dict[str, Joint] = {}
    for joint in r.joints.values():
        _check_ends(r, joint, above)
        assert joint.child is not None
        above[joint.child] = joint
    hung = any(joint.parent not in r.links for joint in above.values())
    roots = [link for name, link in r.links.items() if name not in above]
    if not roots and not hung:
        raise _cycle(r, above, next(iter(r.links)))
    if len(roots) + hung > 1:
        names = [link.name for link in roots] + [WORLD] * hung
        raise fail(roots[-1].element, f"the file has {len(names)} root links, {quoted(names)}; join them by joints.")
    order = _order(r, above, roots)
    return Topology(order, above, roots[0] if roots else None)


def _check_ends(r: Reading, joint: Joint, above: dict[str, Joint]) -> None:
    for what, name in (("parent", joint.parent), ("child", joint.child)):
        if name is None:
            raise fail(joint.element, f'needs a <{what} link="..."/>.')
        if name not in r.links and (what, name) != ("parent", WORLD):
            raise fail(joint.element, f"its {what} link {name!r:.80} is not in the file{close(name, r.links)}")
    assert joint.child is not None
    if joint.parent == joint.child:
        raise fail(joint.element, f"link {joint.child!r:.80} is its own parent.")
    other = above.get(joint.child)
    if other is not None:
        raise fail(
            joint.element,
            f"link {joint.child!r:.80} has two parents: {other.parent!r:.80} by joint {other.name!r:.80} (line "
            f"{other.element.line}) and {joint.parent!r:.80}; a closed loop cannot be a tree of joints.",
        )


def _order(r: Reading, above: dict[str, Joint], roots: list[Link]) -> tuple[Link, ...]:
    """The root, then links in the order of their joints, with parents moved before their children."""
    names = [link.name for link in roots] + list(above)
    number = {name: k for k, name in enumerate(names)}
    parents = [number.get(above[name].parent or "", -1) if name in above else -1 for name in names]
    try:
        return tuple([r.links[names[k]] for k in Tree(parents, names).base_to_tips()])
    except ModelError:  # a cycle: nothing else is left that a tree refuses
        raise _cycle(r, above, _not_reached(parents, names)) from None


def _not_reached(parents: list[int], names: list[str]) -> str:
    """The first name from which no walk over the parents ends at a base node. O(n)."""
    below: dict[int, list[int]] = {}
    for k, p in enumerate(parents):
        below.setdefault(p, []).append(k)
    waiting, reached = list(below.get(-1, [])), set(below.get(-1, []))
    while waiting:
        kids = below.get(waiting.pop(), [])
        waiting += kids
        reached.update(kids)
    return next(name for k, name in enumerate(names) if k not in reached)


def _cycle(r: Reading, above: dict[str, Joint], name: str) -> Exception:
    """The error for links that hang on each other in a circle that `name` leads to."""
    seen: dict[str, None] = {}
    while name not in seen:
        seen[name] = None
        name = above[name].parent or ""
    ring = [*list(seen)[list(seen).index(name) :], name]
    shown = ring if len(ring) <= 8 else [*ring[:6], "...", name]
    return fail(above[name].element, f"the parents of the links form a circle: {' on '.join(map(shorten, shown))}.")


def close(name: str, names: Iterable[str]) -> str:
    """The end of a message that says which names there are."""
    listed = list(islice(names, _KNOWN))
    near = get_close_matches(name[:_LONGEST], [each for each in listed if len(each) <= _LONGEST], n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else f"; there are {quoted(listed)}."


def quoted(names: list[str]) -> str:
    """Names for a message, the first of them when there are many."""
    return ", ".join([repr(shorten(name)) for name in names[:6]] + ["..."] * (len(names) > 6)) or "none"
