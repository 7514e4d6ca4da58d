"""Reading XML that nobody vouches for: every refusal names the place, and nothing takes long."""

import os
import re
import time
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from soacraft.errors import ModelFileError
from soacraft.files import xml_tree
from soacraft.files.xml_tree import Element, fail, inside, number, numbers, read_bytes, read_xml, word


def refused(data, text):
    with pytest.raises(ModelFileError, match=re.escape(text)) as caught:
        read_xml(data, "a.urdf")
    assert str(caught.value).startswith("a.urdf:")


# -- trees -----------------------------------------------------------------------------------------------------


def test_elements_have_their_attributes_texts_and_lines():
    root = read_xml(b"<?xml version='1.0' encoding='UTF-8'?>\n<!-- c -->\n<a x='1'>\n <b:c>t <i/> u</b:c>\n</a>", "f")
    assert (root.tag, root.attributes, root.line, root.file) == ("a", {"x": "1"}, 3, "f")
    (inner,) = root.children
    assert (inner.tag, inner.line, inner.text.split()) == ("b:c", 4, ["t", "u"])
    assert [each.tag for each in root.iterate()] == ["a", "b:c", "i"]


def test_prefixes_and_names_are_kept_as_written():
    root = read_xml(b"<r xmlns:x='http://a' x:p='1'><x:q/></r>", "f")
    assert root.children[0].tag == "x:q"
    assert root.attributes == {"xmlns:x": "http://a", "x:p": "1"}


def test_text_beyond_ascii_and_a_byte_order_mark():
    root = read_xml("\ufeff<r name='Gelenk äöü 関節'>é</r>".encode(), "f")
    assert (root.attributes["name"], root.text) == ("Gelenk äöü 関節", "é")


def test_built_in_entities_and_characters_are_read():
    assert read_xml(b"<r a='&lt;&amp;&#65;'/>", "f").attributes["a"] == "<&A"


LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<robot>&b;</robot>"""


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "a.urdf: is empty"),
        (b" \n\t ", "a.urdf: is empty"),
        (LAUGHS, "a.urdf:2: a document type declaration ('lolz') is not read"),
        (b"<!DOCTYPE r SYSTEM 'file:///etc/passwd'><r/>", "take the <!DOCTYPE ...> out"),
        (b"<r>&undefined;</r>", "a.urdf:1: is not well-formed XML inside <r>: undefined entity"),
        (b"<?xml-stylesheet href='x'?><r/>", "a.urdf:1: the processing instruction <?xml-stylesheet ...?> is not read"),
        (b"<a>\n<b>\n</a>", "a.urdf:3: is not well-formed XML inside <b>: mismatched tag"),
        (b"<a/><b/>", "junk after document element"),
        (b"<a x='1' x='2'/>", "duplicate attribute"),
        (b"<a", "is not well-formed XML"),
        (b"text", "is not well-formed XML"),
        (b"\0\0\0", "is not well-formed XML"),
        (b"<a>\0</a>", "is not well-formed XML"),
        (b"<a>\n\xff\xfe</a>", "a.urdf:2: byte 4 (0xff) is not UTF-8; save the file as UTF-8"),
        (b"<a x='\xc3'/>", "is not UTF-8"),
        ("<a/>".encode("utf-16"), "is not UTF-8"),
        (b"<?xml version='1.0' encoding='latin-1'?><a/>", "a.urdf:1: the encoding 'latin-1' is not read"),
        (b"<a>" * 300 + b"</a>" * 300, "a.urdf:1: <a>: elements are nested more than 256 deep"),
        (b"<a>" * 1_000_000, "nested more than 256 deep"),
        (b"<a " + b" ".join(b"x%d='1'" % i for i in range(65)) + b"/>", "<a>: has 65 attributes, more than 64"),
    ],
)
def test_refused_with_the_place(data, text):
    refused(data, text)


def test_the_deepest_and_widest_allowed():
    deep = read_xml(b"<a>" * 256 + b"</a>" * 256, "f")
    assert sum(1 for _ in deep.iterate()) == 256
    assert len(read_xml(b"<a " + b" ".join(b"x%d='1'" % i for i in range(64)) + b"/>", "f").attributes) == 64


def test_too_many_elements(monkeypatch):
    monkeypatch.setattr(xml_tree, "MAX_ELEMENTS", 1000)
    message = "a.urdf:2: <b>: the file has more than 1000 elements and attributes"
    for element, most in ((b"<b/>", 999), (b"<b c='' d=''/>", 333)):
        assert len(read_xml(b"<a>" + element * most + b"</a>", "f").children) == most
        refused(b"<a>\n" + element * (most + 1) + b"</a>", message)


def test_too_many_bytes(monkeypatch):
    monkeypatch.setattr(xml_tree, "MAX_XML", 100)
    refused(b"<a>" + b" " * 100 + b"</a>", "has 107 bytes, but at most 100 are read")


def test_long_texts_take_linear_time_and_memory():
    data = b"<a>" + b"0123456 & ".replace(b"&", b"&amp;") * 200_000 + b"</a>"
    tracemalloc.start()
    begin = time.process_time()
    assert len(read_xml(data, "f").text) == 10 * 200_000 - 1
    assert time.process_time() - begin < 2.0
    assert tracemalloc.get_traced_memory()[1] < 20 * len(data)
    tracemalloc.stop()


# -- attributes ------------------------------------------------------------------------------------------------

ORIGIN = Element("origin", {"xyz": " 1\t.5 -2e-1 ", "e": "", "one": "3."}, 7, "a.urdf")


def test_numbers_and_words():
    np.testing.assert_array_equal(numbers(ORIGIN, "xyz", 3), [1, 0.5, -0.2])
    np.testing.assert_array_equal(numbers(ORIGIN, "xyz", None), [1, 0.5, -0.2])
    np.testing.assert_array_equal(numbers(ORIGIN, "rpy", 3, (0, 0, 1)), [0, 0, 1])
    assert number(ORIGIN, "one") == 3.0
    assert number(ORIGIN, "absent", 2.0) == 2.0
    assert word(ORIGIN, "one") == "3."
    assert word(ORIGIN, "absent", "x") == "x"
    assert numbers(ORIGIN, "e", None).shape == (0,)


@pytest.mark.parametrize(
    "text",
    ["nan", "inf", "-inf", "Infinity", "1e999", "1_0", "0x1p3", "१", "1,5", "--1", "1e", ".", "1 2", "", "abc", "1;"],
)
def test_what_is_no_number(text):
    with pytest.raises(ModelFileError, match=r"a\.urdf:7: <mass>: value=") as caught:
        number(Element("mass", {"value": text}, 7, "a.urdf"), "value")
    assert len(str(caught.value)) < 300


def test_what_a_refused_number_says():
    cases = {
        "xyz": ("1 2", 3, 'a.urdf:7: <origin>: xyz="1 2" must be 3 numbers, got 2.'),
        "rpy": ("1 2 3 4", 3, 'rpy="1 2 3 4" must be 3 numbers, got more than 3.'),
        "b": ("0 1e999 0", 3, "b=\"0 1e999 0\" must be finite numbers, got '1e999'."),
        "c": ("$(arg x)", 3, "must be finite numbers, got '$(arg'. Expand the file with xacro first."),
        "d": ("1" * 2000, 1, "a number has 2000 digits, more than 1000"),
    }
    for attribute, (text, count, message) in cases.items():
        with pytest.raises(ModelFileError, match=re.escape(message)):
            numbers(Element("origin", {attribute: text}, 7, "a.urdf"), attribute, count)
    with pytest.raises(ModelFileError, match="<origin>: needs the attribute 'rpy'"):
        numbers(ORIGIN, "rpy", 3)
    with pytest.raises(ModelFileError, match="<origin>: needs the attribute 'rpy'"):
        word(ORIGIN, "rpy")
    with pytest.raises(ModelFileError, match="the attribute 'e' must not be empty"):
        word(ORIGIN, "e")


def test_a_long_list_of_numbers_is_cut_short():
    element = Element("origin", {"xyz": "0 " * 5_000_000}, 7, "a.urdf")
    begin = time.process_time()
    with pytest.raises(ModelFileError, match="got more than 3") as caught:
        numbers(element, "xyz", 3)
    assert time.process_time() - begin < 0.5
    assert len(str(caught.value)) < 300


def test_errors_name_the_object():
    assert str(fail(Element("link", {"name": "a" * 500}, 2, "f"), "t")) == f"f:2: <link name={'a' * 80 + '...'!r}>: t"
    assert str(fail("f", "t")) == "f: t"


# -- files and paths -------------------------------------------------------------------------------------------


def test_plain_files_only(tmp_path):
    file = tmp_path / "a.urdf"
    file.write_bytes(b"123")
    assert read_bytes(file) == b"123"
    assert read_bytes(file, limit=3) == b"123"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    cases = {
        tmp_path / "none": "there is no such file",
        tmp_path: "is a folder; give the file inside it",
        tmp_path / "pipe": "is a pipe, socket or device; give a plain file",
        tmp_path / "loop": "cannot be read",
        tmp_path / ("x" * 5000): "cannot be read",
        tmp_path / "a\0b": "NUL",
    }
    for path, text in cases.items():
        with pytest.raises(ModelFileError, match=text):
            read_bytes(path)
    with pytest.raises(ModelFileError, match="is a pipe, socket or device"):
        read_bytes(type(tmp_path)(os.devnull))
    with pytest.raises(ModelFileError, match="has 3 bytes, but at most 2 are read"):
        read_bytes(file, limit=2)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    file = tmp_path / "a.urdf"
    with open(file, "wb") as handle:
        handle.truncate(2**33)
    with pytest.raises(ModelFileError, match=f"has {2**33} bytes, but at most {64 * 2**20} are read"):
        read_bytes(file)


def test_paths_stay_inside_the_folders_given(tmp_path):
    home, other, away = (tmp_path / name for name in ("home", "other", "away"))
    for folder in (home / "sub", other, away):
        folder.mkdir(parents=True)
    for file in (home / "a.stl", home / "sub" / "b.stl", other / "c.stl", away / "d.stl"):
        file.touch()
    (home / "near").symlink_to(home / "sub")
    (home / "far").symlink_to(away)
    (home / "sly.stl").symlink_to(away / "d.stl")
    roots = [home, other]
    assert inside(roots, "a.stl", "f") == home / "a.stl"
    assert inside(roots, "sub/../a.stl", "f") == home / "a.stl"
    assert inside(roots, "near/b.stl", "f") == home / "sub" / "b.stl"
    assert inside(roots, "c.stl", "f") == other / "c.stl"
    assert inside(roots, "../other/c.stl", "f") == other / "c.stl"
    assert inside(roots, "missing.stl", "f") == home / "missing.stl"
    for path in ("../away/d.stl", "sub/../../away/d.stl", "../../../../etc/passwd", "far/d.stl", "sly.stl", ".."):
        with pytest.raises(ModelFileError, match=r"f: the path .* leads out of the folders that may be read"):
            inside(roots, path, "f")
    assert inside(roots, str(home / "a.stl"), "f") == home / "a.stl"
    for path in ("/etc/passwd", "\\\\host\\share", "C:\\x.stl", "c:x.stl", str(away / "d.stl")):
        with pytest.raises(ModelFileError, match=r"is absolute.* write it relative to the file"):
            inside(roots, path, "f")
    for path in ("a\0b", "", "  ", "x" * 5000):
        with pytest.raises(ModelFileError, match="must be 1 to 4096 characters, without NUL"):
            inside(roots, path, "f")
    with pytest.raises(ModelFileError, match="cannot be followed"):
        inside([home], "x" * 400, "f")


def test_a_link_that_runs_in_a_circle_leads_nowhere_else(tmp_path):
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with suppress(ModelFileError):  # some versions of Python refuse to follow it
        assert inside([tmp_path], "round/x", "f").is_relative_to(tmp_path)
