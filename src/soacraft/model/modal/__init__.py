"""Flexible bodies by modes: their constant data, and the numbers of their nodes of a tree at modal coordinates eta.

In: the arrays that `soacraft.flexible` makes of a finite-element model. Out: M(eta), poses and Pi(eta) of nodes, the
rates that a(k) and b(k) take.
"""

from soacraft.model.modal.data import ModalData, ModalNode
from soacraft.model.modal.skin import ModalSkin

__all__ = ["ModalData", "ModalNode", "ModalSkin"]


def __dir__() -> list[str]:
    return __all__
