"""`read_srdf`: what an SRDF file says about a robot, as records of its model.

SRDF (of MoveIt) names groups of links and joints, states of groups, end effectors, and pairs of links whose collisions
are not looked for. Nothing of it changes the motion: it is kept in `mb.records`, and its names are checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soacraft.errors import ModelFileError
from soacraft.files.places import Places
from soacraft.files.urdf.expand import urdf_text
from soacraft.files.urdf.reading import REPORTED, Handler, Reading
from soacraft.files.urdf.topology import close
from soacraft.files.xml_tree import Element, fail, read_xml
from soacraft.model import ImportReport, Multibody, Record


@dataclass
class Names:
    """The names that an SRDF file may use: those of the model and of the file it is from, and its own."""

    links: set[str]
    joints: set[str]
    groups: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)


@dataclass
class Group:
    """A group, or a state of one, while its element is read."""

    element: Element
    name: str
    names: Names
    links: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    chains: list[tuple[str, str]] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    values: list[tuple[float, ...]] = field(default_factory=list)
    of: str = ""


def read_srdf(mb: Multibody, path: Path, lenient: bool = False) -> None:
    """Add the records of an SRDF file to a model, and a line for each element and attribute to its report. O(n).

    The kinds are `group` (links, joints, chains, groups), `group_state` (group, joints, values), `virtual_joint`,
    `passive_joint`, `end_effector`, `disable_collisions`, and the other elements of SRDF by their names. A name that
    the model has not is refused; with `lenient` it is a line of the report.
    """
    data, file = urdf_text(path)
    robot = read_xml(data, file)
    if robot.tag != "robot":
        raise fail(robot, "the root element of an SRDF file is <robot>.")
    r = Reading(file, Places(path.parent), HANDLERS, {}, lenient, "SRDF")
    names = _names(mb, robot)
    r.walk(robot, "srdf", names)
    _refuse_circles(r)
    for record in r.records:
        mb.add_record(record)
    before = () if mb.import_report is None else mb.import_report.entries
    mb.import_report = ImportReport([*before, *r.report.done().entries])


def _names(mb: Multibody, robot: Element) -> Names:
    """Also links and joints that were merged in reading, which the report has, and what the file itself defines."""
    read = () if mb.import_report is None else mb.import_report.entries
    links = {body.name for body in mb.bodies} | {e.name for e in read if e.element == "robot/link"}
    joints = {body.hinge_name for body in mb.bodies} | {e.name for e in read if e.element == "robot/joint"}
    virtual, groups = (
        {each.attributes.get("name", "") for each in robot.children if each.tag == tag}
        for tag in ("virtual_joint", "group")
    )
    return Names(links, joints | virtual, groups)


def _known(r: Reading, element: Element, attribute: str, kind: str, names: Iterable[str]) -> str:
    """A name that must be there."""
    name = r.word(element, attribute)
    if name not in names:
        raise fail(element, f"there is no {kind} {name!r:.80}{close(name, sorted(names))}")
    return name


def _refuse_circles(r: Reading) -> None:
    """Refuse groups that hold themselves, also by way of others. O(n)."""
    inside: dict[str, Any] = {x.name: x.attributes["groups"] for x in r.records if x.kind == "group"}
    unresolved = dict(inside)
    while unresolved:
        done = [name for name, groups in unresolved.items() if not any(each in unresolved for each in groups)]
        if not done:
            shown = ", ".join(f"{name!r:.80}" for name in list(unresolved)[:6])
            raise ModelFileError(f"{r.file}: groups hold each other in a circle: {shown}.")
        for name in done:
            del unresolved[name]


# -- one function for each element ------------------------------------------------------------------------------


def _robot(r: Reading, element: Element, names: Names) -> Names:
    r.label(element)
    return names


def _keep(r: Reading, kind: str, name: str, attributes: dict[str, Any]) -> None:
    r.note("recorded", f"is kept in mb.records as {kind!r}")
    r.records.append(Record(kind, name, attributes))


def _group(r: Reading, element: Element, names: Names) -> object:
    r.owner = name = r.word(element, "name")
    if name in names.seen:
        raise fail(element, "there is a group of this name already.")
    names.seen.add(name)
    return _whole(r, element, Group(element, name, names), "group")


def _group_state(r: Reading, element: Element, names: Names) -> object:
    r.owner = name = r.word(element, "name")
    state = Group(element, name, names, of=_known(r, element, "group", "group", names.groups))
    return _whole(r, element, state, "group_state")


def _whole(r: Reading, element: Element, group: Group, kind: str) -> object:
    """Read all that is inside an element, and then keep it."""
    r.note("recorded", f"is kept in mb.records as {kind!r}")
    r.report_now(element, f"srdf/{kind}")
    for child in element.children:
        r.walk(child, f"srdf/{kind}/{child.tag}", group)
    lists: dict[str, Any]
    if kind == "group":
        lists = {"links": group.links, "joints": group.joints, "chains": group.chains, "groups": group.groups}
    else:
        lists = {"group": group.of, "joints": group.joints, "values": group.values}
    r.records.append(Record(kind, group.name, lists))
    return REPORTED


def _link(r: Reading, element: Element, group: Group) -> None:
    group.links.append(_known(r, element, "name", "link", group.names.links))


def _joint(r: Reading, element: Element, group: Group) -> None:
    group.joints.append(_known(r, element, "name", "joint", group.names.joints))


def _chain(r: Reading, element: Element, group: Group) -> None:
    base, tip = (_known(r, element, end, "link", group.names.links) for end in ("base_link", "tip_link"))
    group.chains.append((base, tip))


def _subgroup(r: Reading, element: Element, group: Group) -> None:
    group.groups.append(_known(r, element, "name", "group", group.names.groups))


def _value(r: Reading, element: Element, state: Group) -> None:
    name = _known(r, element, "name", "joint", state.names.joints)
    count = len(r.word(element, "value").split())
    values = tuple(r.floats(element, "value", count))
    state.joints.append(name)
    state.values.append(values)


_NAMED = {
    "virtual_joint": {"name": "", "type": "", "parent_frame": "", "child_link": "link"},
    "passive_joint": {"name": "joint"},
    "end_effector": {"name": "", "parent_link": "link", "group": "group", "parent_group": "group"},
    "disable_collisions": {"link1": "link", "link2": "link", "reason": ""},
    "enable_collisions": {"link1": "link", "link2": "link", "reason": ""},
    "disable_default_collisions": {"link": "link"},
    "joint_property": {"joint_name": "joint", "property_name": "", "value": ""},
}
"""Elements that are one record with their attributes; the kind of what an attribute names, '' for a text of its own."""
_OPTIONAL = frozenset({"reason", "parent_group"})


def _one(r: Reading, element: Element, names: Names) -> None:
    by_kind = {"link": names.links, "joint": names.joints, "group": names.groups}
    read: dict[str, Any] = {}
    for attribute, kind in _NAMED[element.tag].items():
        if attribute in element.attributes or attribute not in _OPTIONAL:
            named = _known(r, element, attribute, kind, by_kind[kind]) if kind else r.label(element, attribute)
            read[attribute] = named
    r.owner = read.get("name", "")
    _keep(r, element.tag, read.pop("name", ""), read)


def _spheres(r: Reading, element: Element, names: Names) -> object:
    r.owner = _known(r, element, "link", "link", names.links)
    return r.record(element, "srdf/link_sphere_approximation", "link_sphere_approximation")


HANDLERS: dict[str, Handler] = {
    "srdf": _robot,
    "srdf/group": _group,
    "srdf/group/link": _link,
    "srdf/group/joint": _joint,
    "srdf/group/chain": _chain,
    "srdf/group/group": _subgroup,
    "srdf/group_state": _group_state,
    "srdf/group_state/joint": _value,
    "srdf/link_sphere_approximation": _spheres,
    **{f"srdf/{tag}": _one for tag in _NAMED},
}
