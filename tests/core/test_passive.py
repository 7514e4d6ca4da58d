"""What the compiled model takes for springs, dampers and tendons."""

import numpy as np
import pytest

from soacraft.model import serial_chain
from soacraft.model.flat.compiled import CompiledModel

NONE = {
    "spring_whole": np.zeros((0, 2), np.int64), "spring_real": np.zeros((0, 3)),
    "ball_whole": np.zeros((0, 3), np.int64), "ball_real": np.zeros((0, 19)),
    "tendon_whole": np.zeros((0, 2), np.int64), "tendon_real": np.zeros((0, 4)),
    "strand_whole": np.zeros((0, 3), np.int64), "strand_real": np.zeros((0, 1)),
    "line_whole": np.zeros((0, 3), np.int64), "line_real": np.zeros((0, 4)), "bushing_real": np.zeros((0, 84)),
    "node_body": np.zeros((0, 1), np.int64), "node_pose": np.zeros((0, 12)),
    "curve_pieces": np.zeros(0, np.int64), "piece_real": np.zeros((0, 6)), "in_python": False,
}  # fmt: skip
TENDON = {"tendon_whole": np.full((1, 2), -1), "tendon_real": np.zeros((1, 4))}
TENDONS = {"tendon_whole": np.full((2, 2), -1), "tendon_real": np.zeros((2, 4))}


def whole(*rows):
    return np.array(rows, np.int64)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spring_real": np.zeros((1, 3))}, "springs have 2 whole and 3 real numbers"),
        ({"ball_real": np.zeros((0, 18))}, "balls have 3 whole and 19 real numbers"),
        ({"spring_whole": whole([0, 3]), "spring_real": np.zeros((1, 3))}, "a spring is on no dof of this tree"),
        ({"spring_whole": whole([-1, 0]), "spring_real": np.zeros((1, 3))}, "a spring is on no dof of this tree"),
        ({"ball_whole": whole([0, 0, 0]), "ball_real": np.zeros((1, 19))}, "a spring is on no dof of this tree"),
        ({"strand_whole": whole([0, 0, 0]), "strand_real": np.zeros((1, 1))}, "strands stand by tendons"),
        ({"strand_whole": whole([1, 0, 0], [0, 1, 1]), "strand_real": np.zeros((2, 1))} | TENDONS,
         "strands stand by tendons"),
        ({"strand_whole": whole([0, 9, 0]), "strand_real": np.zeros((1, 1))} | TENDON,
         "a spring is on no dof of this tree"),
        ({"bushing_real": np.zeros((1, 83))}, "bushings have 84 numbers"),
        ({"line_whole": whole([2, -1, -1]), "line_real": np.zeros((1, 4))},
         "a spring or tendon has ends that are not there"),
        ({"line_whole": whole([-2, -1, -1]), "line_real": np.zeros((1, 4))},
         "a spring or tendon has ends that are not there"),
        ({"node_body": whole([9]), "node_pose": np.zeros((1, 12))}, "a spring is on no body of this tree"),
        ({"curve_pieces": np.array([2]), "piece_real": np.zeros((1, 6))}, "a curve has pieces that are not there"),
        ({"curve_pieces": np.array([-1]), "piece_real": np.zeros((0, 6))}, "a curve has pieces that are not there"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(given, message):
    kernels = CompiledModel(serial_chain(3).layout).kernels
    with pytest.raises(ValueError, match=message):
        kernels.set_passive(**(NONE | given))
    kernels.set_passive(**NONE)
