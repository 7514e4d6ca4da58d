"""Result of `expr.compile()`: an expression as a function of the state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.explanation import Explanation

if TYPE_CHECKING:
    from soacraft.algebra.expressions.operator import Operator

Array = npt.NDArray[np.float64]


class Compiled(ABC):
    """`f(q, v=None, *vectors)`: the product with a vector at q, a tuple for several, the dense matrix for none."""

    expr: Operator

    @overload
    def __call__(self, q: Any, v: Any = None) -> Array: ...

    @overload
    def __call__(self, q: Any, v: Any, x: Any, /) -> Array: ...

    @overload
    def __call__(self, q: Any, v: Any, x: Any, y: Any, /, *more: Any) -> tuple[Array, ...]: ...

    @abstractmethod
    def __call__(self, q: Any, v: Any = None, *vectors: Any) -> Any:
        """Value at coordinates q, with or without leading batch axes; only time derivatives read `v`."""

    @abstractmethod
    def save(self, path: str | PathLike[str]) -> None:
        """Write the program for C++."""

    @abstractmethod
    def explain(self) -> Explanation:
        """Steps of a call, and their measured times on this machine."""
