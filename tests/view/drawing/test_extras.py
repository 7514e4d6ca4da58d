"""What is not installed is named, with the way to get it."""

from __future__ import annotations

import sys

import pytest

import soacraft as sc
from soacraft.errors import ViewError


@pytest.mark.parametrize(
    ("module", "package", "call"),
    [
        ("matplotlib.figure", "matplotlib", lambda x: x.figure()),
        ("PIL.Image", "Pillow", lambda x: x.pixels()),
    ],
)
def test_a_package_that_is_not_installed_is_named(monkeypatch, module, package, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ViewError, match=rf"needs {package}, which is not installed: pip install 'soacraft\[view\]'"):
        call(sc.view.draw(sc.load("arm7")))
