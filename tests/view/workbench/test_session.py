"""The answers of the workbench page, asked without a browser."""

from __future__ import annotations

import json

import nbformat
import numpy as np
import pytest
from tests.view.space.test_bending import crane

import soacraft as sc
from soacraft.errors import ExpressionError, ModelError, ModelFileError, SoacraftError
from soacraft.view.workbench.notebook import Source
from soacraft.view.workbench.requests import Run
from soacraft.view.workbench.session import Session
from soacraft.view.workbench.upload import KINDS, source_of

MASS_MATRIX = "H*phi*M*phi.T*H.T"
HOSTILE = "<img src=x onerror=alert(1)>"
URDF = f"""<robot name="two"><link name="base"/><link name="{HOSTILE.replace('<', '&lt;')}"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="/etc/passwd"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="{HOSTILE.replace('<', '&lt;')}"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint><gazebo/></robot>"""


@pytest.fixture(autouse=True)
def closed_at_the_end():
    yield
    while OPEN:
        OPEN.pop().close()


OPEN = []


def session(model="arm7", loops=False, **told):
    mb = sc.load(model) if isinstance(model, str) else model
    OPEN.append(Session(mb, Source(mb.name, f"mb = sc.load({mb.name!r})", loops), **told))
    return OPEN[-1]


def code_of(made):
    notebook = json.loads(made["text"])
    nbformat.validate(nbformat.from_dict(notebook))
    return [x["source"] for x in notebook["cells"] if x["cell_type"] == "code"]


def run_all(cells):
    """What Python has after the cells, and the value of the last line."""
    names = {}
    for cell in cells[:-1]:
        exec(cell, names)
    *before, last = cells[-1].splitlines()
    exec("\n".join(before), names)
    return names, eval(last, names)


def test_a_page_is_told_of_its_model():
    told = session("biped").hello()
    assert (told["model"], told["size"], len(told["bodies"])) == ("biped", "12 bodies, 25 dofs", 12)
    assert all(told["bodies"][x["parent"]]["depth"] == x["depth"] - 1 for x in told["bodies"] if x["parent"] >= 0)
    assert {"H", "phi", "V", "prove", "ones"} <= set(told["names"])
    assert session("five_bar").hello()["note"] == "Its loops and couplings are ignored in expressions."


def test_the_card_of_an_operator():
    bench = session("biped")
    made = bench.run(MASS_MATRIX)
    mb = bench.mb
    assert made["spaces"] == "hinge[25] <- hinge[25]"
    numbers = np.array(made["value"]["numbers"])
    assert np.allclose(numbers, sc.dynamics.mass_matrix(mb, mb.q))
    assert made["value"]["rows"][-2:] == ["right_foot 0", "right_foot 1"]
    assert made["plan"]["cost"] == "5n block products for a product with a vector"
    assert [x[1] for x in made["plan"]["steps"][:5]] == ["diagonal", "scatter", "diagonal", "gather", "diagonal"]
    # every block of structure joins a body with itself, an ancestor or a descendant of it
    picture, parents = made["structure"], [x["parent"] for x in bench.hello()["bodies"]]

    def path(k):
        return {k} | (path(parents[k]) if parents[k] >= 0 else set())

    wanted = {(i, j) for i in range(12) for j in range(12) if i in path(j) or j in path(i)}
    told = {(picture["row_bodies"][i], picture["column_bodies"][j]) for i, j, _ in picture["cells"]}
    assert told == {(i, j) for i, j in wanted if mb.bodies[i].hinge.nv and mb.bodies[j].hinge.nv}
    assert json.loads(json.dumps(made, allow_nan=False))["entry"] == 0


def test_sweeps_light_every_body_once_in_order():
    bench = session("biped")
    moments = bench.run("phi")["sweep"]["moments"]  # a gather: children before parents
    seen = [set(now) for _, kind, now, _ in moments if kind == "gather"]
    assert sorted(k for now in seen for k in now) == list(range(12))
    order = {k: i for i, now in enumerate(seen) for k in now}
    assert all(order[k] < order[x["parent"]] for k, x in enumerate(bench.hello()["bodies"]) if x["parent"] >= 0)


def test_values_follow_the_state_and_blocks_are_named():
    told = []
    bench = session("double_pendulum", told=lambda name, data: told.append((name, data)))
    bench.run(MASS_MATRIX)
    bench.mb.q = [0.4, 1.1]
    bench.mb.q = [0.4, 1.2]  # no news until the page has asked
    assert told == [("changed", ["state"])]
    assert np.allclose(bench.value(0)["numbers"], sc.dynamics.mass_matrix(bench.mb, [0.4, 1.2]))
    bench.mb.q = [0.0, 0.0]
    assert told == [("changed", ["state"])] * 2
    bench.run("phi")
    block = bench.block(1, 0, 1)
    assert block["names"] == ("upper", "lower")
    assert np.allclose(block["numbers"], sc.operators(bench.mb, "phi")["upper", "lower"])
    with pytest.raises(ExpressionError, match=r"there is no block \[2, 0\]; there are 2 x 2"):
        bench.block(1, 2, 0)
    with pytest.raises(ExpressionError, match="there is no answer 7"):
        bench.value(7)
    bench.run("2 + 2")
    with pytest.raises(ExpressionError, match="an operator has blocks, and this is none"):
        bench.block(2, 0, 0)


def test_a_change_of_structure_is_followed():
    told = []
    bench = session("double_pendulum", told=lambda name, data: told.append(data))
    answer = bench.handlers["run"].answer
    answer(Run(id=1, verb="run", text="F = phi"))
    bench.mb.add_body("third", "lower", sc.Pin((0, 1, 0)), sc.Inertia(1.0))
    assert "structure" in told[-1]
    assert len(bench.handlers["hello"].answer(None)["bodies"]) == 3
    assert answer(Run(id=1, verb="run", text="phi"))["spaces"] == "body[18] <- body[18]"
    with pytest.raises(ExpressionError, match="there is no 'F'"):
        answer(Run(id=1, verb="run", text="F"))
    assert run_all(code_of(bench.notebook()))[0]["mb"].nv == 3


def test_a_model_without_bodies_is_one():
    bench = session(sc.Multibody("empty"))
    assert bench.hello()["bodies"] == []
    made = bench.run("H*phi*M*phi.T*H.T")
    assert made["spaces"] == "hinge[0] <- hinge[0]"
    json.dumps(made, allow_nan=False)


def test_a_model_whose_scene_is_refused_changes_nothing():
    def refuse(mb, folder):
        if folder:
            raise ModelError("no scene of this")
        return ""

    bench = session("double_pendulum", opened=refuse)
    with pytest.raises(ModelError, match="no scene of this"):
        bench.upload("two.urdf", URDF)
    assert bench.hello()["model"] == "double_pendulum"
    bench.mb.q = [0.1, 0.2]
    assert bench.run("q")["value"]["numbers"] == [[0.1], [0.2]]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("V", "vector"), ("phi[0, 1]", "block"), ("2*3", "text"), ("phi.properties()", "text"), ("I", "operator"),
        ("explain(phi)", "explanation"), ("phi.is_zero()", "text"), ("'<b>'", "text"), ("D.inv.sqrt()", "operator"),
    ],
)  # fmt: skip
def test_every_kind_of_value_has_a_card(line, kind):
    made = session("double_pendulum").run(line)
    assert made["kind"] == kind
    json.dumps(made, allow_nan=False)


def test_a_proof_shows_its_steps():
    made = session().run("prove((I - H*psi*K)*H*phi, H*psi)")
    assert made["found"]
    assert made["steps"][0]["text"] == "(I - H*psi*K) * H * phi"
    assert made["steps"][-1]["text"] == "H*psi"
    assert all(x["because"] for x in made["steps"][1:])
    wrong = session().run("prove(H*phi, H*psi)")
    assert not wrong["found"]
    assert wrong["reason"].startswith("the sides differ")


def test_large_values_are_folded():
    mb = sc.serial_chain(130)
    bench = session(mb)
    made = bench.run("phi")
    assert made["value"] == {"folded": "780 x 780 numbers: select a block, or name one as [i, j]."}
    assert made["structure"] == {"refused": "130 x 130 blocks; a picture has at most 120 on a side."}
    assert len(bench.run("V")["value"]["rows"]) == 780


def test_what_cannot_be_computed_says_so_in_its_place():
    mb = sc.Multibody("massless")
    mb.add_body("tip", None, sc.Pin((0, 0, 1)), sc.Inertia(0.0))
    made = session(mb).run("D.inv")
    assert "tip" in made["value"]["refused"]
    assert made["plan"]["steps"]


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_opened_with_its_report():
    bench = session()
    bench.run(MASS_MATRIX)
    told = bench.upload("../../robots/two robots.urdf", URDF)
    assert (told["model"], [x["name"] for x in told["bodies"]]) == ("two", ["base", HOSTILE])
    assert "ignored" in told["report"]["summary"]
    assert any("gazebo" in row[1] for row in told["report"]["rows"])
    with pytest.raises(ExpressionError, match="belongs to a model that was on the page before"):
        bench.value(0)
    assert bench.run(f"X('{HOSTILE}')")["spaces"] == "body[12] <- body[12]"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.xacro", "<robot/>", f"a page takes {', '.join(KINDS)} files, not 'a.xacro'."),
        ("a.exe", "", "a page takes"),
        ("", "", "a page takes"),
        ("a.urdf", "<robot", "a.urdf"),
        ("a.urdf", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><robot>&b;</robot>", "a.urdf"),
        ("a.json", "{}", "a.json"),
        ("a.json", "[" * 100_000, "a.json"),
        ("a.xml", "<mujoco><include file='/etc/passwd'/></mujoco>", "a.xml"),
        ("a.sdf", "<sdf/>", "a.sdf"),
        ("..\\..\\\x00.urdf", "\udc80", "model"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_and_nothing_changes(name, text, says):
    bench = session("double_pendulum")
    bench.run("F = phi")
    with pytest.raises(ModelFileError) as caught:
        bench.upload(name, text)
    assert says in str(caught.value)
    assert "/tmp" not in str(caught.value)
    assert "root:" not in str(caught.value)  # nothing of another file
    assert bench.run("F")["spaces"] == "body[12] <- body[12]"


def test_files_outside_the_folder_are_not_read(tmp_path):
    (tmp_path / "box.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n")
    text = f"""<mujoco><asset><mesh name="box" file="{tmp_path}/box.obj"/></asset><worldbody><body name="b"><joint/>
    <geom type="mesh" mesh="box" mass="1"/><geom size="1"/></body></worldbody></mujoco>"""
    with pytest.raises(ModelFileError, match="leads out of the folders that may be read, and is not looked for"):
        session("double_pendulum").upload("a.xml", text)


# -- the notebook -----------------------------------------------------------------------------------------------------


def test_the_notebook_runs_as_it_is():
    bench = session()
    for line in (f"F = {MASS_MATRIX}", "x = random('hinge', 2) + ones('hinge') - zeros('hinge')", "F.inv * (x - C)"):
        bench.run(line)
    rng = np.random.default_rng(0)
    bench.mb.set_state(rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7))
    for line in ("V.dot(M*V)/2", "explain(F)", "X('link3')*diag_of(phi)", "prove(H, H)", "F.inv *\n(x - C)"):
        bench.run(line)
    with pytest.raises(SoacraftError):
        bench.run("H*D")  # is not in it
    wanted = bench.run("y = F.inv*(x - C)")["value"]["numbers"]
    names, last = run_all(code_of(bench.notebook()))
    assert np.allclose(np.asarray(last), np.ravel(wanted))
    assert np.allclose(names["mb"].q, bench.mb.q)


def test_a_notebook_has_models_of_files_in_it():
    bench = session("double_pendulum")
    bench.run("phi")
    bench.upload("two.urdf", URDF)
    bench.mb.q = [0.7]
    wanted = bench.run(f"phi['base', '{HOSTILE}']")["value"]["numbers"]
    names, last = run_all(code_of(bench.notebook()))
    assert names["mb"].name == "two"
    assert np.allclose(last, wanted)


def test_a_notebook_of_a_closed_chain_runs():
    bench = session("five_bar", loops=True)
    bench.run("phi.T")
    assert run_all(code_of(bench.notebook()))[1].text() == "phi.T"


def test_an_empty_notebook_is_one():
    assert code_of(session().notebook()) == []


def test_a_flexible_model_has_its_modes_in_the_tree_and_its_expressions():
    mb = crane()
    bench = session(mb)
    assert source_of(mb).name == "crane"  # in it, or named where it belongs
    assert [x["modes"] for x in bench.hello()["bodies"]] == [7, 0]
    assert bench.run("H*phi*M*phi.T*H.T")["spaces"] == "hinge[8] <- hinge[8]"
