"""Charts of studies of robots: in goes a result of `sc.robot.study`, out comes a chart."""

from soacraft.view.charts.studies.study import study

__all__ = ["study"]


def __dir__() -> list[str]:
    return __all__
