"""The workbench page in a browser: typed, clicked and read as a user does; hostile names and files stay text."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.view.browser import Browser

import soacraft as sc
from soacraft.files.native import to_json

pytestmark = pytest.mark.browser

MASS_MATRIX = "H*phi*M*phi.T*H.T"
ATTACK = "document.documentElement.dataset.attacked=1"
HOSTILE = f"</script><script>{ATTACK}</script><img src=x onerror='{ATTACK}'>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        made.size(1200, 800)
        yield made


@pytest.fixture(autouse=True)
def nothing_leaves_the_machine(browser):
    browser.requests.clear()
    browser.errors.clear()
    yield
    assert browser.requests
    assert all(x.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:")) for x in browser.requests)
    assert not browser.errors


def open_page(browser, bench):
    browser.open(bench.url)
    browser.until(f"document.querySelectorAll('#tree li').length === {len(bench.mb)}")


def answers(browser):
    return browser.run("document.querySelectorAll('#answers > li').length")


def type_line(browser, text):
    """Type a line, as keys do, and wait for its card; the text of it."""
    count = answers(browser)
    browser.run("document.getElementById('line').focus()")
    browser._call("Input.insertText", text=text)
    key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    browser._call("Input.dispatchKeyEvent", type="keyDown", **key)
    browser._call("Input.dispatchKeyEvent", type="keyUp", **key)
    browser.until(f"document.querySelectorAll('#answers > li').length > {count}")
    return browser.run("document.querySelector('#answers > li:last-child').textContent")


def table(browser):
    """The numbers of the last card."""
    script = (
        "[...document.querySelector('#answers > li:last-child table.numbers').querySelectorAll('tbody tr')]"
        ".map(row => [...row.querySelectorAll('td')].map(x => +x.textContent))"
    )
    return np.array(browser.run(script))


def in_scene(browser, script):
    """What an expression gives in the frame of the scene."""
    frame = browser._call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
    context = browser._call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    made = browser._call("Runtime.evaluate", expression=script, contextId=context, returnByValue=True)
    assert "exceptionDetails" not in made, made
    return made["result"].get("value")


def wait(check, seconds=60.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "still waiting"
        time.sleep(0.1)


def box_of(selector):
    return f"document.querySelector('{selector}').getBoundingClientRect()"


def scene_pixels(browser):
    box = browser.run(f"(b => [b.left, b.top, b.width, b.height])({box_of('#seen')})")
    left, top, width, height = (round(x) for x in box)
    return browser.pixels()[top : top + height, left : left + width]


def test_expressions_sliders_and_blocks(browser):
    mb = sc.load("double_pendulum")
    with sc.view.open_workbench(mb) as bench:
        open_page(browser, bench)
        said = type_line(browser, "H*D")
        assert "H*D\n ^" in said
        assert "SpaceError: cannot form H * D" in said
        type_line(browser, MASS_MATRIX)
        assert browser.run("document.querySelector('#answers > li:last-child math').textContent") == "HϕMϕ*H*"
        assert np.allclose(table(browser), sc.dynamics.mass_matrix(mb, mb.q), rtol=1e-4)
        # a body that is picked in the scene is the one of the tree
        wait(lambda: in_scene(browser, "document.querySelectorAll('#bodies button').length") == 2)
        in_scene(browser, "document.querySelectorAll('#bodies button')[1].click()")
        lit = "[...document.querySelectorAll('#tree [aria-selected=true]')].map(x => x.firstChild.textContent)"
        wait(lambda: browser.run(lit) == ["lower"])
        in_scene(browser, "document.querySelectorAll('#bodies button')[1].click()")
        # a slider of the scene moves the model, and the numbers follow
        wait(lambda: in_scene(browser, "document.querySelectorAll('#moves input').length") == 2)
        before = scene_pixels(browser)
        slider = "document.querySelectorAll('#moves input')[1]"
        in_scene(browser, f"(x => {{ x.value = 1.2; x.dispatchEvent(new Event('input')); }})({slider})")
        wait(lambda: abs(mb.q[1]) > 0.5)
        wait(lambda: np.allclose(table(browser), sc.dynamics.mass_matrix(mb, mb.q), rtol=1e-4, atol=1e-6))
        wait(lambda: (np.abs(scene_pixels(browser) - before).max(axis=2) > 50).mean() > 0.003)
        # a block that is selected lights its bodies, in the tree and in three dimensions
        unlit = scene_pixels(browser)
        cell = box_of("#answers > li:last-child rect.cell")
        browser.click(*browser.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])({cell})"))
        assert browser.run(lit) == ["upper"]
        browser.until("document.querySelector('#answers > li:last-child').textContent.includes('block [upper, upper]')")
        wait(lambda: (np.abs(scene_pixels(browser) - unlit).max(axis=2) > 50).mean() > 0.001)
        # by keys: the picture has the focus, arrows move, enter selects
        browser.run("document.querySelector('#answers > li:last-child svg').focus()")
        for key in ("ArrowRight", "Enter"):
            browser._call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
        browser.until("document.querySelector('#answers > li:last-child').textContent.includes('block [upper, lower]')")
        assert browser.run(lit) == ["upper", "lower"]


def test_proofs_sweeps_history_and_notebook(browser):
    with sc.view.open_workbench("arm7") as bench:
        open_page(browser, bench)
        said = type_line(browser, "prove((I - H*psi*K)*H*phi, H*psi)")
        assert "multiplying out" in said
        assert browser.run("document.querySelectorAll('ol.steps math').length") > 2
        type_line(browser, "phi")
        player = "[...document.querySelectorAll('#answers > li:last-child details')].pop()"
        browser.run(f"(x => {{ x.open = true; x.querySelector('input').focus(); }})({player})")
        lit = "[...document.querySelectorAll('#tree li')].map(x => x.className)"
        script = "(x => { x.value = {}; x.dispatchEvent(new Event('input')); })(document.activeElement)"
        browser.run(script.replace("{}", "0"))
        assert browser.run(lit) == [""] * 6 + ["gather"]  # a gather begins at the tip
        browser.run(script.replace("{}", "6"))
        assert browser.run(lit) == ["gather"] + ["done"] * 6
        browser.run("document.getElementById('line').focus()")
        for _ in range(2):
            browser._call("Input.dispatchKeyEvent", type="keyDown", key="ArrowUp", code="ArrowUp")
        assert browser.run("document.getElementById('line').value").startswith("prove(")
        browser.run("document.getElementById('line').value = ''; document.getElementById('notebook').click()")
        browser.until("document.getElementById('said').textContent === 'workbench.ipynb is saved'")


def test_every_control_has_a_name_and_dark_is_dark(browser):
    with sc.view.open_workbench("double_pendulum") as bench:
        open_page(browser, bench)
        type_line(browser, MASS_MATRIX)
        nodes = browser._call("Accessibility.getFullAXTree")["nodes"]
        controls = [x for x in nodes if x.get("role", {}).get("value") in
                    ("button", "textbox", "slider", "treeitem", "tree", "application", "Iframe", "list")]  # fmt: skip
        named = [x for x in controls if x.get("name", {}).get("value")]
        assert {"tree", "treeitem", "textbox", "button", "application"} <= {x["role"]["value"] for x in named}
        unnamed = [x["role"]["value"] for x in controls if x not in named and not x.get("ignored")]
        assert [x for x in unnamed if x != "list"] == []
        paper = "getComputedStyle(document.body).backgroundColor"
        assert browser.run(paper) == "rgb(255, 255, 255)"
        for scheme, colour in (("dark", "rgb(27, 31, 36)"), ("light", "rgb(255, 255, 255)")):
            wanted = [{"name": "prefers-color-scheme", "value": scheme}]
            browser._call("Emulation.setEmulatedMedia", features=wanted)
            assert browser.run(paper) == colour
        browser.size(420, 900)  # on a narrow page nothing covers anything
        tops, ends = (
            browser.run(f"['seen', 'work', 'parts'].map(x => document.getElementById(x).getBoundingClientRect().{x})")
            for x in ("top", "bottom")
        )
        assert all(end <= top for end, top in zip(ends, tops[1:], strict=False))
        assert browser.run(f"{box_of('#answers')}.height") > 300
        browser.size(1200, 800)
        focus = "(x => x.id || x.getAttribute('role') || x.tagName)(document.activeElement)"
        browser.run("document.getElementById('file').focus()")
        tab = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        browser._call("Input.dispatchKeyEvent", type="keyDown", **tab)
        assert browser.run(focus) == "notebook"
        browser.run("document.querySelector('#tree li').focus()")
        browser._call("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown", code="ArrowDown")
        assert browser.run("document.activeElement.firstChild.textContent") == "lower"
        order = []
        while "line" not in order and len(order) < 20:  # from the tree through the answers to the prompt
            browser._call("Input.dispatchKeyEvent", type="keyDown", **tab)
            order.append(browser.run(focus))
        assert order[0] == "answers"
        assert {"application", "SUMMARY", "line"} <= set(order)


def test_a_file_is_opened(browser, tmp_path):
    place = tmp_path / "biped.json"
    place.write_bytes(to_json(sc.load("biped")))
    with sc.view.open_workbench("double_pendulum") as bench:
        open_page(browser, bench)
        root = browser._call("DOM.getDocument")["root"]["nodeId"]
        box = browser._call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
        browser._call("DOM.setFileInputFiles", nodeId=box, files=[str(place)])
        browser.until("document.querySelectorAll('#tree li').length === 12")
        assert browser.run("document.getElementById('model').textContent") == "biped"
        assert "hinge[25] <- hinge[25]" in type_line(browser, MASS_MATRIX)
        place.with_suffix(".urdf").write_text("<robot")
        browser._call("DOM.setFileInputFiles", nodeId=box, files=[str(place.with_suffix(".urdf"))])
        browser.until("document.getElementById('said').textContent.includes('biped.urdf')")
        assert browser.run("document.getElementById('model').textContent") == "biped"


def test_nothing_hostile_runs(browser):
    mb = sc.Multibody(HOSTILE)
    mb.add_body(HOSTILE, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -1)))
    with sc.view.open_workbench(mb) as bench:
        open_page(browser, bench)
        assert browser.run("document.querySelector('#tree li').firstChild.textContent") == HOSTILE
        said = type_line(browser, f'X("{HOSTILE}")')
        assert "body[6] <- body[6]" in said
        lines = {
            "(" * 500: "more than 40 brackets",
            "phi" + "+phi" * 999: "400 operators or more",
            HOSTILE: "there is no sign '<' here",
            "constructor": "there is no 'constructor'",
            "__proto__": "there is no '__proto__'",
            "phi.__class__": "has no .__class__",
            f"nothing_{'x' * 3900}": "there is no 'nothing_",
        }
        for text, says in lines.items():
            assert says in type_line(browser, text)
        assert browser.run("document.documentElement.dataset.attacked") is None
        assert browser.run("document.querySelectorAll('img, #answers script, #tree script').length") == 0
        # the policy holds too: what a script would ask for outside is refused
        assert browser.run("fetch('http://192.0.2.1/').then(() => 'sent', () => 'refused')") == "refused"
        assert browser.run("fetch('/').then(() => 'sent', () => 'refused')") == "refused"
        assert not any("192.0.2.1" in x for x in browser.requests)


def overlap(a, b):
    """Area that two boxes (left, top, right, bottom) share."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


SIDES = "(b => [b.left, b.top, b.right, b.bottom])"


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1920, 1080)])
@pytest.mark.parametrize("look", ["light", "dark"])
def test_nothing_is_cut_or_covered(browser, width, height, look):
    """A humanoid with its sliders beside it, the formula of a large answer, the examples, and help for the mouse."""
    browser.size(width, height)
    browser._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": look}])
    with sc.view.open_workbench("h1") as bench:
        open_page(browser, bench)
        assert browser.run("document.documentElement.scrollWidth") <= width
        bottoms = "[...document.querySelectorAll('#examples button')].map(x => x.getBoundingClientRect().bottom)"
        examples = browser.run(bottoms)
        assert len(examples) == 5
        assert 0 < min(examples) <= max(examples) < height
        browser.run("document.querySelector('#examples button').click()")
        browser.until("document.querySelectorAll('#answers > li').length === 1")
        browser.settled()
        page, formula = (browser.run(f"{SIDES}({box_of(x)})") for x in ("#answers", "#answers math"))
        assert overlap(page, formula) == pytest.approx((formula[2] - formula[0]) * (formula[3] - formula[1]))
        assert browser.run("(x => x.scrollWidth <= x.clientWidth)(document.querySelector('#answers .formula'))")
        wait(lambda: in_scene(browser, "document.querySelectorAll('#moves input').length") == 25)
        canvas, moves, hands = (in_scene(browser, f"{SIDES}({box_of(x)})") for x in ("#view", "#moves", "#hands"))
        assert overlap(canvas, moves) == 0.0
        assert overlap(canvas, hands) > 0.0
        assert "shift and drag" in in_scene(browser, "document.querySelector('#hands').textContent")
        assert in_scene(browser, "(x => x.scrollWidth <= x.clientWidth)(document.querySelector('#moves'))")
    browser._call("Emulation.setEmulatedMedia", features=[])
    browser.size(1200, 800)


def test_a_wide_formula_is_set_smaller_and_not_cut(browser):
    with sc.view.open_workbench("double_pendulum") as bench:
        open_page(browser, bench)
        type_line(browser, "+".join(["H*phi*M*phi.T*H.T"] * 9))
        browser.settled()
        assert browser.run("(x => x.scrollWidth <= x.clientWidth)(document.querySelector('#answers .formula'))")
        assert browser.run("parseFloat(getComputedStyle(document.querySelector('#answers math')).fontSize)") < 18
        page, formula = (browser.run(f"{SIDES}({box_of(x)})") for x in ("#answers", "#answers math"))
        assert formula[2] <= page[2]
