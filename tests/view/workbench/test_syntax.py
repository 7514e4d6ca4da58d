"""The grammar of the prompt: what is read, and where it is not."""

from __future__ import annotations

import pytest

from soacraft.errors import ExpressionError
from soacraft.view.workbench.syntax import Chain, Name, Negative, Postfix, Power, parse
from soacraft.view.workbench.tokens import tokens, unquoted


def test_signs_bind_as_in_python():
    sum_ = parse("a + b*c - -d**2").value
    assert [sign for sign, _, _ in sum_.rest] == ["+", "-"]
    product, minus = sum_.rest[0][2], sum_.rest[1][2]
    assert isinstance(product, Chain)
    assert product.rest[0][0] == "*"
    assert isinstance(minus, Negative)
    assert isinstance(minus.arg, Power)
    assert isinstance(parse("a.T**2").value.base, Postfix)
    assert isinstance(parse("--a").value, Name)
    tower = parse("2**3**2").value
    assert (tower.base.text, tower.exponent.base.text) == ("2", "3")


def test_places_are_those_of_the_text():
    line = parse("F  =  H * phi")
    assert (line.name, line.place, line.value.place, line.value.rest[0][1]) == ("F", 0, 6, 8)


@pytest.mark.parametrize(
    "text", ['"a\\"b"', "'a\\'b'", "'\\x41\\u00e9\\U0001F600\\n\\t\\\\'", "'<b>'", repr("q'\"\\\x07é\u2028")]
)
def test_quoted_text_is_that_of_python(text):
    word = tokens(text)[0]
    assert (word.kind, word.text) == ("text", text)
    assert unquoted(word) == eval(text)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", 0, "the expression ends where a name, a number or '(' is expected."),
        ("H *", 3, "the expression ends where"),
        ("H * * D", 4, "there is '*' where"),
        ("(H", 2, "')' is missing here, which closes the '(' at column 1."),
        ("phi[0, 1", 8, "']' is missing here, which closes the '[' at column 4."),
        ("H phi", 2, "'phi' is not expected here; factors are joined by *."),
        ("a = b = c", 6, "'=' is not expected here"),
        ("2 = a", 2, "'=' is not expected here"),
        ("phi.", 4, "after a dot a name follows, as in phi.T or D.inv."),
        ("phi.2", 3, "'.2' is not expected here"),
        ("1.2.3", 0, "this is no number; write 2, 0.5 or 1e-3."),
        ("2x", 0, "this is no number"),
        ("007", 0, "this is no number"),
        ("'a", 0, "a quote is opened and not closed."),
        ("'\\q'", 0, "means nothing in a text; a backslash is written twice."),
        ("'\\UFFFFFFFF'", 0, "there is no character"),
        ("H*'\\ud800'", 2, r"there is no character \ud800."),
        ("'\\U0000DFFF'", 0, "there is no character"),
        ("H; D", 1, "there is no sign ';' here"),
        ("H\u200bD", 1, "there is no sign '\\u200b' here"),
        ("φ", 0, "there is no sign 'φ' here"),
        ("(" * 41 + "H", 40, "more than 40 brackets and powers are inside each other: name parts."),
        ("2" + "**2" * 50, 120, "more than 40 brackets and powers"),
        ("H" * 4001, 4000, "the expression has 4,001 characters, and 4,000 are the most: name parts."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_marked(text, place, says):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert caught.value.place == place


def test_long_chains_are_not_deep():
    assert len(parse("H" + "+H" * 1999).value.rest) == 1999
    assert len(parse("H" + ".T" * 1900).value.suffixes) == 1900
    assert parse("-" * 3999 + "H").value.arg == Name("H", 3999)
