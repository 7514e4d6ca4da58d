"""Typed spaces: what meets, what does not and what the message says."""

import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra.spaces.space import columns, fits, real
from soacraft.errors import SpaceError, StaleError, StateError

I = sc.I


def refused(text, attempt, kind=SpaceError):
    with pytest.raises(kind, match=f"^{re.escape(text)}$"):
        attempt()


@pytest.fixture(scope="module")
def mb():
    """Three bodies, eight dofs."""
    mb = sc.Multibody("arm")
    one = sc.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.15]))
    for name, parent, hinge in (
        ("base", None, sc.Free()),
        ("upper", "base", sc.Pin((0, 0, 1))),
        ("lower", "upper", sc.Pin((0, 1, 0))),
    ):
        mb.add_body(name, parent, hinge, one, sc.Pose(translation=(0.3, 0, 0))).add_node("tool")
    return mb


@pytest.fixture(scope="module")
def s(mb):
    return sc.operators(mb)


# -- products -----------------------------------------------------------------------------------------------------


def test_the_example_of_the_style_guide(s):
    refused(
        "cannot form H * D: H takes a vector of body[18], but D gives a vector of hinge[8]. Did you mean H.T * D?",
        lambda: s.H * s.D,
    )


def test_products_that_do_not_meet(s):
    refused(
        "cannot form D * G: D takes a vector of hinge[8], but G gives a vector of body[18]. Did you mean D * G.T?",
        lambda: s.D * s.G,
    )
    refused(
        "cannot form phi * D: phi takes a vector of body[18], but D gives a vector of hinge[8].", lambda: s.phi * s.D
    )
    refused(
        "cannot form (H + H) * D: (H + H) takes a vector of body[18], but D gives a vector of hinge[8]. "
        "Did you mean (H + H).T * D?",
        lambda: (s.H + s.H) * s.D,
    )
    refused(
        "cannot form H*phi * H*phi: H*phi takes a vector of body[18], but H*phi gives a vector of hinge[8]. "
        "Did you mean (H*phi).T * H*phi?",
        lambda: (s.H * s.phi) * (s.H * s.phi),
    )


def test_at_means_the_same_as_star(s):
    assert (s.H @ s.phi).text() == (s.H * s.phi).text()
    with pytest.raises(SpaceError, match=r"Did you mean H\.T"):
        s.H @ s.D
    np.testing.assert_array_equal(s.H @ np.ones(18), s.H * np.ones(18))


def test_nodes_are_a_space_of_their_own(s):
    B = s.B(["lower/tool", "upper/tool"])
    assert repr(B.T * s.phi.T * s.H.T) == "B(['lower/tool', 'upper/tool']).T * phi.T * H.T : node[12] <- hinge[8]"
    with pytest.raises(SpaceError, match=re.escape("cannot form phi * B(['lower/tool', 'upper/tool']).T: phi takes")):
        s.phi * B.T
    other = s.B(["upper/tool", "lower/tool"])
    with pytest.raises(SpaceError, match=re.escape("takes a vector of node[12], but")):
        B * other.T


# -- sums ---------------------------------------------------------------------------------------------------------


def test_sums_that_do_not_meet(s):
    refused(
        "cannot form H + G: the first maps hinge[8] <- body[18], the second body[18] <- hinge[8]. Did you mean G.T?",
        lambda: s.H + s.G,
    )
    refused(
        "cannot form H - phi: the first maps hinge[8] <- body[18], the second body[18] <- body[18].",
        lambda: s.H - s.phi,
    )


@pytest.mark.parametrize(
    ("other", "name"),
    [
        (1, "int"),
        (2.5, "float"),
        (np.eye(18), "ndarray"),
        (None, "NoneType"),
        ("x", "str"),
        ([1.0], "list"),
        (1j, "complex"),
    ],
)
def test_an_operator_adds_to_operators_only(s, other, name):
    text = (
        f"{name}: an operator adds to operators only; for a multiple of the identity write c*I, "
        "for numbers use .array()."
    )
    refused(f"cannot form phi + {text}", lambda: s.phi + other)
    refused(f"cannot form phi - {text}", lambda: s.phi - other)
    refused(f"cannot form phi + {text}", lambda: other + s.phi)
    refused(f"cannot form -phi + {text}", lambda: other - s.phi)


def test_zero_is_the_start_of_a_sum(s):
    assert sum([s.phi, s.M]).text() == "phi + M"
    assert (s.phi + 0) is s.phi
    assert (0 - s.phi).text() == "-phi"


# -- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "shown"),
    [
        (float("nan"), "nan; a finite number is wanted."),
        (float("inf"), "inf; a finite number is wanted."),
        (-np.float64("inf"), "-inf; a finite number is wanted."),
        (10**400, "inf; a finite number is wanted."),
        (1j, "1j; a real number is wanted."),
        (True, "True; a real number is wanted."),
        (None, "None; a real number is wanted."),
        ("2", "'2'; a real number is wanted."),
        (np.array(float("nan")), "nan; a finite number is wanted."),
    ],
)
def test_factors_that_are_no_numbers(s, factor, shown):
    refused(f"an operator cannot be multiplied by {shown}", lambda: s.phi * factor)
    refused(f"an operator cannot be multiplied by {shown}", lambda: factor * s.phi)


def test_division(s):
    refused("phi cannot be divided by zero.", lambda: s.phi / 0)
    refused("an operator cannot be multiplied by nan; a finite number is wanted.", lambda: s.phi / float("nan"))
    refused("an operator cannot be multiplied by inf; a finite number is wanted.", lambda: s.phi / 5e-324)
    np.testing.assert_array_equal((s.phi / 4).array(), s.phi.array() / 4)


@pytest.mark.parametrize("factor", [3, 2.5, np.int64(3), np.float32(0.5), np.array(2.0), 10**30, -1, 0])
def test_factors_that_are_numbers(s, factor):
    for expr in (factor * s.M, s.M * factor, s.M @ factor):
        np.testing.assert_allclose(expr.array(), float(factor) * s.M.array())
        assert sc.check_operator(expr).ok


@pytest.mark.parametrize("n", [-1, 0.5, True, None, "2"])
def test_powers_are_whole(s, n):
    refused(f"phi ** {n!r}: a power is a whole number, zero or more; .inv is the inverse.", lambda: s.phi**n)


def test_powers_and_inverses_of_what_is_not_square(s):
    refused("cannot form H**2: H is not square, it maps hinge[8] <- body[18].", lambda: s.H**2)
    refused("cannot form H.inv: H is not square, it maps hinge[8] <- body[18].", lambda: s.H.inv)
    refused("cannot form (H*phi).inv: H*phi is not square, it maps hinge[8] <- body[18].", lambda: (s.H * s.phi).inv)
    refused("H has no trace, it maps hinge[8] <- body[18].", lambda: s.H.trace())
    refused("H has no block diagonal, it maps hinge[8] <- body[18].", lambda: sc.diag_of(s.H))
    refused("diag_of takes an operator, not 3.", lambda: sc.diag_of(3))


# -- arrays and vectors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [np.ones(18), [1.0] * 18, np.ones((2, 18))])
def test_an_array_on_the_left_is_refused(s, row):
    refused("an array is left of phi; for a row vector write (phi).T * x.", lambda: row * s.phi)
    if isinstance(row, np.ndarray):
        refused("an array is left of phi; for a row vector write (phi).T * x.", lambda: row @ s.phi)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (np.ones(17), "x has shape (17,), but a vector of body[18] is wanted: shape (18,), or (18, m) for m of them."),
        (
            np.ones((4, 18)),
            "x has shape (4, 18), but a vector of body[18] is wanted: shape (18,), or (18, m) for m of them. "
            "Vectors in rows become columns by x.T.",
        ),
        (
            np.ones((2, 18, 3)),
            "x has shape (2, 18, 3), but a vector of body[18] is wanted: shape (18,), or (18, m) for m of them.",
        ),
        (np.ones(18) * 1j, "x cannot be read as a vector of body[18]: dtype complex128."),
        (np.ones(18, dtype=bool), "x cannot be read as a vector of body[18]: dtype bool."),
        (["a"] * 18, "x cannot be read as a vector of body[18]: dtype <U1."),
        ([None] * 18, "x cannot be read as a vector of body[18]: dtype object."),
    ],
)
def test_vectors_that_do_not_fit(s, x, text):
    refused(text, lambda: s.phi * x)


def test_ragged_rows_are_refused(s):
    with pytest.raises(SpaceError, match=re.escape("x cannot be read as a vector of body[18]: ")):
        s.phi * [[1.0], [2.0, 3.0]]


def test_whole_numbers_and_lists_are_vectors(s):
    expected = np.asarray(s.phi * np.arange(18.0))
    np.testing.assert_array_equal(s.phi * np.arange(18), expected)
    np.testing.assert_array_equal(s.phi * list(range(18)), expected)
    np.testing.assert_array_equal(s.phi * np.arange(18, dtype=np.float32), expected)


def test_a_square_array_is_a_block_of_columns(s):
    X = np.random.default_rng(0).standard_normal((18, 18))
    np.testing.assert_allclose(s.phi * X, s.phi.array() @ X)
    assert (s.phi * np.ones((18, 0))).shape == (18, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_vector_with_a_bad_number_is_refused(s, bad):
    x = np.zeros(18)
    x[13] = bad
    for A in (s.phi, s.phi.T, s.M, s.phi * s.M):
        with pytest.raises(StateError, match=rf"x, for a vector of body\[18\], must be finite: entry 13 is {bad}\."):
            A * x
    with pytest.raises(StateError, match=r"must be finite: entry \(13, 0\) is"):
        s.phi * x[:, None]
    with pytest.raises(StateError, match=r"the other one, .* must be finite: entry 13"):
        s.V + x


def test_a_vector_of_another_space(s):
    refused(
        "cannot form phi * x: it takes a vector of body[18], but x is a vector of hinge[8].",
        lambda: s.phi * s.v,
    )


# -- sub-graphs, models, axes -------------------------------------------------------------------------------------


def test_sub_graphs_do_not_mix(mb, s):
    part = sc.operators(mb.subgraph(["upper", "lower"]))
    text = (
        " Operators of different models or sub-graphs cannot be mixed; bind both to the same one, or put a map between "
        "them: sc.ops.between(a, b)."
    )
    refused(
        "cannot form H * phi: H takes a vector of body[18] of 'arm', but phi gives a vector of body[12] of "
        "'arm[upper, lower]'." + text,
        lambda: s.H * part.phi,
    )
    refused(
        "cannot form M + M: the first maps body[18] of 'arm' <- body[18] of 'arm', the second body[12] of "
        "'arm[upper, lower]' <- body[12] of 'arm[upper, lower]'." + text,
        lambda: s.M + part.M,
    )
    refused(
        "cannot form phi * x: it takes a vector of body[18] of 'arm', but x is a vector of body[12] of "
        "'arm[upper, lower]'." + text,
        lambda: s.phi * part.V,
    )
    refused("cannot add vectors of body[18] of 'arm' and body[12] of 'arm[upper, lower]'." + text, lambda: s.V + part.V)


def test_models_do_not_mix(s, mb):
    twin = sc.operators(mb.copy())
    with pytest.raises(SpaceError, match="Operators of different models or sub-graphs cannot be mixed"):
        s.H * twin.phi
    one, two = (sc.operators(sc.random_sko(3, seed=seed, min_dim=2, max_dim=2)) for seed in (0, 0))
    with pytest.raises(SpaceError, match="Operators of different models or sub-graphs cannot be mixed"):
        one.phi * two.phi


def test_equal_sub_graphs_mix(mb):
    """Two views of the same bodies are one space; all bodies are the model."""
    one, two = (sc.operators(mb.subgraph(["lower", "upper"])) for _ in range(2))
    assert (one.H * two.phi).shape == (2, 12)
    assert (sc.operators(mb).H * sc.operators(mb.subgraph(["base", "upper", "lower"])).phi).shape == (8, 18)


def test_axes_do_not_mix(mb, s):
    other = sc.operators(mb, axes="inertial")
    refused(
        "cannot form H * phi: H takes a vector of body[18] in body axes, but phi gives a vector of body[18] "
        "in inertial axes. Bind both with the same axes=..., or put a map between them: sc.ops.between(a, b).",
        lambda: s.H * other.phi,
    )
    refused(
        "cannot add vectors of body[18] in inertial axes and body[18] in body axes. Bind both with the same axes=..., "
        "or put a map between them: sc.ops.between(a, b).",
        lambda: other.V + s.V,
    )
    tool = other.B("lower/tool")
    with pytest.raises(SpaceError, match="Bind both with the same axes"):
        s.phi * tool


def test_hinge_space_has_no_axes(mb, s):
    """Generalized forces are the same in all axes: mass matrices may be compared."""
    other = sc.operators(mb, axes="origin")
    difference = s.H * s.phi * s.M * s.phi.T * s.H.T - other.H * other.phi * other.M * other.phi.T * other.H.T
    assert difference.is_zero()


def test_two_bindings_of_one_model_mix(mb, s):
    again = sc.operators(mb)
    assert (s.H * again.phi - again.H * s.phi).is_zero()


def test_stale_operators_say_so(mb):
    mb = mb.copy()
    old = sc.operators(mb)
    H, phi, mass_matrix = old.H, old.phi, old.H * old.phi * old.M * old.phi.T * old.H.T
    mb.add_body("hand", "lower", sc.Pin((1, 0, 0)), sc.Inertia.sphere(1.0, 0.1))
    text = (
        "this expression of 'arm' was made before a structural change of the model; "
        "make its operators again with sc.operators(...)."
    )
    new = sc.operators(mb)
    x = np.ones(8)
    for attempt in (
        lambda: mass_matrix * x,
        lambda: mass_matrix.array(),
        lambda: mass_matrix[0, 0],
        lambda: mass_matrix.inv * x,
        lambda: mass_matrix.is_zero(),
        lambda: old.D.inv * x,
        lambda: H * new.phi,
        lambda: new.H * phi,
        lambda: H + new.H,
        lambda: old.V,
        lambda: old.T,
        lambda: mass_matrix.at(q=mb.q),
        lambda: mass_matrix.trace(),
        lambda: mass_matrix.by_branch(),
    ):
        refused(text, attempt, StaleError)
    assert mass_matrix.text() == "H*phi*M*phi.T*H.T"  # looking computes nothing
    assert "gather" in repr(mass_matrix.explain())


@pytest.mark.parametrize(
    "change",
    [
        lambda mb: mb.remove("lower"),
        lambda mb: mb.reattach("lower", "base", sc.Pin((1, 0, 0))),
    ],
)
def test_every_structural_change_makes_expressions_stale(mb, change):
    mb = mb.copy()
    live, snapshot = sc.operators(mb), sc.operators(mb.state())
    part = sc.operators(mb.subgraph(["base", "upper"]))
    warm = [s.H * s.phi * s.B("upper/tool") for s in (live, snapshot, part)]
    for expr in warm:
        expr.array()
    change(mb)
    for expr in warm:
        with pytest.raises(StaleError, match="was made before a structural change of the model"):
            expr.array()


@pytest.mark.parametrize(
    "change",
    [
        lambda mb: setattr(mb, "gravity", (0, 0, -1.6)),
        lambda mb: setattr(mb["lower"], "inertia", sc.Inertia.sphere(2.0, 0.1)),
        lambda mb: setattr(mb["lower"], "inboard", sc.Pose(translation=(1, 0, 0))),
        lambda mb: setattr(mb["lower/tool"], "pose", sc.Pose(translation=(1, 2, 3))),
    ],
)
@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_expressions_follow_the_parameters(mb, change, axes):
    mb = mb.copy()
    live, snapshot = sc.operators(mb, axes=axes), sc.operators(mb.state(), axes=axes)
    forms = [
        lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T,
        lambda s: s.B("lower/tool").T * s.Omega * s.B("lower/tool"),
        lambda s: s.H * s.psi * s.K,
    ]
    warm = [form(s) for s in (live, snapshot) for form in forms]
    functions = [expr.compile() for expr in warm[:3]]
    q = np.array(mb.q)
    for expr in warm:
        expr.array(), expr * np.ones(expr.shape[1])
    for f, expr in zip(functions, warm, strict=False):
        f(q, None, np.ones(expr.shape[1]))
    change(mb)
    new = sc.operators(mb.copy(), axes=axes)
    for k, expr in enumerate(warm):
        x, wanted = np.ones(expr.shape[1]), forms[k % 3](new).array()
        for _ in range(2):  # what brings the parameters, and the quick call after it
            np.testing.assert_allclose(np.asarray(expr * x), wanted @ x, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(expr.array(), wanted, rtol=1e-11, atol=1e-11)
        if k < 3:
            for _ in range(2):
                np.testing.assert_allclose(functions[k](q, None, x), wanted @ x, rtol=1e-11, atol=1e-11)


def test_adding_a_node_leaves_expressions_alone(mb):
    mb = mb.copy()
    s = sc.operators(mb)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    before = mass_matrix.array()
    mb["lower"].add_node("new", sc.Pose(translation=(1, 2, 3)))
    np.testing.assert_array_equal(mass_matrix.array(), before)
    assert s.B("lower/new").shape == (18, 6)


# -- the identity -------------------------------------------------------------------------------------------------


def test_I_takes_its_space_from_its_neighbour(s):
    assert (I - s.H * s.psi * s.K).shape == (8, 8)
    assert (I - s.E_phi).shape == (18, 18)
    assert (s.H * I * s.phi).shape == (8, 18)
    assert (I * s.H).text() == "I*H"
    assert ((I + I) * s.H - 2 * s.H).is_zero()
    assert (2 * I.T + s.D - s.D - 2 * I).is_zero()
    assert ((I.inv + I**3) * s.D - 2 * s.D).is_zero()
    both = (I - s.H * s.psi * s.K) * s.H * (I - s.E_phi)  # hinge space on the left, body space on the right
    np.testing.assert_allclose(
        both.array(),
        (np.eye(8) - (s.H * s.psi * s.K).array()) @ s.H.array() @ (np.eye(18) - s.E_phi.array()),
        atol=1e-12,
    )


def test_I_beside_what_is_not_square(s):
    refused("cannot form I - H: I is square, but H maps hinge[8] <- body[18].", lambda: I - s.H)
    refused("cannot form I + H: I is square, but H maps hinge[8] <- body[18].", lambda: s.H + I)


def test_I_alone_has_no_size():
    text = "I has no size by itself: I takes its space from a neighbour, as in I - H*psi*K."
    for attempt in (
        I.array,
        I.is_zero,
        I.trace,
        I.explain,
        lambda: I[0, 0],
        lambda: I.shape,
        lambda: sc.check_operator(I),
    ):
        refused(text, attempt)
    refused("I + I has no size by itself: I takes its space from a neighbour, as in I - H*psi*K.", (I + I).array)
    refused("I * x is x; I takes its space from a neighbouring operator, not from an array.", lambda: I * np.ones(3))
    assert repr(I) == "I"
    assert (I * I).text() == "I*I"


# -- reading numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "batch", "found"),
    [
        ((3,), (), ((3, 1), True)),
        ((3, 5), (), ((3, 5), False)),
        ((3, 3), (), ((3, 3), False)),
        ((3,), (4,), ((3, 1), True)),
        ((4, 3), (4,), ((4, 3, 1), True)),
        ((3, 5), (4,), ((3, 5), False)),
        ((4, 3, 5), (4,), ((4, 3, 5), False)),
        ((1, 3), (4,), ((1, 3, 1), True)),
        ((3, 3), (3,), ((3, 3, 1), True)),  # one vector for each state
        ((3, 2), (3,), ((3, 2), False)),
        ((2, 4, 3), (2, 4), ((2, 4, 3, 1), True)),
        ((4, 3), (2, 4), ((4, 3, 1), True)),
    ],
)
def test_vectors_and_columns(shape, batch, found):
    space = sc.Space("hinge", "abc", [1, 1, 1], owner=None)
    data, vector = columns(np.zeros(shape), space, batch, "x")
    assert (data.shape, vector) == found


@pytest.mark.parametrize(
    ("shape", "batch"),
    [((), ()), ((2,), ()), ((5, 3), ()), ((2, 3, 1), ()), ((5, 3), (4,)), ((5, 3, 2), (4,)), ((2, 4, 3), (4,))],
)
def test_shapes_that_fit_nothing(shape, batch):
    space = sc.Space("hinge", "abc", [1, 1, 1], owner=None)
    with pytest.raises(SpaceError, match=re.escape(f"x has shape {shape}, but a vector of hinge[3] is wanted")):
        columns(np.zeros(shape), space, batch, "x")


def test_small_helpers():
    assert fits((), (2,))
    assert fits((1,), (2,))
    assert not fits((2,), ())
    assert not fits((3,), (2,))
    assert isinstance(real(np.int64(3), ""), int)
    assert isinstance(real(np.float32(3), ""), float)
    assert real(2**60, "") == float(2**60)


def test_spaces_compare_by_value():
    one, two = (sc.Space("body", ["a", "b"], [6, 6], owner="arm", axes="body") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert len(one) == 2
    for other in (
        sc.Space("node", ["a", "b"], [6, 6], owner="arm", axes="body"),
        sc.Space("body", ["a", "c"], [6, 6], owner="arm", axes="body"),
        sc.Space("body", ["a", "b"], [6, 3], owner="arm", axes="body"),
        sc.Space("body", ["a", "b"], [6, 6], owner="leg", axes="body"),
        sc.Space("body", ["a", "b"], [6, 6], owner="arm", axes="inertial"),
    ):
        assert one != other
    assert one != "body"
