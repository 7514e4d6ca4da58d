"""Random damage to a file: it is read, or refused by a `ModelFileError`; never anything else."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.files.urdf.everything import EVERYTHING

from soacraft.errors import ModelFileError
from soacraft.files.urdf import read_urdf
from soacraft.files.urdf.write import write_urdf
from soacraft.model.hinges import Free, Weld

VALUES = re.findall(r'="([^"]*)"', EVERYTHING)
NASTY = (
    *(
        "",
        " ",
        "nan",
        "-inf",
        "1e999",
        "1e99",
        "-1e99",
        "1e-320",
        "0",
        "-1",
        "0 0 0",
        "1 2 3",
        "1e99 1e99 1e99",
        "x" * 300,
    ),
    *(
        "world",
        "inertial",
        "base",
        "elbow",
        "a/b",
        "fixed",
        "floating",
        "planar",
        "prismatic",
        "../x",
        "/x",
        "\x85",
        "é",
    ),
)
ELEMENTS = re.findall(r"<\w+[^<>]*/>", EVERYTHING)


@st.composite
def damaged(draw):
    """The file of all elements with one to four values, elements or bytes changed."""
    text = EVERYTHING
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["value", "value", "drop", "twice", "move", "cut"]))
        if kind == "value":
            spots = list(re.finditer(r'="([^"]*)"', text))
            spot = draw(st.sampled_from(spots)) if spots else None
            new = draw(st.sampled_from(NASTY) | st.sampled_from(VALUES))
            text = text if spot is None else text[: spot.start(1)] + new + text[spot.end(1) :]
        elif kind == "cut":
            at = draw(st.integers(0, len(text)))
            text = text[:at] + text[at + draw(st.integers(0, 3)) :]
        else:
            element = draw(st.sampled_from(ELEMENTS))
            new = {"drop": "", "twice": element * 2, "move": ""}[kind]
            text = text.replace(element, new, 1)
            if kind == "move":
                at = draw(st.sampled_from([match.end() for match in re.finditer(">", text)] or [0]))
                text = text[:at] + element + text[at:]
    return text


@given(text=damaged(), merge_fixed=st.booleans(), free=st.booleans())
def test_damaged_files(tmp_path_factory, text, merge_fixed, free):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "damaged.urdf"
    path.write_text(text)
    try:
        mb = read_urdf(path, root=Free() if free else Weld(), merge_fixed=merge_fixed)
    except ModelFileError as problem:
        message = str(problem)
    else:
        message = f"{path}: read"
        assert all(np.isfinite(np.asarray(mb.pose(body))).all() for body in mb.bodies)
        write_urdf(mb, folder / "back.urdf")
        back = read_urdf(folder / "back.urdf")
        assert back.nv == mb.nv
    assert message.startswith(str(path))
