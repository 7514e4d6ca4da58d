"""The command line: `soacraft tour`, `soacraft shell [MODEL]`, `soacraft models`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from soacraft import __version__
from soacraft.errors import SoacraftError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 1 when a check failed, 2 for a mistake in the call."""
    parser = argparse.ArgumentParser(prog="soacraft", description="A workbench for multibody dynamics.")
    parser.add_argument("--version", action="version", version=f"soacraft {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    tour = verbs.add_parser("tour", help="walk through listings 1 to 16 of the PyCraft paper")
    tour.add_argument("model", nargs="?", default="arm7", help="a built-in serial chain (default: arm7)")
    shell = verbs.add_parser("shell", help="IPython with a model, I and all operators at hand")
    shell.add_argument("model", nargs="?", default="arm7", help="a built-in model (default: arm7)")
    shell.add_argument("--axes", choices=("body", "inertial", "origin"), default="body")
    shell.add_argument("-c", "--command", help="run this code instead of asking for input")
    verbs.add_parser("models", help="list the built-in models")
    given = parser.parse_args(arguments)
    try:
        return _run(given)
    except SoacraftError as error:
        print(f"soacraft: {error}", file=sys.stderr)
        return 2


def _run(given: argparse.Namespace) -> int:
    if given.verb == "tour":
        from soacraft.cli.tour import tour

        return tour(given.model)
    if given.verb == "shell":
        from soacraft.cli.shell import shell

        return shell(given.model, given.axes, given.command)
    from soacraft.files import models

    print(models())
    return 0
