"""What the compiled model takes for springs, dampers and tendons."""

import numpy as np
import pytest

from soacraft.model import serial_chain
from soacraft.model.flat.compiled import CompiledModel

NONE = {
    "spring_whole": np.zeros((0, 2), np.int64), "spring_real": np.zeros((0, 3)),
    "ball_whole": np.zeros((0, 3), np.int64), "ball_real": np.zeros((0, 19)), "tendon_real": np.zeros((0, 4)),
    "strand_whole": np.zeros((0, 3), np.int64), "strand_real": np.zeros(0), "in_python": False,
}  # fmt: skip


def whole(*rows):
    return np.array(rows, np.int64)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spring_real": np.zeros((1, 3))}, "springs have 2 and 3 numbers"),
        ({"ball_real": np.zeros((0, 18))}, "springs have 2 and 3 numbers"),
        ({"spring_whole": whole([0, 3]), "spring_real": np.zeros((1, 3))}, "a spring is on no dof of this tree"),
        ({"spring_whole": whole([-1, 0]), "spring_real": np.zeros((1, 3))}, "a spring is on no dof of this tree"),
        ({"ball_whole": whole([0, 0, 0]), "ball_real": np.zeros((1, 19))}, "a spring is on no dof of this tree"),
        ({"strand_whole": whole([0, 0, 0]), "strand_real": np.zeros(1)}, "strands stand by tendons"),
        ({"strand_whole": whole([1, 0, 0], [0, 1, 1]), "strand_real": np.zeros(2), "tendon_real": np.zeros((2, 4))},
         "strands stand by tendons"),
        ({"strand_whole": whole([0, 9, 0]), "strand_real": np.zeros(1), "tendon_real": np.zeros((1, 4))},
         "a spring is on no dof of this tree"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(given, message):
    kernels = CompiledModel(serial_chain(3).layout).kernels
    with pytest.raises(ValueError, match=message):
        kernels.set_passive(**(NONE | given))
    kernels.set_passive(**NONE)
