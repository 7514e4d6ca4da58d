"""The command line: the tour, the shell, and their exit statuses."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from rich.console import Console

import soacraft as sc
from soacraft import cli
from soacraft.cli import main
from soacraft.cli import tour as tour_module
from soacraft.cli import tour_sim as tour_sim_module
from soacraft.cli import tour_system as tour_system_module
from soacraft.cli.shell import names_for, shell
from soacraft.cli.tour_sim import tour_sim
from soacraft.ops.table import NAMES


def test_tour_walks_every_listing_and_passes():
    out = io.StringIO()
    assert tour_module.tour(console=Console(file=out, width=100)) == 0
    words = out.getvalue()
    listings = ["Listing 1", "Listing 2", "Listing 3", "4 and 5", "6 to 9", "10", "11 to 13", "14", "15 and 16"]
    for listing in [*listings, "17", "18 and 19", "20 to 22", "23"]:
        assert listing in words
    assert "H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]" in words
    assert "gather" in words  # what explain() says
    assert "█" in words  # the picture of the mass matrix
    assert words.count("✓") == 21
    assert "✗" not in words
    assert "Where to go next" in words


def test_tour_fails_when_a_check_fails(monkeypatch):
    monkeypatch.setattr(tour_module, "TOLERANCE", -1.0)
    out = io.StringIO()
    assert tour_module.tour(console=Console(file=out)) == 1
    assert "0 passed, 21 failed" in out.getvalue()


def toured(model):
    out = io.StringIO()
    status = tour_module.tour(model, console=Console(file=out, width=100))
    return status, out.getvalue()


def test_tour_walks_trees_with_free_bases_welds_and_many_tips():
    tools = {"biped": "node 'right_foot/sole'", "husky": "body 'rear_bumper_link'", "five_bar": "body 'sphere_2'"}
    for model, tool in tools.items():
        status, words = toured(model)
        assert status == 0, words
        assert words.count("✓") == 21
        assert f"the tool is {tool}" in words


def test_tour_of_a_model_without_nodes_with_armature():
    mb = sc.random_tree(6, seed=4)
    for body in mb.bodies:
        for node in body.nodes:
            body.remove_node(node)
        body.armature = 0.1
    _, words = toured_copy(mb, checks=13)  # it has no pin with the frame on its axis
    assert "the tool is body" in words


def toured_copy(mb, checks=21):
    """The tour of a model that is first written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.json"
        sc.save(mb, path)
        status, words = toured(path)
    assert status == 0, words
    assert words.count("✓") == checks
    return status, words


def test_tour_says_that_loops_are_ignored():
    mb = sc.serial_chain(4)
    mb.close_loop("ring", "inertial", "link4/tip", sc.Spherical())
    mb.couple("gear", {"link1": 1.0, "link2": 2.0})
    _, words = toured_copy(mb)
    assert "Its loops and couplings (1 and 1) are ignored: these are the operators of its tree." in words
    assert "are ignored" not in toured("arm7")[1]


def test_tour_needs_something_that_moves(tmp_path, capsys):
    mb = sc.Multibody("rock")
    mb.add_body("rock", None, sc.Weld(), sc.Inertia(1.0))
    sc.save(mb, tmp_path / "rock.json")
    assert main(["tour", str(tmp_path / "rock.json")]) == 2
    assert "the tour needs a model that moves" in capsys.readouterr().err


def test_unknown_model_lists_the_known_ones(capsys):
    assert main(["shell", "arm6", "-c", "1"]) == 2
    assert "'arm7'" in capsys.readouterr().err


def test_models_prints_a_table(capsys):
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "arm7" in out
    assert "panda" in out
    assert "BSD-3-Clause" in out


def test_a_verb_is_asked_for():
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


def test_shell_knows_every_operator():
    names = names_for("biped", "inertial")
    assert set(NAMES) < set(names)
    expr = eval("(H*phi*M*phi.T*H.T) * (H*phi*M*phi.T*H.T).inv", names)
    assert expr.is_identity()
    assert names["ops"].phi.rows.axes == "inertial"


def test_tour_of_a_simulation_passes_and_saves():
    out = io.StringIO()
    assert tour_sim(Console(file=out, width=100)) == 0
    text = out.getvalue()
    assert "✗" not in text
    assert text.count("✓") == 5
    assert "run.h5" in text


def test_the_tour_goes_to_the_last_listing(capsys):
    assert main(["tour", "arm7"]) == 0
    out = capsys.readouterr().out
    for number in ("Listing 1:", "Listings 15 and 16:", "Listing 17:", "Listings 20 to 22:", "Listing 23:"):
        assert number in out
    for equation in ("Eq. 41b", "Eq. 41d", "Eq. 42", "Eq. 44a", "Eq. 44c", "Eq. 45", "Eq. 46", "Eq. 48"):
        assert f"(Jain 2016 {equation})" in out


def test_the_tour_leaves_out_what_is_for_pins(capsys):
    assert main(["tour", "top"]) == 0
    assert "for a pin with the body frame on its axis, and this model has none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("axes", "said"),
    [("body", "body axes (the papers' are inertial: --axes inertial)."), ("inertial", "inertial axes (the papers').")],
)
def test_the_shell_says_in_which_axes_it_is(axes, said, capsys, monkeypatch):
    from IPython.terminal.embed import InteractiveShellEmbed

    monkeypatch.setattr(InteractiveShellEmbed, "__call__", lambda self: print(self.banner1))
    assert main(["shell", "arm7", "--axes", axes]) == 0
    assert said in capsys.readouterr().out


def commands(text: str) -> list[list[str]]:
    """Commands of soacraft in the last words of a tour, without what is said of them."""
    after = text.split("Where to go next:")[1]
    lines = [re.split(r" {2,}", line.strip())[0] for line in after.splitlines() if line.startswith("  soacraft ")]
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.parametrize("module", [tour_module, tour_sim_module, tour_system_module])
def test_a_tour_ends_with_commands_that_an_installed_package_has(module, capsys):
    text = module._next() if module is tour_system_module else module.NEXT
    assert "./run" not in text
    assert "docs/" not in text
    for command in commands(text):
        parsed = cli._parser().parse_args(command)
        if parsed.verb in {"models", "info"} or getattr(parsed, "act", "") == "show":
            assert main(command) == 0
            assert capsys.readouterr().out


def test_the_tour_of_a_system_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert tour_system_module.tour_system(Console(file=io.StringIO(), width=200)) == 0
    assert list(tmp_path.iterdir()) == []


def test_the_shell_names_the_extra_that_it_needs(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "IPython", None)
    with pytest.raises(sc.errors.MissingPackageError, match=r"needs the package IPython .*'soacraft\[shell\]'"):
        shell("arm7", command="1")
    assert main(["shell", "arm7", "-c", "1"]) == 2
    assert "pip install 'soacraft[shell]'" in capsys.readouterr().err


def test_python_m_soacraft_is_the_command_line():
    done = subprocess.run([sys.executable, "-m", "soacraft", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"soacraft {sc.__version__}\n"


def test_include_dir_prints_the_folder_of_the_headers(capsys):
    assert main(["include-dir"]) == 0
    assert Path(capsys.readouterr().out.strip()) == sc.include_dir()
