"""Commands on a terminal without UTF-8 and on a full disk; the library under `python -OO`; hints with brackets."""

import io
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

import soacraft as sc
from soacraft.cli import main, tour_sim, tour_system
from soacraft.cli.output import PLAIN, use_known_characters
from soacraft.errors import ViewError


def run(*arguments, flags=(), stdout=subprocess.PIPE, **variables):
    command = [sys.executable, *flags, "-m", "soacraft", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, env=os.environ | variables, check=False)


def test_a_terminal_without_utf_8():
    done = run("info", "arm7", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"   `- link2  Pin(axis=(0, 1, 0))" in done.stdout.decode("ascii").encode()


def test_unknown_characters_are_question_marks(monkeypatch):
    printed = (("ascii", "é ─ ✓", b"? - +"), ("utf-8", "é ─", "é ─".encode()), ("latin-1", "é ─", b"\xe9 -"))
    for encoding, text, expected in printed:
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        use_known_characters()
        print(text, end="", flush=True)
        assert raw.getvalue() == expected


def test_every_character_that_commands_print_has_a_plain_form():
    """Characters in the sources of what is printed as text: trees, spies, tours."""
    root = Path(sc.__file__).parent
    printed = ("model/tree/drawing.py", "view/structure.py", "view/spy.py")
    files = [*(root / "cli").glob("*.py"), *(root / name for name in printed)]
    used = {x for file in files for x in file.read_text(encoding="utf-8") if 0x2190 <= ord(x) < 0x2800}
    assert used <= set(PLAIN)
    assert all(text.isascii() for text in PLAIN.values())


def test_a_full_disk():
    with open("/dev/full", "wb") as full:
        done = run("models", stdout=full)
    assert done.returncode == 2
    assert done.stderr == b"soacraft: the output cannot be written: No space left on device.\n"


def test_other_faults_of_the_system_are_not_hidden(monkeypatch):
    def broken(*arguments):
        raise PermissionError(13, "not allowed")

    monkeypatch.setattr("soacraft.cli._run", broken)
    with pytest.raises(PermissionError, match="not allowed"):
        main(["models"])


@pytest.mark.parametrize("end", ["svg", "html", "png"])
def test_a_picture_that_cannot_be_written(tmp_path, end, monkeypatch):
    picture = sc.view.draw(sc.load("double_pendulum"))
    target = tmp_path / f"picture.{end}"
    picture.save(target)
    before = target.read_bytes()
    with pytest.raises(ViewError, match=r"^cannot write '.*': No such file or directory\.$"):
        picture.save(tmp_path / "nowhere" / f"picture.{end}")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ViewError, match=r"^cannot write '.*': No space left on device\.$"):
        picture.save(target)
    assert [x.name for x in tmp_path.iterdir()] == [target.name]
    assert target.read_bytes() == before


def test_python_without_docstrings():
    """Every public name is imported, and a model is loaded, moved and proved about."""
    code = """
import importlib, soacraft as sc, soacraft.cli, soacraft.pycraft
for name in sc.__all__:
    getattr(sc, name)
mb = sc.load("arm7")
s = sc.operators(mb)
sc.dynamics.forward_dynamics(mb, mb.q, mb.v, mb.v)
if not sc.prove(s.psi.inv, s.phi.inv + s.K * s.H) or sc.Dynamics(mb).mass_matrix(mb.q).shape != (7, 7):
    raise SystemExit("wrong")
print(importlib.import_module("soacraft.files.load")._facts("pendulum"), repr(mb), mb._repr_html_()[:1])
"""
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("tour", [tour_sim, tour_system])
def test_hints_with_brackets_are_whole(tour, monkeypatch):
    monkeypatch.setattr(tour, "find_spec", lambda name: None if name == "h5py" else find_spec(name))
    said = io.StringIO()
    name = tour.__name__.rpartition(".")[2]
    assert getattr(tour, name)(Console(file=said, width=120)) == 0
    assert "pip install 'soacraft[sim]' for h5py" in said.getvalue()
