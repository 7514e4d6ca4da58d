"""Tracebacks in IPython: the user's lines and the message; all frames on request; plain Python as it was."""

import io
import subprocess
import sys
from contextlib import redirect_stdout
from traceback import format_exception

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.terminal.embed import InteractiveShellEmbed

import soacraft as sc
from soacraft.cli import main
from soacraft.errors import ModelError, SoacraftError, StateError
from soacraft.tracebacks import rendered, without_our_frames


@pytest.fixture(autouse=True)
def no_shell():
    """Forget the shell of another test, its colours and its mode; `soacraft shell` leaves one."""
    for kind in (InteractiveShellEmbed, InteractiveShell):
        kind.clear_instance()
    yield
    for kind in (InteractiveShellEmbed, InteractiveShell):
        kind.clear_instance()


@pytest.fixture
def shell():
    ipython = InteractiveShell.instance(colors="nocolor")
    ipython.run_cell("import soacraft as sc\nmb = sc.load('arm7')\nH, D = sc.operators(mb, 'H D')")
    return ipython


def said(shell, *cells):
    out = io.StringIO()
    with redirect_stdout(out):
        for cell in cells:
            shell.run_cell(cell)
    return out.getvalue()


def test_frames_of_soacraft_are_hidden_and_the_message_is_last(shell):
    text = said(shell, "def work(x):\n    return H * x\nwork(D)")
    assert "soacraft/" not in text
    assert "in work(x)" in text
    assert "----> 2     return H * x" in text
    lines = text.strip().splitlines()
    assert lines[-1].startswith("SpaceError: cannot form H * D: ")
    assert lines[-2] == "[2 frames of soacraft hidden: %xmode Verbose, then %tb, shows all]"


def test_every_mode_of_ipython_but_verbose_hides_them(shell):
    for mode in ("Plain", "Context", "Minimal"):
        text = said(shell, f"%xmode {mode}", "mb.set_state([1.0])")
        assert "soacraft/" not in text
        assert "StateError: " in text
    every_frame = said(shell, "%xmode Verbose", "%tb")
    assert "soacraft/" in every_frame
    assert "StateError: " in every_frame
    assert "hidden" not in every_frame
    said(shell, "%xmode Context")


def test_functions_of_the_user_that_soacraft_calls_stay(shell):
    text = said(
        shell,
        "def A(q):\n    return sc.load('nosuch')",
        "sc.SKOModel([-1, 0], A, [[[1.0]]] * 2, [[[1.0]]] * 2, q=[0.0, 0.0])",
    )
    assert "in A(q)" in text
    assert "soacraft/" not in text


def test_causes_are_short_too_and_the_error_keeps_its_frames(shell):
    def work():
        try:
            sc.load("nosuch")
        except SoacraftError as first:
            raise StateError("a second") from first

    with pytest.raises(StateError, match=r"^a second$") as refusal:
        work()
    before = format_exception(refusal.value)
    text = "\n".join(rendered(refusal.value))
    assert "soacraft/" not in text
    assert "no model 'nosuch'" in text
    assert format_exception(refusal.value) == before


def test_frames_are_counted():
    with pytest.raises(ModelError) as refusal:
        sc.load("nosuch")
    short, count = without_our_frames(refusal.value.__traceback__)
    assert short is not None
    assert short.tb_next is None
    assert count == len(refusal.traceback) - 1 > 0


def test_without_ipython_an_error_renders_as_python_does(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", None)
    with pytest.raises(ModelError) as refusal:
        sc.load("nosuch")
    assert rendered(refusal.value) == format_exception(refusal.value)


def test_plain_python_is_left_alone():
    code = "import sys, soacraft as sc; print(sys.excepthook is sys.__excepthook__); sc.load('x.y')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.stdout == "True\n"
    assert "files/load.py" in done.stderr


def test_the_shell_hides_them(capsys):
    assert main(["shell", "arm7", "-c", "H * D"]) == 1
    text = capsys.readouterr().out
    assert "soacraft/" not in text
    assert "cannot form H * D" in text
