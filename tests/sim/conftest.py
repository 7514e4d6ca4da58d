"""Classes that a test registers are known in that test alone."""

import pytest

from soacraft.sim.components import registry


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The registered classes of one test, none at its beginning; what was registered before comes back after it."""
    known = {}
    monkeypatch.setattr(registry, "_REGISTERED", known)
    return known
