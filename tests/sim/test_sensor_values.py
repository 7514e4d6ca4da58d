"""Sensors of a file: which frame each is at, and which is at none."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.sim.sensor_values import sensor_values

XML = """<mujoco><worldbody>
<body name="a" pos="0 0 1"><joint axis="0 1 0"/><geom size=".1"/><site name="tip" pos="0 0 .5"/><site name="b"/>
 <body name="b" pos="0 0 1"><joint axis="0 1 0"/><geom size=".1"/><site name="end" pos=".2 0 0"/>
  <camera name="end"/><camera name="eye" pos="0 .3 0"/>
</body></body></worldbody><sensor>{}</sensor></mujoco>"""


@pytest.mark.parametrize(
    ("kind", "name", "place"),
    [
        ("site", "tip", (0, 0, 1.5)),
        ("xbody", "b", (0, 0, 2.0)),
        ("site", "end", (0.2, 0, 2.0)),
        ("camera", "end", None),  # a site beside it has the name
        ("camera", "eye", (0, 0.3, 2.0)),
        ("body", "b", None),  # at its centre of mass, which is no frame; a site has the name, too
        ("body", "a", None),
    ],
)
def test_a_sensor_of_a_place_is_at_the_one_frame_of_its_name(tmp_path, kind, name, place):
    path = tmp_path / "m.xml"
    path.write_text(XML.format(f'<framepos name="s" objtype="{kind}" objname="{name}"/>'))
    mb = sc.load(path)
    values = sensor_values(mb, mb.state(q=np.zeros(2)))
    assert (values == {}) == (place is None)
    if place is not None:
        np.testing.assert_allclose(values["s"], place, atol=1e-12)
