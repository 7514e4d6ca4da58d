"""Heights of files, against MuJoCo's own reading of them, and refusals."""

from __future__ import annotations

import struct

import mujoco
import numpy as np
import pytest
from PIL import Image

import soacraft as sc
from soacraft.contact import HeightField, Scene
from soacraft.errors import ModelError, ModelFileError

TEXT = """<mujoco><asset><hfield name="hill" {what} size="3 2 1.5 .5"/></asset><worldbody>
<geom name="ground" type="hfield" hfield="hill"/>
<body name="a"><freejoint/><geom name="g" type="sphere" size=".1"/></body></worldbody></mujoco>"""


def heights(tmp_path, what):
    (tmp_path / "m.xml").write_text(TEXT.format(what=what))
    shape = Scene(sc.load(tmp_path / "m.xml")).shapes["inertial/ground"]
    assert isinstance(shape, HeightField)
    return shape.heights


def of_mujoco(tmp_path, shape):
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    return 1.5 * model.hfield_data.reshape(shape)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "P", "1"])
def test_images(tmp_path, mode):
    """Grey, colours, a palette and single bits, with all filters that a writer takes; smooth and rough ones."""
    rng = np.random.default_rng(2)
    smooth = np.add.outer(np.arange(31) * 3, np.arange(23) * 4) % 255
    for name, values in (("smooth", smooth), ("rough", rng.integers(0, 255, (31, 23)))):
        grey = Image.fromarray(values.astype(np.uint8))
        grey.convert(mode).save(tmp_path / f"{name}.png")
        z = heights(tmp_path, f'file="{name}.png"')
        assert z == pytest.approx(of_mujoco(tmp_path, (31, 23)), abs=1e-6)


def test_mujocos_own_format(tmp_path):
    values = np.random.default_rng(3).normal(size=(5, 4)).astype("<f4")
    (tmp_path / "hill.bin").write_bytes(struct.pack("<ii", 5, 4) + values.tobytes())
    z = heights(tmp_path, 'file="hill.bin"')
    assert z == pytest.approx(of_mujoco(tmp_path, (5, 4)), abs=1e-6)


def test_without_heights_it_is_flat(tmp_path):
    assert (heights(tmp_path, 'nrow="4" ncol="3"') == np.zeros((4, 3))).all()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"ab", "cannot be read"),
        (struct.pack("<ii", 5, 4) + b"\0" * 8, "5 x 4 heights need 88"),
        (struct.pack("<ii", -1, 4), "it has -1 x 4 heights; 1 to 1000000 are read"),
        (struct.pack("<ii", 1, 1) + b"\0" * 4, "must have at least 2 x 2 heights"),
        (struct.pack("<iiffff", 2, 2, 0.0, np.nan, 0.0, 0.0), "that are finite"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 8, "cannot be read"),
        (b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 1), "without interlacing"),
        (b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0), "it is cut short"),
    ],
)
def test_refusals(tmp_path, data, why):
    (tmp_path / "hill.bin").write_bytes(data)
    with pytest.raises(ModelFileError, match=r"shape 'inertial/ground': height field 'hill\.bin'") as caught:
        heights(tmp_path, 'file="hill.bin"')
    assert why in str(caught.value)


def test_where_it_is_not(tmp_path):
    with pytest.raises(ModelError, match=r"shape 'inertial/ground': its .* 'hill\.png' is not in the folder"):
        heights(tmp_path, 'file="hill.png"')
    with pytest.raises(ModelError, match="has 2000000 x 3 heights; 1000000 are read"):
        heights(tmp_path, 'nrow="2000000" ncol="3"')


def test_a_mesh_that_is_in_the_file_is_a_shape(tmp_path):
    """Corners in MJCF itself, scaled, turned and not centred: the hull is that of MuJoCo's own mesh, where it is."""
    (tmp_path / "m.xml").write_text("""<mujoco><asset><mesh name="wedge" scale=".1 .2 -.3"
    vertex="0 0 0  2 0 0  0 3 0  0 0 1  1 1 2"/></asset><worldbody><body name="a"><freejoint/>
    <geom name="skin" type="mesh" mesh="wedge" pos=".1 .2 .3" euler="20 30 40" density="500"/></body>
    </worldbody></mujoco>""")
    mb = sc.load(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    corners = model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    mb.root.add_geometry(sc.Geometry("probe", "plane"))
    scene = Scene(mb)
    low = float(scene.distances(mb.q).distance[0])
    assert low == pytest.approx(corners[:, 2].min(), abs=1e-7)
