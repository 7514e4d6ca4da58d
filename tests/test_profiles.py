"""No test caps the number of examples that a profile draws; draws in CI depend on the test alone."""

import importlib
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.providers import HypothesisProvider
from tests.profiles import EXAMPLES, load, tries

HERE = Path(__file__).parent


@pytest.fixture
def profile(monkeypatch):
    """Load profiles, and the one that was there afterwards."""
    before = settings.default
    monkeypatch.setattr(HypothesisProvider, "_local_constants", HypothesisProvider._local_constants)  # undone after it
    yield load
    settings.register_profile("before", before)
    settings.load_profile("before")


@pytest.mark.parametrize(("name", "factor"), [("ci", 1), ("long", 20)])
def test_examples_of_a_test_are_in_proportion_to_the_profile(profile, name, factor):
    profile(name)
    assert settings.default.max_examples == EXAMPLES[name] == 50 * factor

    @tries(10)
    @given(st.integers())
    def test(n):
        raise AssertionError("it is looked at, not run")

    assert test._hypothesis_internal_use_settings.max_examples == 10 * factor
    assert tries(1).max_examples == factor
    assert tries(10).deadline is None
    assert tries(10).derandomize is (name == "ci")


def test_a_profile_with_few_examples_draws_at_least_one(profile):
    settings.register_profile("tiny", settings.get_profile("ci"), max_examples=2)
    profile("tiny")
    assert tries(5).max_examples == 1


def test_no_test_has_a_number_of_examples_of_its_own():
    capped = {
        str(path.relative_to(HERE))
        for path in HERE.rglob("*.py")
        if re.search(r"settings\([^)]*max_examples", path.read_text())
    }
    assert capped == {"profiles.py"}


def test_draws_do_not_change_when_a_module_with_new_constants_is_imported(profile, tmp_path, monkeypatch):
    profile("ci")
    drawn = []

    @tries(200)
    @given(st.tuples(st.integers(), st.floats(), st.text()))
    def test(values):
        drawn.append(repr(values))

    test()
    before = drawn.copy()
    (tmp_path / "new_constants.py").write_text(f"NUMBERS = {[1000003 + 7 * k for k in range(50)]}\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("new_constants")
    drawn.clear()
    test()
    assert drawn == before
