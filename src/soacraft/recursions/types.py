"""Protocol of the trees that the recursions run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Stacked = dict[int, Array]
Blocks = Mapping[int, Array] | Sequence[Array]
Weights = Callable[[int, int], Array]


class Nodes(Protocol):
    """The order and kinship of the nodes of a tree; an SKO model or its tree."""

    def tips_to_base(self) -> Iterable[int]: ...

    def base_to_tips(self) -> Iterable[int]: ...

    def children(self, k: int) -> Sequence[int]: ...

    def parent(self, k: int) -> int: ...
