"""Pictures of a topology as text: plain, Mermaid, Graphviz; `Drawn`, a graph that shows them."""

from __future__ import annotations

from collections import deque

from soacraft.cards import card_of, says_why
from soacraft.markup import Text
from soacraft.model.modal.data import mode_count
from soacraft.model.tree.frames.frame import Body, Carrier
from soacraft.model.tree.graph import Graph, size_text

#: Bodies that are drawn one under the other; the children of the last start again at the left.
DEEPEST = 24


class Drawn(Graph):
    """A graph that users look at."""

    def tree(self) -> Text:
        """Text of the topology: bodies below their parents, with their hinges; then loops and couplings.

        A branch deeper than 24 bodies is continued in a separate part, so that the text grows with n.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).tree()
        chain: 2 bodies, 2 dofs
        inertial
        └─ link1  Pin(axis=(0, 1, 0))
           └─ link2  Pin(axis=(0, 1, 0))  [tip]
        """
        return tree(self)

    def to_mermaid(self) -> Text:
        """The topology as a Mermaid flowchart; closures are dotted.

        >>> from soacraft.model import serial_chain
        >>> print(serial_chain(1).to_mermaid())
        flowchart TD
            n0["inertial"]
            n1["link1"]
            n0 -->|"link1: Pin"| n1
        """
        return mermaid(self)

    def to_dot(self) -> Text:
        """The topology in Graphviz's language; closures are dashed.

        >>> from soacraft.model import serial_chain
        >>> print(serial_chain(1).to_dot())
        digraph "chain" {
            n0 [label="inertial", shape=box];
            n1 [label="link1"];
            n0 -> n1 [label="link1: Pin"];
        }
        """
        return dot(self)

    @says_why
    def _repr_html_(self) -> str:
        return card_of(self)


def tree(graph: Graph) -> Text:
    """Bodies below their parents. O(n): no line is indented by more than `DEEPEST` bodies."""
    layout = graph.layout
    lines = [f"{_line(graph.name)}: {size_text(layout.n, layout.nv)}"]
    parts = deque((_line(anchor.name), roots) for anchor, roots in _anchors(graph).items())
    while parts:
        head, roots = parts.popleft()
        lines.append(head)
        waiting = _under("", roots)
        while waiting:
            body, indent, last = waiting.pop()
            inner = [child for child in body.children if child in layout.index]
            cut = inner and len(indent) >= 3 * (DEEPEST - 1)
            lines.append(f"{indent}{'└─ ' if last else '├─ '}{_described(body)}{'  (continued)' if cut else ''}")
            if cut:
                parts.append((f"{_line(body.name)}  (continued)", inner))
            else:
                waiting += _under(indent + ("   " if last else "│  "), inner)
    lines += [repr(closure) for closure in graph.loops]
    lines += [repr(coupling) for coupling in graph.couplings]
    lines += [repr(x) for x in (*graph.tendons, *graph.springs, *graph.bushings)]
    return Text("\n".join(lines))


def _under(indent: str, bodies: list[Body]) -> list[tuple[Body, str, bool]]:
    """Bodies to be drawn, the first at the end: each with its indentation and whether it is the last of them."""
    return [(body, indent, k == len(bodies) - 1) for k, body in reversed(list(enumerate(bodies)))]


def _described(body: Body) -> str:
    named = "" if body.hinge_name == body.name else f"{_line(body.hinge_name)}: "
    nodes = ", ".join(_line(node.name) for node in body.nodes)
    if len(body.nodes) > 6:
        nodes = f"{len(body.nodes)} nodes"
    modes = "" if body.modal is None else f", {mode_count(body.modal.n)}"
    return f"{_line(body.name)}  {named}{body.hinge!r}{modes}{f'  [{nodes}]' if nodes else ''}"


def mermaid(graph: Graph) -> Text:
    """A Mermaid flowchart."""
    lines, number = ["flowchart TD"], _numbers(graph)
    lines += [f'    n{k}["{_mermaid(frame.name)}"]' for frame, k in number.items()]
    for parent, body in _edges(graph):
        label = _mermaid(f"{body.hinge_name}: {type(body.hinge).__name__}")
        lines.append(f'    n{number[parent]} -->|"{label}"| n{number[body]}')
    for closure in graph.loops:
        label = _mermaid(f"{closure.name}: {type(closure.hinge).__name__}")
        lines.append(f'    n{number[closure.a.carrier]} -.->|"{label}"| n{number[closure.b.carrier]}')
    return Text("\n".join(lines))


def dot(graph: Graph) -> Text:
    """A digraph for Graphviz."""
    number = _numbers(graph)
    anchors = _anchors(graph)
    lines = [f"digraph {_quoted(graph.name)} {{"]
    for frame, k in number.items():
        lines.append(f"    n{k} [label={_quoted(frame.name)}{', shape=box' if frame in anchors else ''}];")
    for parent, body in _edges(graph):
        label = _quoted(f"{body.hinge_name}: {type(body.hinge).__name__}")
        lines.append(f"    n{number[parent]} -> n{number[body]} [label={label}];")
    for closure in graph.loops:
        ends = f"n{number[closure.a.carrier]} -> n{number[closure.b.carrier]}"
        label = _quoted(f"{closure.name}: {type(closure.hinge).__name__}")
        lines.append(f"    {ends} [label={label}, style=dashed, constraint=false];")
    return Text("\n".join([*lines, "}"]))


def _anchors(graph: Graph) -> dict[Carrier, list[Body]]:
    """Parents of the root bodies, each with those bodies."""
    layout = graph.layout
    found: dict[Carrier, list[Body]] = {} if layout.n else {graph.root: []}
    for k in layout.tree.children(-1):
        found.setdefault(layout.bodies[k].parent, []).append(layout.bodies[k])
    return found


def _numbers(graph: Graph) -> dict[Carrier, int]:
    frames: list[Carrier] = [*_anchors(graph), *graph.layout.bodies]
    ends = [end.carrier for closure in graph.loops for end in (closure.a, closure.b)]
    return {frame: k for k, frame in enumerate(dict.fromkeys([*frames, *ends]))}


def _edges(graph: Graph) -> list[tuple[Carrier, Body]]:
    return [(body.parent, body) for body in graph.layout.bodies]


_ENTITIES = str.maketrans({"#": "#35;", "&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;"})


def _mermaid(text: str) -> str:
    return "<br/>".join(line.translate(_ENTITIES) for line in text.splitlines())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(escaped.splitlines()) + '"'


def _line(text: str) -> str:
    """A name on one line."""
    return text if text.isprintable() else repr(text)
