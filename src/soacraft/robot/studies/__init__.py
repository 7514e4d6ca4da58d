"""Studies of robots, each a function that gives a result with a table, a file (`save`, `load`) and a chart
(`sc.view.study`):

    m = sc.robot.study.reach_map(arm, 0.05)              # where the tip gets, and in how many orientations
    m.table();  m.save("reach.h5");  sc.view.study(m)

Motions are (t, q, v, vdot), runs of `sc.sim`, or objects with `at(t)`. Limits of force are those of the model, or
`efforts=`. Nothing of the robot is changed.
"""

from soacraft.robot.studies.file import load
from soacraft.robot.studies.gaits import Gait, footfalls, gait
from soacraft.robot.studies.largest import largest_payload, largest_reach, largest_slope, largest_speed
from soacraft.robot.studies.limits import Limit, limit
from soacraft.robot.studies.mass_properties import MassProperties, mass_properties
from soacraft.robot.studies.operation import Margins, Operation
from soacraft.robot.studies.payload import Payload, payload
from soacraft.robot.studies.reach_map import ReachMap, reach_map
from soacraft.robot.studies.sequence import sequence
from soacraft.robot.studies.singular import Singularities, singularities
from soacraft.robot.studies.sizing import Motor, Sizing, sizing
from soacraft.robot.studies.steps import Grasp, Move, Sequence, Ungrasp, Wait
from soacraft.robot.studies.study import Study
from soacraft.robot.studies.support import Contacts
from soacraft.robot.studies.table import Table

__all__ = [
    "Contacts",
    "Gait",
    "Grasp",
    "Limit",
    "Margins",
    "MassProperties",
    "Motor",
    "Move",
    "Operation",
    "Payload",
    "ReachMap",
    "Sequence",
    "Singularities",
    "Sizing",
    "Study",
    "Table",
    "Ungrasp",
    "Wait",
    "footfalls",
    "gait",
    "largest_payload",
    "largest_reach",
    "largest_slope",
    "largest_speed",
    "limit",
    "load",
    "mass_properties",
    "payload",
    "reach_map",
    "sequence",
    "singularities",
    "sizing",
]


def __dir__() -> list[str]:
    return sorted(__all__)
