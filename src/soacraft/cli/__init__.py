"""The command line: `soacraft tour | shell | view | info | convert | check | models | include-dir | sim | campaign`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from soacraft import __version__
from soacraft.cli import campaigns, systems
from soacraft.cli.loading import Loading, add_options
from soacraft.cli.output import NOT_WRITTEN, give_up_output, use_known_characters
from soacraft.errors import SoacraftError

__all__ = ["main"]

MODEL = "a model by name (see `soacraft models`), or a model file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0, 1 when a check failed, 2 for a mistake in the call."""
    use_known_characters()
    parsed = _parser().parse_args(arguments)
    try:
        status = _run(parsed)
        sys.stdout.flush()
        return status
    except SoacraftError as error:
        print(f"soacraft: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # who reads the output, such as `head`, has had enough; nothing more can be written
        give_up_output()
        return 1
    except OSError as error:
        if error.errno not in NOT_WRITTEN:
            raise
        give_up_output()
        print(f"soacraft: the output cannot be written: {error.strerror}.", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="soacraft", description="A workbench for multibody dynamics.")
    parser.add_argument("--version", action="version", version=f"soacraft {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    tour = verbs.add_parser("tour", help="walk through listings 1 to 23 of the PyCraft paper")
    tours = f"{MODEL}; sim or system for a simulation (default: arm7)"
    tour.add_argument("model", nargs="?", default="arm7", help=tours)
    shell = verbs.add_parser("shell", help="IPython with a model, I and all operators at hand")
    shell.add_argument("model", nargs="?", default="arm7", help=f"{MODEL} (default: arm7)")
    shell.add_argument("--axes", choices=("body", "inertial", "origin"), default="body")
    shell.add_argument("-c", "--command", help="run this code instead of asking for input")
    view = verbs.add_parser("view", help="the workbench page: the model, and a prompt for operator expressions")
    view.add_argument("model", nargs="?", default="arm7", help=f"{MODEL} (default: arm7)")
    view.add_argument("--port", type=int, default=0, help="the port of the page (default: any that is free)")
    view.add_argument("--no-open", action="store_true", help="print the address, and open no browser")
    info = verbs.add_parser("info", help="what a model is made of, and what became of its file")
    info.add_argument("model", help=MODEL)
    info.add_argument("--report", action="store_true", help="the whole import report")
    convert = verbs.add_parser("convert", help="read one model file and write another")
    convert.add_argument("model", metavar="IN", help=MODEL)
    convert.add_argument("out", metavar="OUT", help="the file to write: .json (all of the model) or .urdf")
    convert.add_argument("--strict", action="store_true", help="write nothing if something that moves it would be lost")
    check = verbs.add_parser("check", help="look for mistakes in a model; status 1 when there are some")
    check.add_argument("model", help=MODEL)
    for verb in (tour, shell, view, info, convert, check):
        add_options(verb)
    systems.add_parser(verbs)
    campaigns.add_parser(verbs)
    verbs.add_parser("models", help="list the models that come with soacraft")
    verbs.add_parser("include-dir", help="print the folder of the C++ headers")
    return parser


def _run(parsed: argparse.Namespace) -> int:
    # each command loads what it needs
    from soacraft.cli import model_files

    if parsed.verb == "models":
        return model_files.list_models()
    if parsed.verb == "include-dir":
        # each command loads what it needs
        from soacraft.files.headers import include_dir

        print(include_dir())
        return 0
    if parsed.verb == "sim":
        return systems.do(parsed)
    if parsed.verb == "campaign":
        return campaigns.do(parsed)
    how = Loading.given(parsed)
    if parsed.verb == "tour":
        # each command loads what it needs
        from soacraft.cli.tour import tour

        if parsed.model == "system":
            # each command loads what it needs
            from soacraft.cli.tour_system import tour_system

            return tour_system()
        if parsed.model == "sim":
            # each command loads what it needs
            from soacraft.cli.tour_sim import tour_sim

            return tour_sim()
        return tour(parsed.model, how)
    if parsed.verb == "shell":
        # each command loads what it needs
        from soacraft.cli.shell import shell

        return shell(parsed.model, parsed.axes, parsed.command, how)
    if parsed.verb == "view":
        # each command loads what it needs
        from soacraft.cli.view import view

        return view(parsed.model, parsed.port, not parsed.no_open, how)
    if parsed.verb == "info":
        return model_files.info(parsed.model, parsed.report, how)
    if parsed.verb == "convert":
        return model_files.convert(parsed.model, parsed.out, parsed.strict, how)
    return model_files.check(parsed.model, how)


def __dir__() -> list[str]:
    return __all__
