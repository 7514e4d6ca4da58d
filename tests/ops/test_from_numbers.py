"""Operators and stacked vectors made of the user's own numbers, on every kind of model they can belong to."""

import re

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree
from tests.strategies import as_functions

import soacraft as sc
from soacraft.errors import ModelError, SingularError, SpaceError, StaleError
from soacraft.loops import ConstraintEmbedding
from soacraft.ops.check import read_back
from soacraft.ops.table import NAMES

I = sc.I


def symmetric(rng, d):
    a = rng.standard_normal((d, d))
    return a @ a.T + (a @ a.T).T


def rigid(axes="body"):
    mb = sc.load("hinges")
    mb.set_state(*mb.random_state(1))
    return sc.operators(mb, axes=axes)


def part():
    mb = sc.load("biped")
    mb.set_state(*mb.random_state(2))
    return sc.operators(mb.subgraph(["left_thigh", "left_shank", "left_foot"]))


def embedded():
    return sc.operators(ConstraintEmbedding(sc.load("robotiq_2f85")))


PLACES = {
    "rigid": rigid,
    "inertial axes": lambda: rigid("inertial"),
    "sub-graph": part,
    "flexible tree": lambda: sc.operators(flexible_tree((-1, 0, 0, 1), 3)),
    "SKO model": lambda: sc.operators(sc.random_sko(5, seed=3)),
    "SKO model of functions": lambda: sc.operators(as_functions(sc.random_sko(5, seed=3), 1)),
    "embedded": embedded,
}


@pytest.fixture(params=PLACES)
def s(request):
    return PLACES[request.param]()


def weights(s, name="W"):
    rng = np.random.default_rng(5)
    return s.block_diagonal(name, {k: symmetric(rng, d) for k, d in enumerate(s.body.dims)}, space="body")


# -- they take part in everything ------------------------------------------------------------------------------------


def test_products_inverses_text_and_tags(s):
    W, x = weights(s), np.random.default_rng(0).standard_normal(s.body.size)
    dense = np.zeros((s.body.size, s.body.size))
    for k in range(len(s.body)):
        dense[s.body.block(k), s.body.block(k)] = W[k, k]
    np.testing.assert_allclose(np.asarray(W * x), dense @ x, rtol=1e-12)
    assert W.tags == {"symmetric", "block_diagonal", "positive_definite"}
    mass = s.H * s.phi * W * s.phi.T * s.H.T
    for expr in (W, W.T, W.inv, s.phi * W, W * s.phi.T + 2 * W, mass, mass.inv, s.E_phi.lyapunov(W), W.sqrt(), W**2):
        report = sc.check_operator(expr)
        assert report, report
    assert (mass * mass.inv).is_identity()
    assert mass.explain().array.kind == "recursion"  # structure is used for weights of the user's own
    assert W.explain().product[0].why == "given numbers"


def test_constants_have_no_derivative(s):
    if s.body.owner is s.sko:
        with pytest.raises(ModelError, match="has no hinges to move along"):
            weights(s).dot()
        return
    W = weights(s)
    D = sc.matrix(s.D, np.random.default_rng(1).standard_normal((s.hinge.size, s.hinge.size)), "Q")
    for expr in (W, W.inv, W.T * W, D, D.inv, W.sqrt(), W.cholesky()):
        assert not expr.dot().array().any()


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_derivatives_of_what_is_made_with_them(axes):
    """Against central differences; in other than body axes the numbers stay and the axes turn."""
    mb = sc.random_tree(5, seed=4)
    mb.set_state(*mb.random_state(1))
    s = sc.operators(mb, axes=axes)
    W = weights(s)
    expr = s.H * s.phi * W * s.phi.T * s.H.T
    body = mb.bodies[2]
    e = np.zeros(mb.nv)
    e[mb.v_slice(body).start] = 1e-5
    ahead, behind = (expr.at(q=mb.integrate(mb.q, step)).array() for step in (e, -e))
    found = expr.diff(body)
    np.testing.assert_allclose(found.array(), (ahead - behind) / 2e-5, atol=1e-7 * np.abs(expr.array()).max())
    assert sc.check_operator(found)  # also where W(body) of the papers is next to W


def test_batches_and_snapshots():
    mb = sc.load("arm7")
    s = sc.operators(mb)
    W = weights(s)
    expr = s.H * s.phi * W * s.phi.T * s.H.T
    q = np.random.default_rng(2).standard_normal((3, 7))
    many = expr.at(q=q).array()
    for one, row in zip(many, q, strict=True):
        np.testing.assert_allclose(one, expr.at(q=row).array(), rtol=1e-12, atol=1e-12)
    assert expr.at(q=q).norm().shape == (3,)
    np.testing.assert_allclose(expr.at(q=q).norm(), np.linalg.norm(many, axis=(1, 2)))
    np.testing.assert_allclose(expr.compile()(q), many, rtol=1e-12, atol=1e-12)


def test_prove_and_simplify_take_them_as_symbols():
    s = sc.operators(sc.load("arm7"))
    W, N = weights(s), weights(s, "N")
    assert (W * W.inv * s.phi).simplify().text() == "phi"
    assert sc.prove(s.phi * (W + N) * s.phi.T, s.phi * N * s.phi.T + s.phi * W * s.phi.T)
    assert sc.prove(W.T, W)
    assert not sc.prove(W * s.phi, s.phi * W)
    assert not sc.verify(W * s.phi, s.phi * W)
    assert sc.verify(W, N)  # the same numbers
    unsymmetric = s.block_diagonal("U", {"link1": np.triu(np.ones((6, 6)))})
    assert not sc.prove(unsymmetric.T, unsymmetric)


def test_equal_names_of_different_numbers_are_told_apart():
    s = sc.operators(sc.load("arm7"))
    one, two = (s.diagonal("g", np.full(7, x)) for x in (1.0, 2.0))
    assert one.key() != two.key()
    assert one.key() == s.diagonal("g", np.ones(7)).key()
    assert not sc.prove(one, two)
    assert (one + two - two).simplify() is not two


def test_text_reads_back_and_latex():
    s = sc.operators(sc.load("arm7"))
    gains = s.diagonal("my_gains", np.arange(1.0, 8.0))
    expr = (I + s.H * s.phi * s.K) * gains * s.H
    assert expr.text() == "(I + H*phi*K) * my_gains * H"
    assert read_back(expr.text(), s, {"my_gains": gains}).key() == expr.key()
    assert gains.latex() == r"\mathrm{my\_gains}"
    assert sc.matrix(s.D, np.eye(7), "Q").inv.latex() == "Q^{-1}"


def test_numbers_given_are_copied():
    s = sc.operators(sc.load("arm7"))
    block, values = np.eye(6), np.ones(7)
    W, g, Q = s.block_diagonal("W", {"link1": block}), s.diagonal("g", values), sc.matrix(s.M, np.ones((42, 42)), "Q")
    block[:], values[:] = 7.0, 7.0
    assert W["link1", "link1"][0, 1] == 0.0
    assert g["link1", "link1"] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        Q.matrix[0, 0] = 2.0


# -- which spaces ----------------------------------------------------------------------------------------------------


def test_the_sizes_of_blocks_tell_the_spaces():
    mb = sc.load("arm7")
    s = sc.operators(mb)
    for shape, spaces in (((6, 6), "body[42] <- body[42]"), ((1, 1), "hinge[7] <- hinge[7]"),
                          ((6, 1), "body[42] <- hinge[7]"), ((1, 6), "hinge[7] <- body[42]")):  # fmt: skip
        found = s.block_diagonal("W", {mb["link2"]: np.ones(shape)})
        assert repr(found) == f"W : {spaces}"
        assert found.array().sum() == np.prod(shape)  # bodies that are not named have zero blocks
    assert s.block_diagonal("W", {"link2": 4.0})["link2", "link2"] == 4.0
    nodes = s.B(["link7", "link3"])
    at_nodes = s.block_diagonal("S", {"link3": np.eye(6)}, space=nodes.T * nodes)
    assert sc.check_operator(nodes * at_nodes * nodes.T)
    assert s.block_diagonal("S", {"link3": np.eye(6)}, space=nodes.cols).key() == at_nodes.key()


def test_values_by_dof_and_by_body():
    mb = sc.load("hinges")
    s = sc.operators(mb)
    body = next(body for body in mb.bodies if body.hinge.nv == 2)
    one, two = mb.dof_names[mb.v_slice(body)]
    by_dof, by_body = s.diagonal("g", {one: 3.0, two: 4.0}), s.diagonal("g", {body: [3.0, 4.0]})
    assert by_dof.key() == by_body.key()
    assert by_dof.trace() == 7.0
    assert s.diagonal("g", 2.0, space="body").trace() == 2.0 * s.body.size
    assert s.vector("hinge", {one: 3.0, two: 4.0})[body].tolist() == [3.0, 4.0]


def test_bodies_by_the_names_of_their_hinges():
    mb = sc.load("panda")
    s = sc.operators(mb, ignore_loops=True)
    body = next(body for body in mb.bodies if body.hinge_name != body.name and body.hinge.nv)
    by_hinge, by_body = (s.block_diagonal("W", {key: np.eye(s.body.dims[s.body.index(body)])}, space="body")
                         for key in (body.hinge_name, body))  # fmt: skip
    assert by_hinge.key() == by_body.key()
    assert s.vector("hinge", {body.hinge_name: 1.0})[body] == 1.0


def test_independent_dofs_of_an_embedded_system_by_name():
    s = embedded()
    dofs = s.binding.owner.dofs
    values = dict(zip(dofs, np.arange(1.0, len(dofs) + 1), strict=True))
    assert np.diag(s.diagonal("g", values).array()).tolist() == list(values.values())


def test_a_kernel_of_ones_own_has_its_propagator():
    """(I - E)^-1 is the sum of the powers of E: one gather."""
    mb = sc.random_tree(6, seed=9)
    s = sc.operators(mb)
    rng = np.random.default_rng(0)
    dims = dict(zip(s.body.labels, s.body.dims, strict=True))
    outer = [body for body in mb.bodies if body.parent in mb.bodies]
    E = s.sparse("E", {(b.parent, b): rng.standard_normal((dims[b.parent.name], dims[b.name])) for b in outer})
    assert len(outer) > 2
    assert E.pattern() == frozenset("u")
    powers = sum(np.linalg.matrix_power(E.array(), k) for k in range(1, 6)) + np.eye(s.body.size)
    np.testing.assert_allclose((I - E).inv.array(), powers, atol=1e-12 * np.abs(powers).max())
    Y = E.lyapunov(s.M)
    assert (Y - E * Y * E.T - s.M).is_zero()
    assert sc.check_operator((I - E).inv)
    anywhere = s.sparse("Z", {(0, 0): np.eye(s.body.dims[0]), (5, 0): np.ones((s.body.dims[5], s.body.dims[0]))})
    assert sc.check_operator(anywhere * s.phi + E)


def test_a_dense_matrix():
    mb = sc.load("arm7")
    s = sc.operators(mb)
    X = np.random.default_rng(4).standard_normal((7, 42))
    A = sc.matrix(s.H, X)
    assert repr(A) == "A : hinge[7] <- body[42]"
    np.testing.assert_array_equal(A.array(), X)
    for expr in (A, A.T, A * s.phi * s.H.T, (A * A.T).T):
        assert sc.check_operator(expr)
    assert [step.cost for step in A.explain().product] == ["O(N^2)"]
    assert int(A.cost()) == 49
    square = sc.matrix(s.D, X[:, :7], "Q")
    np.testing.assert_allclose(square.inv.array() @ X[:, :7], np.eye(7), atol=1e-12)
    np.testing.assert_allclose(np.asarray(square.inv * X[:, 8]), np.linalg.solve(X[:, :7], X[:, 8]))
    assert (s.D * square.inv.T).explain().product[0].kind == "dense"
    with pytest.raises(SingularError, match="Z is singular"):
        sc.matrix(s.D, np.zeros((7, 7)), "Z").inv * np.ones(7)


def test_what_is_rounding_in_products_with_a_matrix_is_zero():
    """A projector along the rows of a Jacobian: both products vanish, in numbers up to rounding."""
    mb = sc.load("arm7")
    mb.set_state(*mb.random_state(1))
    s = sc.operators(mb)
    J = s.B("link7").T * s.phi.T * s.H.T
    dense = J.array()
    N = sc.matrix(s.D, np.eye(7) - np.linalg.pinv(dense) @ dense, "N")
    for gone in (N * J.T, J * N, N * N - N):
        assert gone.is_zero(), gone
    assert not N.is_zero()
    assert not (N * s.D).is_zero()


def test_they_are_made_again_from_what_they_are_made_of():
    s = sc.operators(sc.load("arm7"))
    for made in (weights(s), s.diagonal("g", {"link1": 2.0}), sc.matrix(s.H, np.ones((7, 42)))):
        kind, args = made.__reduce__()
        assert kind(*args).key() == made.key()
        np.testing.assert_array_equal(kind(*args).array(), made.array())


def test_a_structural_change_makes_them_stale():
    mb = sc.serial_chain(3)
    s = sc.operators(mb)
    made = [weights(s), s.diagonal("g", np.ones(3)), sc.matrix(s.M, np.eye(18))]
    mb.remove("link3")
    for expr in made:
        for use in (lambda x: x * np.ones(x.shape[1]), lambda x: x.array(), lambda x: x["link1", "link1"]):
            with pytest.raises(StaleError, match="structural change"):
                use(expr)


# -- refusals --------------------------------------------------------------------------------------------------------

EYE = np.eye(6)
REFUSED = {
    "no such body": (SpaceError, "no body or hinge 'linkx'", lambda s: s.block_diagonal("W", {"linkx": EYE})),
    "shape": (
        ModelError,
        "W: the block of 'link3' has shape (5, 5), but (6, 6) for body <- body",
        lambda s: s.block_diagonal("W", {"link3": np.eye(5)}),
    ),
    "mixed shapes": (
        ModelError,
        "W: the block of 'link4' has shape (1, 1), but (6, 6) for body <- body",
        lambda s: s.block_diagonal("W", {"link3": EYE, "link4": 1.0}),
    ),
    "shape for a space": (
        ModelError,
        "W: the block of 'link3' has shape (6, 6), but (1, 1) is wanted (hinge <- hinge).",
        lambda s: s.block_diagonal("W", {"link3": EYE}, space="hinge"),
    ),
    "a batch": (
        ModelError,
        "W: the block of 'link3' has shape (2, 6, 6), but a block has rows and columns, and the same numbers",
        lambda s: s.block_diagonal("W", {"link3": np.ones((2, 6, 6))}),
    ),
    "nothing": (ModelError, "give space='body' or 'hinge'", lambda s: s.block_diagonal("W", {})),
    "twice": (
        ModelError,
        "W: the block of 'link3' is given twice.",
        lambda s: s.block_diagonal("W", {"link3": EYE, 2: EYE}),
    ),
    "not finite": (
        ModelError,
        "W: the block of 'link3' has an entry that is not finite.",
        lambda s: s.block_diagonal("W", {"link3": np.full((6, 6), np.inf)}),
    ),
    "words": (
        ModelError,
        "W: the block of 'link3' cannot be read as numbers",
        lambda s: s.block_diagonal("W", {"link3": "stiff"}),
    ),
    "no dictionary": (
        ModelError,
        "W: blocks are given as {body: block}, not as ndarray.",
        lambda s: s.block_diagonal("W", EYE),
    ),
    "a letter of the papers": (
        ModelError,
        "K is an operator or vector of the papers; choose another name.",
        lambda s: s.diagonal("K", np.ones(7)),
    ),
    "no name": (ModelError, "an operator cannot be called 'a b'", lambda s: sc.matrix(s.D, np.eye(7), "a b")),
    "number of values": (
        ModelError,
        "g: 5 values, but the hinge space wants 7 and the body space 42.",
        lambda s: s.diagonal("g", np.ones(5)),
    ),
    "one number": (ModelError, "give space='hinge' or space='body'", lambda s: s.diagonal("g", 2.0)),
    "two values for a dof": (
        ModelError,
        "g: the part of 'link1' has shape (2,), but (1,) is wanted (hinge).",
        lambda s: s.diagonal("g", {"link1": [1.0, 2.0]}),
    ),
    "an entry twice": (
        ModelError,
        "g: 0 and 'link1' give the same entry.",
        lambda s: s.diagonal("g", {"link1": 1.0, 0: 2.0}),
    ),
    "a batch of values": (
        ModelError,
        "g: the values have shape (2, 7), but (7,) is wanted",
        lambda s: s.diagonal("g", np.ones((2, 7))),
    ),
    "shape of a matrix": (
        ModelError,
        "A: the matrix has shape (6, 6), but (7, 7) is wanted, as D maps hinge[7] <- hinge[7].",
        lambda s: sc.matrix(s.D, EYE),
    ),
    "a space": (SpaceError, "matrix takes an operator", lambda s: sc.matrix(s.hinge, np.eye(7))),
    "an identity": (SpaceError, "made of identities alone", lambda s: sc.matrix(I, np.eye(7))),
    "no space": (SpaceError, "there is no space 'bodies'", lambda s: s.vector("bodies", {})),
    "space of another": (
        SpaceError,
        "body[6] belongs to 'chain', not to 'arm7'.",
        lambda s: s.vector(sc.operators(sc.serial_chain(1)).body, np.ones(6)),
    ),
    "three spaces": (
        SpaceError,
        "space='body <- body <- body'",
        lambda s: s.block_diagonal("W", {"link1": EYE}, space="body <- body <- body"),
    ),
    "no pair": (ModelError, "given by (row, column), not by 'link1'", lambda s: s.sparse("E", {"link1": EYE})),
    "another model": (
        SpaceError,
        "W has numbers for 'arm7': it has no meaning on 'biped'",
        lambda s: sc.verify(weights(s), s.M, on=sc.load("biped")),
    ),
    "other axes": (
        SpaceError,
        "it has no meaning on 'arm7' in inertial axes. Bind both with the same axes=...",
        lambda s: sc.verify(weights(s), weights(s), on=sc.operators(s.binding.graph, axes="inertial")),
    ),
    "not a function": (SpaceError, "g is an operator, not a function", lambda s: s.diagonal("g", np.ones(7))("link1")),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what):
    kind, text, attempt = REFUSED[what]
    with pytest.raises(kind, match=re.escape(text)):
        attempt(sc.operators(sc.load("arm7")))


@pytest.mark.parametrize("name", [*NAMES, "I", "B", "v", "alpha", "coriolis", "diag_of"])
def test_no_built_in_name_is_given_another_meaning(name):
    with pytest.raises(ModelError, match=f"{name} is an operator or vector of the papers"):
        sc.operators(sc.serial_chain(1)).diagonal(name, [1.0])


def test_a_name_that_was_defined_is_not_given_again():
    s = sc.operators(sc.load("arm7"))
    L = sc.define("L", I - s.H * s.psi * s.K)
    with pytest.raises(ModelError, match=re.escape(f"L is already defined as {L.meaning.text()}")):
        s.diagonal("L", np.ones(7))
    del L
    assert s.diagonal("L", np.ones(7)).is_identity()


# -- vectors ---------------------------------------------------------------------------------------------------------


def test_vectors_from_dictionaries(s):
    rng = np.random.default_rng(3)
    parts = {label: rng.standard_normal(d) for label, d in zip(s.body.labels, s.body.dims, strict=True)}
    some = dict(list(parts.items())[::2])
    found = s.vector("body", some)
    for label in s.body.labels:
        np.testing.assert_array_equal(found[label], some.get(label, 0.0 * parts[label]))
    many = s.vector("body", {0: rng.standard_normal((4, s.body.dims[0]))})
    assert many.shape == (4, s.body.size)
    with pytest.raises(ModelError, match="leading"):
        s.vector("body", {0: np.ones((4, s.body.dims[0])), 1: np.ones((3, s.body.dims[1]))})
