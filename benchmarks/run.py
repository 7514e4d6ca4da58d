"""The benchmarks. `./run bench list` names them, `./run bench growth` runs one, `./run bench` runs all.

Each prints a table and writes it, with the machine's facts, to `benchmarks/results/`, and its main figures to the
page of benchmarks, where it has a summary of them; `peers` writes six rows to the README too. `--quick` runs tiny sizes
to see that everything works; its figures mean nothing and are written only where `--results` says.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType

import analysis
import contact
import flexible
import growth
import loading
import loops
import machine
import peers
import road
import robot
import sim
import systems
import view

BENCHMARKS: dict[str, ModuleType] = {
    "growth": growth,
    "peers": peers,
    "analysis": analysis,
    "loops": loops,
    "loading": loading,
    "road": road,
    "sim": sim,
    "systems": systems,
    "contact": contact,
    "flexible": flexible,
    "robot": robot,
    "view": view,
}
RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]
#: Where the main figures of a benchmark are shown.
PAGE = ROOT / "docs" / "benchmarks" / "index.md"
README = ROOT / "README.md"
FIGURES = dict.fromkeys(("peers", "flexible", "robot", "growth", "loops", "sim"), PAGE)
#: Where the headlines of a benchmark are shown.
HEADLINES = {"peers": README}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run (default: all), or: list")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it works")
    parser.add_argument("--results", type=Path, help="folder to write to (default: benchmarks/results, unless --quick)")
    given = parser.parse_args(arguments)
    if given.names == ["list"]:
        for name, module in BENCHMARKS.items():
            print(f"{name:10}  {(module.__doc__ or '').splitlines()[0]}")
        return 0
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    folder = given.results or (None if given.quick else RESULTS)
    for name in given.names or BENCHMARKS:
        report(name, given.quick, folder)
    return 0


def report(name: str, quick: bool, folder: Path | None) -> None:
    """Run one benchmark, print it, and write it as Markdown and JSON."""
    command = f"./run bench {name}{' --quick' if quick else ''}"
    facts = {"command": command, **machine.facts()}
    module = BENCHMARKS[name]
    result = module.run(quick)
    head = "\n".join(f"- {key}: {f'`{value}`' if key == 'command' else value}" for key, value in facts.items())
    page = f"# {name}\n\n{' '.join((module.__doc__ or '').split())}\n\n{head}\n\n{module.text(result)}\n"
    print(page)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(page)
        (folder / f"{name}.json").write_text(json.dumps({"facts": facts, **result}, indent=1) + "\n")
    if folder == RESULTS and hasattr(module, "summary"):
        place = FIGURES[name]
        place.write_text(with_figures(place.read_text(), name, module.summary(result, facts)))
    if folder == RESULTS and name in HEADLINES:
        place = HEADLINES[name]
        place.write_text(with_figures(place.read_text(), name, module.headline(result, facts)))


def with_figures(page: str, name: str, figures: str) -> str:
    """The page with the figures of a benchmark between its two marks."""
    mark = f"<!-- {name}: written by ./run bench {name} -->"
    before, _, after = page.partition(mark)
    assert after, f"the page has no mark {mark}"
    return f"{before}{mark}\n\n{figures}\n\n{after[after.index('<!-- end -->') :]}"


if __name__ == "__main__":
    sys.exit(main())
