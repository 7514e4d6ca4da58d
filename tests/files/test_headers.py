"""The folder of the C++ headers, in a checkout and in an installed package."""

from __future__ import annotations

import pytest

import soacraft as sc
from soacraft.files import headers


def test_the_folder_has_the_headers():
    names = {path.name for path in (sc.include_dir() / "soacraft").glob("*.hpp")}
    assert {"multibody.hpp", "expression.hpp", "whole_body.hpp", "arm.hpp"} <= names


def test_a_copy_without_headers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "_PLACES", (tmp_path,))
    with pytest.raises(sc.errors.MissingPackageError, match=r"the C\+\+ headers are not in .*: .*Install a wheel"):
        sc.include_dir()
