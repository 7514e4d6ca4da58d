"""Names that are easily mistaken, frames without a connection to the inertial frame, and records that point nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from soacraft.health.report import Finding
from soacraft.model import Body, Frame, Graph, Multibody, SubGraph
from soacraft.model.tree.frames.frame import Carrier


def whole(graph: Graph) -> Multibody:
    """The model that a graph is, or is part of."""
    model = graph.multibody if isinstance(graph, SubGraph) else graph
    assert isinstance(model, Multibody)
    return model


def check_tree(graph: Graph) -> Iterator[Finding]:
    """Every body must be connected, through its parents, to the inertial frame."""
    mb = whole(graph)
    reached: set[Frame] = {mb.root}
    waiting: list[Carrier] = [mb.root]
    while waiting:
        for child in waiting.pop().children:
            if child not in reached:
                reached.add(child)
                waiting.append(child)
    for body in graph.bodies:
        if body not in reached:
            text = "is not connected to the inertial frame"
            yield Finding("error", f"body {body.name!r}", body.parent.name, text, "attach it with mb.reattach(...)")
    if not graph.bodies:
        yield Finding("note", repr(graph.name), 0.0, "has no bodies", "add some with mb.add_body(...)")


def check_names(graph: Graph) -> Iterator[Finding]:
    """Names that differ in capitals or blanks only, or that stand for two things."""
    mb, bodies = whole(graph), graph.bodies
    kinds: list[tuple[str, Iterable[str]]] = [
        ("body", [body.name for body in bodies]),
        ("hinge", [body.hinge_name for body in bodies]),
        ("loop", graph.loops.names),
        ("coupling", graph.couplings.names),
        ("actuator", mb.actuators.names),
        ("keyframe", mb.keyframes.names),
        ("material", mb.materials.names),
    ]
    kinds += [(f"on body {body.name!r} node", [node.name for node in body.nodes]) for body in bodies if body.nodes]
    for kind, names in kinds:
        yield from _alike(kind, names)
    for dof, times in Counter(graph.layout.dof_names).items():
        if times > 1:
            text = f"{times} dofs have this name, so couplings and actuators cannot tell them apart"
            yield Finding("error", f"dof {dof!r}", float(times), text, "give their hinges other names")
    of = {body.name: body for body in bodies}
    for body in bodies:
        if body.hinge_name in of and of[body.hinge_name] is not body:
            text = f"the hinge of body {body.name!r} has the name of another body"
            yield Finding("note", f"hinge {body.hinge_name!r}", body.name, text, "other names are easier to tell apart")


def _alike(kind: str, names: Iterable[str]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in names:
        plain = "".join(name.split()).casefold()
        if plain in seen:
            text = f"differs from {seen[plain]!r} in capitals or blanks only"
            yield Finding("warning", f"{kind} {name!r}", seen[plain], text, "choose names that cannot be mistaken")
        elif name != name.strip() or not name.isprintable():
            text = "its name has blanks at an end or characters that do not print"
            yield Finding("warning", f"{kind} {name!r}", name.strip(), text, "leave them out")
        seen.setdefault(plain, name)


def check_records(graph: Graph) -> Iterator[Finding]:
    """Actuators, materials and meshes that point at nothing."""
    mb = whole(graph)
    dofs, materials = set(mb.dof_names), set(mb.materials.names)
    if graph is mb:
        for actuator in mb.actuators:
            subject = f"actuator {actuator.name!r}"
            for dof in actuator.gears:
                if dof not in dofs:
                    text = f"drives {dof!r}, which is no dof of the model"
                    yield Finding("error", subject, dof, text, "correct its gears")
            if not any(actuator.gears.values()) and not actuator.attributes:
                yield Finding("warning", subject, 0.0, "drives nothing", "give it gears, such as {dof: 1.0}")
    carriers: list[Carrier] = [mb.root, *graph.bodies] if graph is mb else list(graph.bodies)
    for carrier in carriers:
        for shape in carrier.geometries:
            subject = f"geometry {shape.name!r} on {carrier.name!r}"
            if shape.material and shape.material not in materials:
                text = f"names the material {shape.material!r}, which the model does not have"
                yield Finding("warning", subject, shape.material, text, "add it with mb.add_material(...)")
            if shape.kind == "mesh" and not shape.mesh:
                yield Finding("warning", subject, "", "is a mesh without a file", "give it mesh='file.stl'")


def check_import(graph: Graph) -> Iterator[Finding]:
    """Findings from the report of the import: motion that was lost, files that were not found."""
    report = whole(graph).import_report
    if report is None or isinstance(graph, SubGraph):
        return
    absent = Counter((entry.element, entry.note) for entry in report.not_simulated)
    for (element, note), times in absent.items():
        text = f"is not simulated ({times} {'time' if times == 1 else 'times'}), and would change the motion: {note}"
        yield Finding("warning", f"element {element!r}", float(times), text, "see mb.import_report")
    missing = [entry for entry in report.entries if "not found" in entry.note]
    if missing:
        first = missing[0]
        text = f"{len(missing)} files, such as that of {first.name or first.element!r}, were not found"
        cure = "put them next to the model file, or name their folder in mesh_roots"
        yield Finding("note", "meshes", float(len(missing)), text, cure)


def hinge_subject(body: Body) -> str:
    """Text by which a finding names the hinge of a body."""
    same = body.hinge_name == body.name
    return f"hinge {body.hinge_name!r}" if same else f"hinge {body.hinge_name!r} of {body.name!r}"
