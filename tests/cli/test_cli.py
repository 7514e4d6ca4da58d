"""The command line: the tour, the shell, and their exit statuses."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from soacraft.cli import main
from soacraft.cli import tour as tour_module
from soacraft.cli.shell import names_for
from soacraft.ops.table import NAMES


def test_tour_walks_every_listing_and_passes():
    out = io.StringIO()
    assert tour_module.tour(console=Console(file=out, width=100)) == 0
    words = out.getvalue()
    for listing in ("Listing 1", "Listing 2", "Listing 3", "4 and 5", "6 to 9", "10", "11 to 13", "14", "15 and 16"):
        assert listing in words
    assert "H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]" in words
    assert "gather" in words  # what explain() says
    assert "█" in words  # the picture of the mass matrix
    assert words.count("✓") == 13
    assert "✗" not in words
    assert "Where to go next" in words


def test_tour_fails_when_a_check_fails(monkeypatch):
    monkeypatch.setattr(tour_module, "TOLERANCE", -1.0)
    out = io.StringIO()
    assert tour_module.tour(console=Console(file=out)) == 1
    assert "0 passed, 13 failed" in out.getvalue()


def test_tour_refuses_a_branched_model(capsys):
    assert main(["tour", "biped"]) == 2
    assert "'biped' is branched; try arm7." in capsys.readouterr().err


def test_unknown_model_lists_the_known_ones(capsys):
    assert main(["shell", "arm6", "-c", "1"]) == 2
    assert "'arm7'" in capsys.readouterr().err


def test_models_prints_a_table(capsys):
    assert main(["models"]) == 0
    assert "arm7" in capsys.readouterr().out


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
