"""Models: frames, bodies, nodes, hinges, the editable graph, sub-graphs, states, and SKO models."""

from soacraft.model.flat.axes import AXES
from soacraft.model.flat.sko import SKOModel
from soacraft.model.samples.chains import serial_chain
from soacraft.model.samples.random_models import random_inertia, random_pose, random_sko, random_tree
from soacraft.model.states import cards as cards_of_states
from soacraft.model.states.state import State
from soacraft.model.tree import cards as cards_of_models
from soacraft.model.tree.composed_model import STANDARD_GRAVITY
from soacraft.model.tree.frames.frame import Body, Frame, Node, Root
from soacraft.model.tree.frames.hinge_frame import HingeFrame
from soacraft.model.tree.frames.moving_frame import MovingFrame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling, refuse_loops
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.import_report import Entry, ImportReport, ReportBuilder
from soacraft.model.tree.parts.properties import Limits, Passive
from soacraft.model.tree.parts.records import Actuator, Geometry, Keyframe, Material, Record
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.model.tree.subgraph import SubGraph
from soacraft.model.tree.subscriptions import Change, Subscription

__all__ = [
    "AXES",
    "STANDARD_GRAVITY",
    "Actuator",
    "Body",
    "Bushing",
    "Catalogue",
    "Change",
    "Closure",
    "Coupling",
    "Curve",
    "Entry",
    "Frame",
    "Geometry",
    "Graph",
    "HingeFrame",
    "ImportReport",
    "Keyframe",
    "Limits",
    "Material",
    "MovingFrame",
    "Multibody",
    "Node",
    "Passive",
    "Record",
    "ReportBuilder",
    "Root",
    "SKOModel",
    "Spring",
    "State",
    "SubGraph",
    "Subscription",
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
