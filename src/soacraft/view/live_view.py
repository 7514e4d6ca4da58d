"""`live`: a stepper as it goes on, or charts of a log that grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, overload

from soacraft.errors import ViewError
from soacraft.sim.steppers.stepper import Stepper
from soacraft.view.charts.chart import Chart
from soacraft.view.charts.growing import live as live_chart
from soacraft.view.space.live.stepping import LiveStepper
from soacraft.view.space.scenes import scene


@overload
def live(
    source: Stepper, *, which: int | None = None, port: int = 0, host: str = "127.0.0.1", open: bool = False
) -> LiveStepper: ...
@overload
def live(
    source: str | PathLike[str],
    *what: str,
    every: float = 0.5,
    seconds: float | None = None,
    dofs: Sequence[str] | str | None = None,
    show: Callable[[Chart], Any] | None = None,
) -> Chart: ...


def live(source: Any, *what: str, **options: Any) -> LiveStepper | Chart:
    """Show a stepper as it goes on, or a log as it grows.

    `live(step)` gives a page at an address of this machine, at most 30 pictures a second of a copy of the model, until
    `close()`; the stepper does not wait for it. `which` is one state of a batch; `port`, `host` and `open` are those of
    `scene.serve`. Needs the extra `view`.

    >>> import soacraft as sc
    >>> mb = sc.load("double_pendulum")
    >>> mb.q = [0.5, 0.2]
    >>> step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    >>> with sc.view.live(step) as page:
    ...     step(100)
    ...     page.look(), page.url.startswith("http://127.0.0.1:")
    (True, True)

    `live(path, *what)` follows the log of a run that another process writes, and plots it as it grows; the last chart.
    `what` and `dofs` are those of `plot`. It looks `every` so many seconds, and ends with the run, after `seconds`, or
    by Ctrl-C. `show` is called with each chart; by default a notebook shows it in place of the one before, and
    elsewhere a picture of the log's name, .png, is written next to it. The one who writes is not held up.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "run.h5"
    ...     _ = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)
    ...     sc.view.live(file, "energy", show=lambda chart: None)
    Chart: energy (3)
    """
    if not isinstance(source, Stepper):
        return live_chart(source, *what, **options)
    unknown = [*map(repr, what), *(f"{x}=" for x in options if x not in ("which", "port", "host", "open"))]
    if unknown:
        raise ViewError(
            f"live(step) takes which=, port=, host= and open=; {', '.join(unknown)} is of the log of a run."
        )
    which = options.pop("which", None)
    return LiveStepper(source, which, lambda mb: scene(mb).serve(**options))
