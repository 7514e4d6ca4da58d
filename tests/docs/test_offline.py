"""Pages that would load something from elsewhere are noticed."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "docs" / "_ext" / "offline.py"
spec = importlib.util.spec_from_file_location("offline", PATH)
offline = importlib.util.module_from_spec(spec)
spec.loader.exec_module(offline)


@pytest.mark.parametrize(
    "page",
    [
        '<script async src="https://cdn.example.org/mathjax.js"></script>',
        "<script src='//cdn.example.org/a.js'></script>",
        '<link rel="stylesheet" type="text/css" href="http://example.org/a.css" />',
        '<img alt="x" src="https://example.org/a.png">',
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(page):
    assert len(offline.loaded_from_elsewhere(page)) == 1


def test_own_files_and_links_to_read_are_fine():
    page = '<script src="_static/a.js"></script><a href="https://example.org">read</a><link rel="next" href="b.html">'
    assert offline.loaded_from_elsewhere(page) == []
