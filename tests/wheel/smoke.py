"""Run by `./run check` with an installed wheel, outside the project: the compiled core, the algorithms and the tour."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pathlib
import re
import subprocess
import sys
import tempfile
from importlib.metadata import distribution


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
    metadata(sc)
    commands(sc)
    before = set(pathlib.Path(tempfile.gettempdir()).iterdir())
    for tour in ([], ["sim"], ["system"]):
        assert main(["tour", *tour]) == 0, tour
    left = [x for x in set(pathlib.Path(tempfile.gettempdir()).iterdir()) - before if "soacraft" in x.name]
    assert not left, f"the tours leave {left}"
    print(f"the wheel works: {sc.__version__}, {_core.instruction_set()}, Python {sys.version.split()[0]}")


def metadata(sc) -> None:
    """Licences of all that is in the wheel, absolute links for the index, headers, one version."""
    wheel = distribution("soacraft")
    assert wheel.version == sc.__version__, (wheel.version, sc.__version__)
    assert wheel.metadata["License-Expression"] == "Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause AND MIT"
    files = {str(x).replace("\\", "/").partition(".dist-info/")[2] for x in wheel.files or ()}
    models = {f"licenses/src/soacraft/files/library/licences/{x}.txt" for x in sc.files.library.index()}
    others = {f"licenses/{x}" for x in ("LICENSE", "NOTICE", "licences/nanobind.txt", "licences/robin_map.txt")}
    assert len(models) > 10
    assert models | others <= files, (models | others) - files
    page = wheel.metadata.get_payload()
    assert "](https://" in page
    relative = re.findall(r"\]\((?!https?:|#)[^)]*\)", page)
    assert not relative, relative
    assert (sc.include_dir() / "soacraft" / "multibody.hpp").is_file()
    assert "site-packages" in sc.include_dir().parts


def commands(sc) -> None:
    """`python -m soacraft`, and the shell, whose package is optional."""
    done = subprocess.run([sys.executable, "-I", "-m", "soacraft", "--version"], capture_output=True, text=True)
    assert done.stdout.strip() == f"soacraft {sc.__version__}", done
    if importlib.util.find_spec("IPython") is None:
        from soacraft.cli import main

        with contextlib.redirect_stderr(io.StringIO()) as said:
            assert main(["shell", "arm7", "-c", "1"]) == 2
        assert "pip install 'soacraft[shell]'" in said.getvalue(), said.getvalue()


if __name__ == "__main__":
    smoke()
