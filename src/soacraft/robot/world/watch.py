"""Watch of the changes of a model that matter to a world: the model announces them, so that a check costs next to
nothing.
"""

from __future__ import annotations

import weakref

from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.subscriptions import Change


class Watch:
    """`changed` once anything but the state of a model has; it ends with the last reference to it.

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(2)
    >>> watch = Watch(mb)
    >>> mb.q = [0.1, 0.2]
    >>> watch.changed
    False
    >>> _ = mb["link1"].add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    >>> watch.changed
    True
    """

    def __init__(self, mb: Multibody) -> None:
        self._told = changed = [False]

        def hear(change: Change) -> None:  # knows the list alone, so that the model does not keep this alive
            if change.kinds != {"state"}:
                changed[0] = True

        weakref.finalize(self, mb.subscribe(hear).cancel)

    @property
    def changed(self) -> bool:
        """True if there was a change since `forget`."""
        return self._told[0]

    def forget(self) -> None:
        """Forget the changes so far."""
        self._told[0] = False
