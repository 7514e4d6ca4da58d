"""Models: frames, bodies, nodes, hinges, the editable graph, sub-graphs, states, and SKO models."""

from soacraft.model.axes import AXES
from soacraft.model.chains import serial_chain
from soacraft.model.frame import Body, Frame, Node, Root
from soacraft.model.graph import STANDARD_GRAVITY, Multibody
from soacraft.model.interface import Graph
from soacraft.model.random_models import random_inertia, random_pose, random_sko, random_tree
from soacraft.model.sko import SKOModel
from soacraft.model.state import State
from soacraft.model.subgraph import SubGraph

__all__ = [
    "AXES",
    "STANDARD_GRAVITY",
    "Body",
    "Frame",
    "Graph",
    "Multibody",
    "Node",
    "Root",
    "SKOModel",
    "State",
    "SubGraph",
    "random_inertia",
    "random_pose",
    "random_sko",
    "random_tree",
    "serial_chain",
]
