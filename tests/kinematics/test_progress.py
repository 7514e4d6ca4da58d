"""The bar for what takes long."""

from io import StringIO

from rich.console import Console

from soacraft.kinematics import progress
from soacraft.kinematics.progress import shown


def told(monkeypatch, quiet, terminal):
    monkeypatch.setattr(progress, "_QUIET", quiet)
    console = Console(file=StringIO(), force_terminal=terminal, width=60)
    assert list(shown("abc", "counting", console)) == ["a", "b", "c"]
    return console.file.getvalue()


def test_a_bar_after_a_while(monkeypatch):
    assert "counting" in told(monkeypatch, -1.0, terminal=True)


def test_none_when_it_is_fast_or_nobody_looks(monkeypatch):
    assert told(monkeypatch, 60.0, terminal=True) == ""
    assert told(monkeypatch, -1.0, terminal=False) == ""


def test_it_ends_when_the_work_is_left(monkeypatch):
    monkeypatch.setattr(progress, "_QUIET", -1.0)
    console = Console(file=StringIO(), force_terminal=True, width=60)
    for x in shown("abc", "counting", console):
        if x == "b":
            break
    assert "counting" in console.file.getvalue()
