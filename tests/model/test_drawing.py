"""Topologies as text: plain, Mermaid and Graphviz; odd names come back from the text as they were."""

import re

import pytest

from soacraft.model import Multibody, random_tree, serial_chain
from soacraft.model.hinges import Free, Pin, Spherical, Weld
from soacraft.model.tree.drawing import DEEPEST
from soacraft.spatial import Inertia

ODD = ['say "hi"', "two\nlines", "Ärmel ☂ 腕", "back\\slash", "<b>&amp;#35;", "`tick`", "#quot;", "a|b;c[0]{1}(2)"]


def biped():
    mb = Multibody("biped")
    mb.add_body("pelvis", None, Free(), Inertia(1.0))
    for side in ("left", "right"):
        thigh = mb.add_body(f"{side} thigh", "pelvis", Spherical(), Inertia(1.0), hinge_name=f"{side} hip")
        mb.add_body(f"{side} shank", thigh, Pin((0, 1, 0)), Inertia(1.0)).add_node("sole")
    mb.add_body("head", "pelvis", Weld(), Inertia(1.0))
    mb.add_body("box", None, Weld(), Inertia(1.0))
    mb.close_loop("clamp", "left shank/sole", "right shank", Weld())
    mb.close_loop("rope", "inertial", "head", Spherical(), active=False)
    mb.couple("gait", {"left shank": 1, "right shank": -1})
    return mb


# -- plain text ---------------------------------------------------------------------------------------------------


def test_tree_of_a_branched_model_with_loops():
    assert str(biped().tree()).splitlines() == [
        "biped: 7 bodies, 14 dofs",
        "inertial",
        "├─ pelvis  Free()",
        "│  ├─ left thigh  left hip: Spherical()",
        "│  │  └─ left shank  Pin(axis=(0, 1, 0))  [sole]",
        "│  ├─ right thigh  right hip: Spherical()",
        "│  │  └─ right shank  Pin(axis=(0, 1, 0))  [sole]",
        "│  └─ head  Weld()",
        "└─ box  Weld()",
        "loop 'clamp': 'right shank' on 'left shank/sole' by Weld()",
        "loop 'rope': 'head' on 'inertial' by Spherical(), inactive",
        "coupling 'gait': 1 left shank + -1 right shank = 0",
    ]


def test_tree_of_a_sub_graph():
    g = biped().subgraph(["left thigh", "left shank"])
    assert str(g.tree()).splitlines() == [
        "biped[left thigh, left shank]: 2 bodies, 4 dofs",
        "pelvis",
        "└─ left thigh  left hip: Spherical()",
        "   └─ left shank  Pin(axis=(0, 1, 0))  [sole]",
    ]


def test_tree_of_nothing_and_of_one_body():
    mb = Multibody("empty")
    assert str(mb.tree()) == "empty: 0 bodies, 0 dofs\ninertial"
    mb.add_body("only", None, Pin((0, 0, 1)))
    assert str(mb.tree()) == "empty: 1 body, 1 dof\ninertial\n└─ only  Pin(axis=(0, 0, 1))"


def test_many_nodes_are_counted():
    mb = serial_chain(1)
    for k in range(6):
        mb["link1"].add_node(f"n{k}")
    assert str(mb.tree()).endswith("  [7 nodes]")


def test_every_body_has_its_own_line_at_its_depth():
    mb = random_tree(40, seed=2, branching=0.7)
    lines = str(mb.tree()).splitlines()[2:]
    assert len(lines) == 40
    for line in lines:
        indent, name = re.match(r"((?:│  |   )*)[├└]─ (\S+)  ", line).groups()
        depth, body = 0, mb[name]
        while body.parent is not mb.root:
            depth, body = depth + 1, body.parent
        assert len(indent) == 3 * depth


def test_deep_trees_are_continued_at_the_left():
    """Every body has one line under the line of its parent; the text grows with the number of bodies."""
    mb = random_tree(150, seed=1, branching=0.1)
    parents, above = {}, []
    for line in str(mb.tree()).splitlines()[1:]:
        indent, mark, name, continued = re.match(r"((?:│  |   )*)([├└]─ )?(\S+).*?(  \(continued\))?$", line).groups()
        depth = len(indent) // 3 + bool(mark)
        assert depth <= DEEPEST
        assert not continued or depth in (0, DEEPEST)
        if mark:
            assert name not in parents
            parents[name] = above[depth - 1]
        above[depth:] = [name]
    assert parents == {body.name: body.parent.name for body in mb.bodies}
    once, twice = (len(serial_chain(n).tree()) for n in (1000, 2000))
    assert twice < 2.1 * once < 2.1 * 100 * 1000


def test_the_text_shows_itself():
    text = serial_chain(1).tree()
    assert isinstance(text, str)
    assert repr(text) == str(text)


def test_odd_names_stay_on_one_line():
    mb = Multibody("odd\nmodel")
    for name in ODD:
        mb.add_body(name, None, Pin((0, 0, 1)), hinge_name=f"{name}!").add_node("n\t1")
    lines = str(mb.tree()).split("\n")
    assert len(lines) == len(ODD) + 2
    assert lines[0] == "'odd\\nmodel': 8 bodies, 8 dofs"
    for line, name in zip(lines[2:], ODD, strict=True):
        shown = (name, f"{name}!") if name.isprintable() else (repr(name), repr(f"{name}!"))
        assert line[3:] == f"{shown[0]}  {shown[1]}: Pin(axis=(0, 0, 1))  ['n\\t1']"


# -- Mermaid and Graphviz -----------------------------------------------------------------------------------------


def plain(text):
    """What Mermaid shows for the text of a label."""
    entities = {"quot": '"', "amp": "&", "lt": "<", "gt": ">"}
    text = text.replace("<br/>", "\n")
    return re.sub(r"#(\w+);", lambda m: chr(int(m[1])) if m[1].isdigit() else entities[m[1]], text)


def read_mermaid(text):
    """Labels of nodes by id, and edges (from, to, label, dotted); every line must be one of those."""
    first, *lines = text.split("\n")
    assert first == "flowchart TD"
    nodes, edges = {}, []
    for line in lines:
        node = re.fullmatch(r'    (n\d+)\["([^"`]*)"\]', line)
        edge = re.fullmatch(r'    (n\d+) (-->|-\.->)\|"([^"`]*)"\| (n\d+)', line)
        assert node or edge, line
        if node:
            nodes[node[1]] = plain(node[2])
        else:
            edges.append((edge[1], edge[4], plain(edge[3]), edge[2] == "-.->"))
    return nodes, edges


def unquoted(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def read_dot(text):
    """The name of the graph, labels of nodes by id, and edges (from, to, label, dashed)."""
    first, *lines, last = text.split("\n")
    string = r'"((?:[^"\\]|\\.)*)"'
    name = re.fullmatch(rf"digraph {string} \{{", first)[1]
    assert last == "}"
    nodes, edges = {}, []
    for line in lines:
        node = re.fullmatch(rf"    (n\d+) \[label={string}(, shape=box)?\];", line)
        edge = re.fullmatch(rf"    (n\d+) -> (n\d+) \[label={string}(, style=dashed, constraint=false)?\];", line)
        assert node or edge, line
        if node:
            nodes[node[1]] = unquoted(node[2])
        else:
            edges.append((edge[1], edge[2], unquoted(edge[3]), bool(edge[4])))
    return unquoted(name), nodes, edges


def drawn(mb):
    """The same drawing read from both languages."""
    nodes, edges = read_mermaid(str(mb.to_mermaid()))
    name, same_nodes, same_edges = read_dot(str(mb.to_dot()))
    assert (nodes, edges) == (same_nodes, same_edges)
    assert name == mb.name
    return nodes, edges


def test_a_branched_model_with_loops():
    mb = biped()
    nodes, edges = drawn(mb)
    assert list(nodes.values()) == ["inertial", *(body.name for body in mb.bodies)]
    named = [(nodes[a], nodes[b], label, loop) for a, b, label, loop in edges]
    for body in mb.bodies:
        assert (body.parent.name, body.name, f"{body.hinge_name}: {type(body.hinge).__name__}", False) in named
    assert named[7:] == [
        ("left shank", "right shank", "clamp: Weld", True),
        ("inertial", "head", "rope: Spherical", True),
    ]


def test_a_sub_graph_with_a_loop_to_the_inertial_frame():
    mb = biped()
    mb.close_loop("foot", "inertial", "left shank/sole", Pin((0, 1, 0)))
    nodes, edges = drawn(mb.subgraph(["left thigh", "left shank"]))
    assert list(nodes.values()) == ["pelvis", "left thigh", "left shank", "inertial"]
    assert [(nodes[a], nodes[b], loop) for a, b, _, loop in edges] == [
        ("pelvis", "left thigh", False),
        ("left thigh", "left shank", False),
        ("inertial", "left shank", True),
    ]


@pytest.mark.parametrize("name", ODD)
def test_odd_names_come_back(name):
    mb = Multibody(f"model {name}")
    mb.add_body(name, None, Pin((0, 0, 1)), hinge_name=f"{name} hinge")
    mb.add_body("other", None, Pin((0, 0, 1)))
    mb.close_loop(f"{name} loop", name, "other", Weld())
    nodes, edges = drawn(mb)
    assert nodes == {"n0": "inertial", "n1": name, "n2": "other"}
    labels = [f"{name} hinge: Pin", "other: Pin", f"{name} loop: Weld"]
    assert [label for *_, label, _ in edges] == labels


def test_an_empty_model():
    assert drawn(Multibody("empty")) == ({"n0": "inertial"}, [])
