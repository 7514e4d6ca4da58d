"""Charts of runs and analyses: in go runs, linearizations or models, out come panels of named lines and a figure.

`chart` draws panels, `kinds` and `signals` make those of runs; `runs`, `growing`, `responses`, `orders`, `reach`,
`campaigns` and `studies` have what users call.
"""

from soacraft.view.charts.campaigns import campaign
from soacraft.view.charts.chart import Chart, Panel
from soacraft.view.charts.growing import live
from soacraft.view.charts.kinds import SMOOTH
from soacraft.view.charts.orders import convergence
from soacraft.view.charts.reach import workspace
from soacraft.view.charts.responses import bode
from soacraft.view.charts.runs import plot
from soacraft.view.charts.studies.study import study

__all__ = ["SMOOTH", "Chart", "Panel", "bode", "campaign", "convergence", "live", "plot", "study", "workspace"]


def __dir__() -> list[str]:
    return sorted(__all__)
