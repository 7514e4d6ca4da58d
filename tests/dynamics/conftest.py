"""Every test here runs twice: on the engine that is chosen for a graph, and on the reference engine alone. Once an
instruction set is chosen, only that is of interest.
"""

import os
from unittest.mock import patch

import pytest

from soacraft.dynamics import engine
from soacraft.dynamics.reference import REFERENCE

ENGINES = ["chosen engine"] if os.environ.get("SOACRAFT_KERNELS") else ["chosen engine", "reference"]


@pytest.fixture(params=ENGINES, scope="module", autouse=True)
def which_engine(request):
    """The engine the functions use."""
    if request.param == "reference":
        with patch.object(engine, "engine_of", lambda graph: REFERENCE):
            yield request.param
    else:
        yield request.param
