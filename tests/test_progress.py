"""The progress bar of a run: on a terminal, once it takes long, and silent otherwise."""

import io

import pytest
from rich.console import Console

from soacraft import progress

CASES = [(True, True, True), (False, True, False), (True, False, False)]


@pytest.mark.parametrize(("wanted", "terminal", "shown"), CASES)
def test_the_bar_shows_how_far_a_run_is(monkeypatch, wanted, terminal, shown):
    monkeypatch.setattr(progress, "_QUIET", -1.0)
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=80)
    with progress.Bar("simulating arm", 1.0, 3.0, wanted, console) as bar:
        bar.at(1.5)
        bar.at(2.0)
    assert ("simulating arm" in out.getvalue()) == shown
    assert ("50%" in out.getvalue()) == shown
