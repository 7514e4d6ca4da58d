"""`bool()` of every report says whether all is well."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.model.tree.parts.import_report import Entry, ImportReport
from soacraft.ops.check import OperatorReport
from soacraft.ops.verify import Verification


class Crooked(sc.Pin):
    """A pin whose H does not fit its pose."""

    def H_T(self, q):
        return -super().H_T(q)


def massless():
    mb = sc.Multibody("flag")
    mb.add_body("flag", None, sc.Pin((0, 0, 1)))
    return mb


def entry(status, dynamic):
    return Entry("m.xml", 1, "joint", "a", "damping", status, "", dynamic)


def proofs():
    s = sc.operators(sc.load("arm7"))
    return sc.prove(s.psi.inv + s.K * s.H, s.phi.inv + 3 * s.K * s.H), sc.prove(s.phi.T.T, s.phi)


GOOD_AND_BAD = {
    "check_hinge": lambda: (sc.check_hinge(sc.Pin((0, 0, 1))), sc.check_hinge(Crooked((0, 0, 1)))),
    "check": lambda: (sc.check(sc.load("arm7")), sc.check(massless())),
    "import report": lambda: (
        ImportReport([entry("used", True), entry("ignored", False)]),
        ImportReport([entry("used", True), entry("ignored", True)]),
    ),
    "empty import report": lambda: (ImportReport(), ImportReport([entry("ignored", True)])),
    "check_operator": lambda: (
        sc.check_operator(sc.operators(sc.load("arm7"), "phi")),
        OperatorReport("phi", (("dense", 0.0), ("tags", np.nan)), 1e-9),
    ),
    "verify": lambda: (Verification((("a", 0.0), ("b", 1e-12)), 1e-9), Verification((("a", 0.0), ("b", np.nan)), 1e-9)),
    "prove": lambda: proofs()[::-1],
}


@pytest.mark.parametrize("which", GOOD_AND_BAD)
def test_true_when_all_is_well_and_only_then(which):
    good, bad = GOOD_AND_BAD[which]()
    assert good
    assert not bad
