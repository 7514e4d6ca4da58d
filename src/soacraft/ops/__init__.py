"""Operators of the papers on any model, their rules, identities, and the checks that use them.

Rooms: `maps` (`between`), `derivatives` (`expr.diff`, `expr.dot`), `proofs` (`sc.prove`, `sc.simplify`), `programs`
(expressions compiled).
"""

from soacraft.ops.check import OperatorReport, check_operator
from soacraft.ops.check_derivative import DerivativeReport, check_derivative
from soacraft.ops.define import define, matrix, state_identity
from soacraft.ops.derived import diag_of
from soacraft.ops.identities import Identity, identities
from soacraft.ops.maps.between import Between, between
from soacraft.ops.namespace import Operators, operators
from soacraft.ops.proofs.proof import Proof
from soacraft.ops.proofs.prove import prove
from soacraft.ops.proofs.simplify import simplify
from soacraft.ops.proofs.stated import StatedIdentity
from soacraft.ops.rules import install as _install
from soacraft.ops.verify import Verification, verify

_install()

__all__ = [
    "Between",
    "DerivativeReport",
    "Identity",
    "OperatorReport",
    "Operators",
    "Proof",
    "StatedIdentity",
    "Verification",
    "between",
    "check_derivative",
    "check_operator",
    "define",
    "diag_of",
    "identities",
    "matrix",
    "operators",
    "prove",
    "simplify",
    "state_identity",
    "verify",
]


def __dir__() -> list[str]:
    return __all__
