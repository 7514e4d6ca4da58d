"""A fixture for tests that run twice: on the engine that is chosen for a graph, and on the reference engine alone."""

import pytest
from tests.dynamics.calls import reference_alone


@pytest.fixture(params=["chosen engine", "reference"], scope="module")
def both_engines(request):
    """The engine the functions use."""
    if request.param == "reference":
        with reference_alone():
            yield request.param
    else:
        yield request.param
