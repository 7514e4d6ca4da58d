"""`explain(loops=True)`: the printed recursions are run, line by line, and give the product."""

import re

import numpy as np
import pytest

import soacraft as sc

TOKEN = re.compile(r"([A-Za-z]+\d*|P\+)(\^-1)?(\*)?\(([^()]*)\)")


class Run:
    """Runs the printed lines on the blocks of a model: only leaves E_phi, H, M and the argument are known to it."""

    def __init__(self, mb, s, x, argument):
        self.tree, self.s, self.n = mb.topology, s, len(mb.bodies)
        self.values = {}
        for k in range(self.n):
            self.values[argument, k] = x[k][:, None]
            self.values["H", k], self.values["M", k] = s.H[k, k], s.M[k, k]
            if self.tree.parents[k] >= 0:
                self.values["phi", self.tree.parents[k], k] = s.E_phi[self.tree.parents[k], k]

    def nodes(self, way):
        return self.tree.base_to_tips() if way == "out" else self.tree.tips_to_base()

    def index(self, text, k, j):
        serial = {"k-1": (self.tree.children(k) or (None,))[0], "k+1": self.tree.parents[k]}
        return {"k": k, "j": j, "p": self.tree.parents[k], **serial}[text]

    def term(self, text, k, j=None):
        """A product of tokens and brackets; None where a neighbour does not exist."""
        parts, scale = [], 1.0
        text = text.strip()
        if re.match(r"^\d[\d.]* ", text):
            number, text = text.split(" ", 1)
            scale = float(number)
        while text:
            if text[0] == "(":
                end = next(i for i in range(len(text)) if text[: i + 1].count("(") == text[: i + 1].count(")"))
                parts.append(self.sum(text[1:end], k, j))
                text = text[end + 1 :].strip()
                continue
            found = TOKEN.match(text)
            assert found, text
            name, inverse, star, at = found.groups()
            indices = [self.index(i, k, j) for i in at.split(",")]
            if any(i is None or i < 0 for i in indices):
                return None
            value = self.values[(name, *indices)]
            value = np.linalg.inv(value) if inverse else value
            parts.append(value.T if star else value)
            text = text[found.end() :].strip()
        result = parts[0]
        for part in parts[1:]:
            if result is None or part is None:
                return None
            result = result @ part if np.ndim(result) else part * result
        return scale * result

    def sum(self, text, k, j=None):
        pieces, depth, start, sign, last = [], 0, 0, 1.0, 1.0
        for i, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if depth == 0 and text[i : i + 3] in (" + ", " - "):
                pieces.append((last, text[start:i]))
                last, start = (1.0 if text[i + 1] == "+" else -1.0), i + 3
        pieces.append((last, text[start:]))
        total = None
        for sign, piece in pieces:
            if piece.strip() == "I":
                total = ("I", sign)
                continue
            if piece.startswith("sum_j "):
                found = [self.term(piece[6:], k, c) for c in self.tree.children(k)]
            else:
                found = [self.term(piece, k, j)]
            for value in found:
                if value is not None:
                    if isinstance(total, tuple):
                        total = total[1] * np.eye(len(value))
                    total = sign * value if total is None else total + sign * value
        return total

    def run(self, lines):
        block, way = [], ""
        for line in [*lines, "for end"]:
            if not line.startswith("for "):
                block.append(line.strip())
                continue
            for k in self.nodes(way):
                for one in block:
                    left, right = one.split(" = ", 1)
                    name, _, _, at = TOKEN.match(left).groups()
                    where = [self.index(i, k, None) for i in at.split(",")]
                    if any(i < 0 for i in where):
                        continue
                    value = self.sum(right, k)
                    none = np.zeros((self.s.body.dims[k], 1))  # no neighbours
                    self.values[(name, *where)] = none if value is None else value
                    self.last = name
            block, way = [], "out" if "n...1" in line or "base to tips" in line else "in"
        return self.last


EXPRESSIONS = {
    "velocities": lambda s: s.phi.T * s.H.T,
    "mass matrix": lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T,
    "momentum": lambda s: 2 * s.phi * s.M - s.M,
    "weights": lambda s: s.E_phi * s.M + s.phi_tilde,
    "composite": lambda s: s.R * s.phi_tilde.T,
    "Omega": lambda s: s.Omega,
    "compliance": lambda s: s.Upsilon * s.psi,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("model", ["arm7", "tree"])
def test_the_printed_recursion_gives_the_product(name, model):
    hinges = [sc.Pin((0, 0, 1)), sc.Universal((1, 0, 0), (0, 1, 0))]
    mb = sc.load("arm7") if model == "arm7" else sc.random_tree(6, seed=3, hinges=hinges)
    mb.set_state(*mb.random_state(1))
    s = sc.operators(mb)
    expr = EXPRESSIONS[name](s)
    x = np.random.default_rng(0).standard_normal(expr.shape[1])
    lines = expr.explain(loops=True).loops.text
    blocks = [x[expr.cols.block(k)] for k in range(len(expr.cols))]
    run = Run(mb, s, blocks, "v" if expr.cols.kind == "hinge" else "x")
    last = run.run(lines)
    found = np.concatenate([run.values[last, k][:, 0] for k in range(run.n)])
    np.testing.assert_allclose(found, np.asarray(expr * x), rtol=1e-9, atol=1e-9)


def test_as_the_papers_print_it():
    s = sc.operators(sc.load("arm7"))
    assert (s.phi.T * s.H.T).explain(loops=True).loops.text == (
        "for k = n...1:",
        "    V(k) = phi*(k+1,k) V(k+1) + H*(k) v(k)",
    )
    found = (s.H * s.phi * s.M * s.phi.T * s.H.T).inv.explain(loops=True)
    assert "    P+(k) = (I - G(k) H(k)) P(k)" in found.loops.text
    assert "    z(k) = psi(k,k-1) z(k-1) + y(k)" in found.loops.text
    assert "loops" in repr(found).splitlines()
    tree = sc.operators(sc.load("biped"))
    assert repr((tree.phi * tree.M).explain(loops=True).loops).splitlines() == [
        "for all nodes k, tips to base:",
        "    f(k) = sum_j phi(k,j) f(j) + M(k) x(k)",
    ]


def test_latex_of_it():
    s = sc.operators(sc.load("arm7"))
    loops = (s.phi.T * s.H.T).explain(loops=True).loops
    assert loops.latex == (
        r"\begin{aligned}&\textbf{for } k = n \cdots 1: \\ \quad V(k) &= \phi^{*}(k+1,k)\, V(k+1) + H^{*}(k)\, v(k)"
        r"\end{aligned}"
    )
    assert loops._repr_latex_().startswith("$$")
    for expr in (s.Omega, (s.H * s.phi * s.M * s.phi.T * s.H.T).inv, s.B(["link7"]).T * s.phi.T):
        latex = expr.explain(loops=True).loops.latex
        assert latex.count("{") == latex.count("}")
        assert latex.count(r"\left") == latex.count(r"\right")


def test_nothing_is_computed_and_nothing_is_added_without_being_asked():
    s = sc.operators(sc.load("arm7"))
    assert s.phi.explain().loops is None
    for name in ("P", "Omega", "K", "tau_bar"):
        getattr(s, name).explain(loops=True)
    assert "riccati" not in s.sko.memo
