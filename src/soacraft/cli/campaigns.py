"""`soacraft campaign run | status | report FOLDER`: campaigns that a program began, continued from the command line."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from soacraft.errors import CampaignError

if TYPE_CHECKING:
    from soacraft.sim import Campaign


def add_parser(verbs: Any) -> None:
    """Let the command line take the verb."""
    campaign = verbs.add_parser("campaign", help="campaigns of many runs: campaign run | status | report FOLDER")
    acts = campaign.add_subparsers(dest="act", metavar="ACT", required=True)
    run = acts.add_parser("run", help="compute the runs that are not done")
    run.add_argument(
        "--shard", metavar="i/n", help="the i-th of n parts, 1/n to n/n: for array jobs that share a folder"
    )
    run.add_argument("--workers", type=int, default=1, help="processes that compute (default: 1)")
    run.add_argument("--cluster", metavar="ADDRESS", help="the scheduler of a cluster of dask.distributed")
    run.add_argument("--runs", type=int, help="as many runs in all, where that is more than there were to be")
    run.add_argument(
        "--again", action="append", default=[], choices=("failed", "killed"), help="runs that ended so, too"
    )
    status = acts.add_parser("status", help="how many runs are done, and what failed")
    report = acts.add_parser("report", help="quantiles and correlations of every measure, variations without effect")
    report.add_argument("--csv", metavar="FILE", help="write the table of all runs")
    for act in (run, status, report):
        act.add_argument("folder", metavar="FOLDER", help="the folder of the campaign")
        act.add_argument("--system", metavar="FILE", help="the system file, where it is no longer where it was")
        act.add_argument(
            "--maker", metavar="MODULE:FUNCTION", help="the function that makes the system; it is imported"
        )
        act.add_argument("--measure", action="append", default=[], metavar="NAME=MODULE:FUNCTION",
                         help="a function that measures; it is imported")  # fmt: skip
        act.add_argument("--classes", action="append", default=[], metavar="FILE.py",
                         help="a program with classes of components, which is run")  # fmt: skip
        act.add_argument("--accept-changes", action="store_true", help="go on though functions are not as they were")
        act.add_argument("--root", action="append", default=[], metavar="FOLDER", help="where model files may be")


def do(parsed: argparse.Namespace) -> int:
    """Run a command; the exit status: 1 where runs are missing or failed."""
    c = opened(parsed)
    if parsed.act == "run":
        c.run(parsed.workers, parsed.cluster, read_shard(parsed.shard), parsed.again, progress=True)
        print(c.status())
        return 0
    print(c.status() if parsed.act == "status" else c.report())
    if parsed.act == "report" and parsed.csv:
        c.table().write(parsed.csv)
    table = c.table()
    return 0 if len(table.rows) == c.runs and table.ok.all() else 1


def opened(parsed: argparse.Namespace) -> Campaign:
    """The campaign of a folder, with what was named on the command line."""
    # each command loads what it needs
    from soacraft.cli.systems import classes_of
    from soacraft.sim import Campaign
    from soacraft.sim.campaigns.source import named_function

    if parsed.maker or parsed.measure:
        sys.path.insert(0, "")  # as python -m has it
    measures = {}
    for text in parsed.measure:
        name, _, function = text.partition("=")
        if not function:
            raise CampaignError(f"--measure is written NAME=MODULE:FUNCTION, got {text!r:.80}.")
        measures[name] = named_function(function)
    runs = getattr(parsed, "runs", None)
    system = parsed.maker or parsed.system
    classes = classes_of(parsed.classes)
    return Campaign.open(parsed.folder, system, measures, classes, parsed.root, runs, parsed.accept_changes)


def read_shard(text: str | None) -> tuple[int, int] | None:
    """A part of a campaign.

    >>> read_shard("3/8")
    (3, 8)
    """
    if text is None:
        return None
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal()):
        raise CampaignError(f"--shard is written i/n, as 3/8, got {text!r:.40}.")
    return int(part), int(parts)
