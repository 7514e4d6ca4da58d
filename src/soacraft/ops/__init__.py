"""Operators of the papers on any model, their rules, identities, and the checks that use them."""

from soacraft.ops.check import OperatorReport, check_operator
from soacraft.ops.derived import diag_of
from soacraft.ops.identities import Identity, identities
from soacraft.ops.namespace import Operators, operators
from soacraft.ops.rules import install as _install
from soacraft.ops.verify import Verification, verify

_install()

__all__ = [
    "Identity",
    "OperatorReport",
    "Operators",
    "Verification",
    "check_operator",
    "diag_of",
    "identities",
    "operators",
    "verify",
]
