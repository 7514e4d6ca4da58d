"""A fixture for tests that run twice: on the engine that is chosen for a graph, and on the reference engine alone."""

from unittest.mock import patch

import pytest

from soacraft.dynamics import engine
from soacraft.dynamics.reference import REFERENCE


@pytest.fixture(params=["chosen engine", "reference"], scope="module")
def both_engines(request):
    """The engine the functions use."""
    if request.param == "reference":
        with patch.object(engine, "engine_of", lambda graph: REFERENCE):
            yield request.param
    else:
        yield request.param
