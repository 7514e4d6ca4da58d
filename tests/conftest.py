"""The hypothesis profile of tests/profiles.py: "ci", or HYPOTHESIS_PROFILE=long; no log files; how much was drawn."""

import gc
import os
from pathlib import Path

import mujoco
import pytest
from tests import profiles

profiles.register()
profiles.load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

#: MuJoCo appends its warnings to this file in the working folder, unless somebody else takes them.
LOG = Path("MUJOCO_LOG.TXT")
mujoco.set_mju_user_warning(lambda text: None)


def pytest_sessionstart(session):
    session.config.log_before = LOG.exists()


def pytest_collection_modifyitems(items):
    """Long sweeps may take an hour; everything else ends by the limit of pyproject.toml."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(3600))


def pytest_collection_finish(session):
    """What was collected stays to the end: it is no garbage that tests would have to look through."""
    gc.freeze()


def pytest_sessionfinish(session):
    """The tests leave no log file behind."""
    if LOG.exists() and not session.config.log_before:
        raise pytest.UsageError(f"a test let MuJoCo write {LOG.resolve()}")


def pytest_terminal_summary(terminalreporter):
    """How many draws each hypothesis suite that counts them made and discarded (see tests/strategies.py)."""
    totals = {}
    for report in (report for group in terminalreporter.stats.values() for report in group):
        for name, value in getattr(report, "user_properties", ()):
            if name == "draws" and report.when == "teardown":
                suite = totals.setdefault(report.nodeid.partition("::")[0], [0, 0])
                suite[:] = [total + count for total, count in zip(suite, value, strict=True)]
    if totals:
        terminalreporter.section("hypothesis draws")
        for suite, (kept, discarded) in sorted(totals.items()):
            terminalreporter.write_line(f"{suite}: {kept + discarded} draws, {discarded} discarded")
