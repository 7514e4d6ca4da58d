"""The table of algorithms against what is there: kernels, public functions, the handle, the reference engine."""

import inspect

import numpy as np
import pytest
from tests.dynamics.calls import arguments, arrays, call, public_functions, tree_for

import soacraft as sc
from soacraft import _core, analysis
from soacraft import dynamics as dyn
from soacraft.dynamics.reference import ALGORITHMS
from soacraft.dynamics.table import TABLE, VECTORS

COORDINATES = {"integrate", "difference", "integrate_jacobians", "difference_jacobians"}  # of model/states/tangent.py
every_row = pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)


@pytest.fixture(scope="module", autouse=True)
def which_engine():
    """Once is enough."""


def test_public_functions_methods_and_references_are_those_of_the_table():
    of = {module: {row.name for row in TABLE.values() if row.module == module} for module in ("dynamics", "analysis")}
    assert public_functions() == of["dynamics"]
    assert of["analysis"] < set(analysis.__all__)
    methods = {name for name, what in vars(sc.Dynamics).items() if inspect.isfunction(what) and name[0] != "_"}
    assert methods == of["dynamics"]
    assert set(ALGORITHMS) == set(TABLE)


def test_every_kernel_is_in_the_table():
    assert set(_core.algorithms()) - set(TABLE) == COORDINATES
    assert set(_core.algorithms(flexible=True)) - set(TABLE) == COORDINATES


@every_row
def test_arguments_are_those_of_the_function(row):
    function = getattr(dyn if row.module == "dynamics" else analysis, row.name)
    parameters = list(inspect.signature(function).parameters.values())
    by_place = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    assert by_place == ["g", *row.given]
    assert ("passive" in inspect.signature(function).parameters) == row.passive
    assert row.stored == ("f_ext" in row.given)


KERNELS = [
    *((row, _core.algorithms()[row.kernel]) for row in TABLE.values() if row.kernel),
    *((row, _core.algorithms(flexible=True)[row.flexible_kernel]) for row in TABLE.values() if row.flexible_kernel),
]


@pytest.mark.parametrize(("row", "kernel"), KERNELS, ids=lambda x: getattr(x, "name", ""))
def test_the_kernel_has_the_same_inputs_and_outputs(row, kernel):
    assert tuple(x for x in kernel["inputs"] if x != "0") == tuple("q" if x == "q" else "v" for x in row.vectors)
    assert kernel["outputs"] == row.outputs
    parts = set(kernel["parts"])
    assert (parts & {"forces", "forces in own axes"} != set()) == row.stored
    assert ("nodes" in parts, "prescribed" in parts) == ("nodes" in row.given, "prescribed" in row.given)
    assert ("passive" in parts) == (row.passive or row.name.startswith("passive"))
    assert set(row.given) <= {*VECTORS, "f_ext", "nodes", "prescribed", "expressed_in"}


@pytest.mark.parametrize("row", [row for row in TABLE.values() if row.module == "dynamics"], ids=lambda row: row.name)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_results_have_the_shapes_of_the_table(row, batch):
    g = tree_for(row.name, 2)
    given = arguments(g, 1, batch)
    sizes = {"v": g.nv, "n": len(g), "k": len(given["nodes"])}

    def size(axis):
        return int(np.prod([sizes.get(letter) or int(letter) for letter in axis]))

    wanted = [(*batch, *(size(axis) for axis in output.split())) for output in row.outputs]
    assert [x.shape for x in arrays(call(row.name, g, given))] == wanted
