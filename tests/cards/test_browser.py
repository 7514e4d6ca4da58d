"""Cards in a browser: names stay text, nothing is asked for, formulas are drawn, parts fold, colours are the page's."""

from __future__ import annotations

import pytest
from tests.cards.test_cards import shown
from tests.view.browser import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cards")
    cards = "".join(f"<section>{thing._repr_html_()}</section>" for thing in shown().values())
    head = '<!doctype html><html><head><meta charset="utf-8"></head><body style="color:rgb(1,2,3)">'
    (folder / "cards.html").write_text(head + cards, encoding="utf-8")
    with Browser(folder / "profile") as browser:
        browser.open((folder / "cards.html").as_uri())
        browser.until("document.querySelectorAll('section').length === " + str(len(shown())))
        yield browser


def test_nothing_runs_and_nothing_is_asked_for(page):
    assert page.run("document.querySelectorAll('script, iframe, link').length") == 0
    assert page.run("[...document.images].every(x => x.src.startsWith('data:image/png') && x.naturalWidth > 100)")
    asked = [x for x in page.requests if not x.startswith("data:image/png")]
    assert [x.rpartition("/")[2] for x in asked] == ["cards.html"]
    assert not page.errors


def test_formulas_are_drawn_and_blocks_have_colours(page):
    heights = page.run("[...document.querySelectorAll('header math')].map(x => x.getBoundingClientRect().height)")
    assert len(heights) >= 3
    assert min(heights) > 8.0
    box = page.run("document.querySelector('svg path').getBoundingClientRect().toJSON()")
    assert box["width"] > 8.0
    assert box["height"] > 8.0


def test_parts_fold_by_a_click(page):
    look = "document.querySelector('details[open]')"
    height = page.run(f"{look}.dataset.one = 1, {look}.offsetHeight")
    page.run("document.querySelector('[data-one] summary').click()")
    assert page.run("document.querySelector('[data-one]').offsetHeight") < height
    assert page.run("document.querySelector('[data-one]').open") is False


def test_letters_have_the_colour_of_the_page(page):
    script = "[...document.querySelectorAll('.soacraft-card td, .soacraft-card header, .soacraft-card pre')]"
    assert page.run(f"[...new Set({script}.map(x => getComputedStyle(x).color))]") == ["rgb(1, 2, 3)"]
    paper = page.run("getComputedStyle(document.querySelector('.soacraft-card')).backgroundColor")
    assert paper == "rgba(0, 0, 0, 0)"
