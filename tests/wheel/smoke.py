"""Run by `./run check` with an installed wheel, outside the project: the compiled core, the algorithms and the tour."""

from __future__ import annotations

import pathlib
import sys


def smoke() -> None:
    import numpy as np

    import soacraft as sc
    from soacraft import _core
    from soacraft.cli import main

    where = pathlib.Path(sc.__file__).resolve()
    assert "site-packages" in where.parts, f"soacraft was imported from {where}, not from the wheel"
    mb = sc.load("biped")
    q, v = mb.random_state(0)
    Q = np.stack([mb.random_state(i)[0] for i in range(20)])
    vdot = sc.Dynamics(mb).forward_dynamics(q, v, np.zeros(mb.nv))
    back = sc.dynamics.inverse_dynamics(mb, q, v, vdot)
    assert np.abs(back).max() < 1e-8, back
    assert sc.dynamics.mass_matrix(mb, Q).shape == (20, mb.nv, mb.nv)
    assert sc.load("panda").nv == 7
    assert "Apache License" in sc.files.library.licence_text("panda")
    assert "WebGL" in sc.view.scene(mb).html()
    assert main(["tour"]) == 0
    print(f"the wheel works: {sc.__version__}, {_core.instruction_set()}, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    smoke()
