"""Models: frames, bodies, nodes, hinges, the editable graph, sub-graphs, states, and SKO models."""

from soacraft.model.axes import AXES
from soacraft.model.catalogue import Catalogue
from soacraft.model.chains import serial_chain
from soacraft.model.closures import Closure, Coupling, refuse_loops
from soacraft.model.frame import Body, Frame, Node, Root
from soacraft.model.graph import Graph
from soacraft.model.import_report import Entry, ImportReport, ReportBuilder
from soacraft.model.multibody import STANDARD_GRAVITY, Multibody
from soacraft.model.properties import Limits, Passive
from soacraft.model.random_models import random_inertia, random_pose, random_sko, random_tree
from soacraft.model.records import Actuator, Geometry, Keyframe, Material, Record
from soacraft.model.sko import SKOModel
from soacraft.model.state import State
from soacraft.model.subgraph import SubGraph
from soacraft.model.tendons import Tendon

__all__ = [
    "AXES",
    "STANDARD_GRAVITY",
    "Actuator",
    "Body",
    "Catalogue",
    "Closure",
    "Coupling",
    "Entry",
    "Frame",
    "Geometry",
    "Graph",
    "ImportReport",
    "Keyframe",
    "Limits",
    "Material",
    "Multibody",
    "Node",
    "Passive",
    "Record",
    "ReportBuilder",
    "Root",
    "SKOModel",
    "State",
    "SubGraph",
    "Tendon",
    "random_inertia",
    "random_pose",
    "random_sko",
    "random_tree",
    "refuse_loops",
    "serial_chain",
]


def __dir__() -> list[str]:
    return __all__
