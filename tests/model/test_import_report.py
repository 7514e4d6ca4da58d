"""The report of an import: counts, table, what was lost."""

import pytest

from soacraft.errors import ModelError
from soacraft.model import Entry, ImportReport, ReportBuilder


def report():
    add = (build := ReportBuilder("arm.urdf")).add
    add("robot/link", "used", name="base", line=3)
    add("robot/link", "used", name="arm", line=9)
    add("robot/joint/limit", "recorded", name="elbow", attribute="effort", line=12, note="is kept, not enforced")
    add("robot/joint/limit", "recorded", name="wrist", attribute="effort", line=22, note="is kept, not enforced")
    add("robot/joint/origin", "converted", name="elbow", attribute="rpy", line=13, note="to a rotation")
    add("robot/gazebo", "ignored", line=30, note="is for another program")
    add("robot/transmission", "ignored", name="drive", line=31, note="<not> & read", dynamic=True, file="part.xacro")
    return build.done()


def test_entries_keep_their_order_and_place():
    entries = report().entries
    assert entries[0] == Entry("arm.urdf", 3, "robot/link", "base", "", "used", "", False)
    assert entries[-1] == Entry("part.xacro", 31, "robot/transmission", "drive", "", "ignored", "<not> & read", True)
    assert [entry.line for entry in entries] == [3, 9, 12, 22, 13, 30, 31]


def test_entries_by_what_became_of_them():
    r = report()
    assert [len(x) for x in (r.used, r.converted, r.recorded, r.ignored, r.lost)] == [2, 1, 2, 2, 1]
    assert len(r) == 7
    assert r.lost[0].name == "drive"
    assert r.lost[0] in r.ignored


def test_text():
    assert report().summary() == (
        "7 entries: 2 used, 1 converted, 2 recorded, 2 ignored; 1 of them would change the motion and is not simulated "
        "(marked !)"
    )
    assert repr(report()).splitlines() == [
        report().summary(),
        "ignored!   robot/transmission        'drive' line 31  <not> & read",
        "ignored    robot/gazebo              line 30          is for another program",
        "recorded   robot/joint/limit@effort  2 times          is kept, not enforced",
        "converted  robot/joint/origin@rpy    'elbow' line 13  to a rotation",
    ]
    assert report().table().splitlines()[1:-1] == repr(report()).splitlines()[1:]
    assert report().table().splitlines()[-1].split() == ["used", "robot/link", "2", "times"]


def test_what_is_not_simulated_comes_first_in_the_table():
    add = (build := ReportBuilder("arm.xml")).add
    add("joint", "used", "elbow", "damping", "acts", dynamic=True)
    add("joint", "converted", "elbow", "ref", "coordinate = qpos - ref", dynamic=True)
    add("geom", "ignored", "skin", "rgba", "is a colour")
    add("tendon", "recorded", "rope", "stiffness", "is kept", dynamic=True)
    add("joint", "recorded", "elbow", "range", "limits are kept")
    add("inertial", "repaired", "cap", "", "is massless", dynamic=True)
    add("plugin", "ignored", "", "", "is a program", dynamic=True)
    made = build.done()
    assert [entry.element for entry in made.not_simulated] == ["tendon", "inertial", "plugin"]
    assert [entry.element for entry in made.lost] == ["plugin"]
    assert [entry.name for entry in made.repaired] == ["cap"]
    assert not made
    assert ImportReport(entry for entry in made.entries if entry not in made.not_simulated)
    assert ImportReport()
    lines = repr(made).splitlines()
    assert lines[0].endswith("1 repaired, 2 recorded, 2 ignored; 3 of them would change the motion and are not "
                             "simulated (marked !)")  # fmt: skip
    assert [line.split()[0] for line in lines[1:]] == [
        "ignored!", "recorded!", "repaired!", "ignored", "recorded", "converted",
    ]  # fmt: skip


def test_html_is_escaped():
    html = report()._repr_html_()
    assert "&lt;not&gt; &amp; read" in html
    assert "<not>" not in html
    assert html.count("<tr>") == 5
    assert report().summary() in html


def test_an_empty_report():
    empty = ImportReport()
    assert repr(empty) == empty.summary() == "0 entries: 0 used, 0 converted, 0 recorded, 0 ignored"
    assert empty.used == empty.lost == ()
    assert empty == ImportReport([])
    assert hash(empty) == hash(ImportReport(()))
    assert empty != report()
    assert empty != ()


def test_equal_reports():
    assert report() == report()
    assert hash(report()) == hash(report())


@pytest.mark.parametrize(
    "call",
    [
        lambda: ReportBuilder().add("robot", "lost"),
        lambda: ImportReport([Entry("", 0, "robot", "", "", "lost", "", False)]),
    ],
)
def test_unknown_status(call):
    with pytest.raises(ModelError) as error:
        call()
    assert str(error.value) == (
        "the status of an entry must be one of used, converted, repaired, recorded, ignored; got 'lost'."
    )


def test_a_builder_gives_what_it_has_so_far():
    build = ReportBuilder()
    first = build.done()
    build.add("robot", "used")
    assert len(first) == 0
    assert len(build.done()) == 1
    assert build.done().entries[0].file == ""
