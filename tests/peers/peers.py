"""The peers, by name: each makes its own of a soacraft model."""

from functools import partial

from tests.peers.to_chains import InChains
from tests.peers.to_mujoco import InMujoco
from tests.peers.to_pinocchio import InPinocchio

PEERS = {
    "Pinocchio": InPinocchio,
    "Pinocchio, chains": partial(InPinocchio, products="chain"),
    "Pinocchio, unbounded turns": partial(InPinocchio, products="unbounded"),
    "MuJoCo": InMujoco,
    "soacraft, chains": InChains,
}
