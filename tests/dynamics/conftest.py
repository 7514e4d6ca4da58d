"""Every test here runs twice: on the engine that is chosen for a graph, and on the reference engine alone. Once an
instruction set is chosen, only that is of interest.
"""

import os

import pytest
from tests.dynamics.calls import reference_alone

ENGINES = ["chosen engine"] if os.environ.get("SOACRAFT_KERNELS") else ["chosen engine", "reference"]


@pytest.fixture(params=ENGINES, scope="module", autouse=True)
def which_engine(request):
    """The engine the functions use."""
    if request.param == "reference":
        with reference_alone():
            yield request.param
    else:
        yield request.param
