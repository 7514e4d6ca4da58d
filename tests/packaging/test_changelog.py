"""The changelog: releases in areas, areas of entries that one can read."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "CHANGELOG.md").read_text()


def test_every_entry_is_in_an_area():
    for release in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        before, *areas = re.split(r"^### ", release, flags=re.MULTILINE)
        assert "\n- " not in before
        assert len(areas) == len({area.splitlines()[0] for area in areas}) >= 1
        for area in areas:
            entries = re.split(r"^- ", area, flags=re.MULTILINE)[1:]
            assert entries, area
            assert max(len(entry.split()) for entry in entries) <= 110
            assert sum(len(entry.split()) for entry in entries) <= 1100, area.splitlines()[0]


def test_no_entry_stands_twice():
    entries = [" ".join(entry.split())[:60] for entry in re.split(r"^- ", TEXT, flags=re.MULTILINE)[1:]]
    assert sorted({entry for entry in entries if entries.count(entry) > 1}) == []
