"""Print what became of every model file of the tests: `python -m tests.files.compare`.

Tried, read or refused with the reason, and the largest distance (mass matrix, bias force, energies, centre of mass at
three random states) from Pinocchio for URDF and from MuJoCo for MJCF.
"""

from tests.files.mjcf import test_against_mujoco as mjcf
from tests.files.urdf import test_pinocchio as urdf
from tests.files.urdf.models import CASES, FILES, MODELS

from soacraft.errors import ModelFileError
from soacraft.files.mjcf import read_mjcf
from soacraft.files.urdf import read_urdf
from soacraft.model.hinges import Free


def urdf_line(file):
    """The worst distance over the roots a file can have."""
    worst = 0.0
    for root in (root for each, root in CASES if each == file):
        mb = read_urdf(MODELS / file, root=root)
        for seed in range(3):
            mb.set_state(*mb.random_state(seed=seed))
            worst = max(worst, *urdf.distances(mb, file, isinstance(root, Free)).values())
    mended = f"; Pinocchio refuses it as it stands: {urdf.REFUSED[file][0]}" if file in urdf.REFUSED else ""
    return f"read, {worst:.1e} from Pinocchio{mended}"


def mjcf_line(path):
    """The worst distance, or why the file was refused."""
    try:
        mb = read_mjcf(path)
    except ModelFileError as refusal:
        return f"refused: {str(refusal).split(': ', 1)[-1]}"
    peer = mjcf.in_mujoco(path)
    twin = "" if peer is not None else " (its file without meshes)"
    peer = peer or mjcf.in_mujoco(path.with_name(f"{path.stem}_nomesh.xml"))
    return f"read, {max(mjcf.worst(mb, peer).values()):.1e} from MuJoCo{twin}"


def main():
    lines = {file: urdf_line(file) for file in FILES} | {mjcf.key(path): mjcf_line(path) for path in mjcf.FILES}
    for file, text in lines.items():
        print(f"{file:48} {text}")
    read = sum(text.startswith("read") for text in lines.values())
    print(f"{len(lines)} files tried, {read} read, {len(lines) - read} refused")


if __name__ == "__main__":
    main()
