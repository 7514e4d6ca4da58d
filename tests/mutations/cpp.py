"""Break the C++ code on purpose, one statement at a time, and see that tests fail.

    python -m tests.mutations.cpp                       the campaign: about 160 mutants of all files
    python -m tests.mutations.cpp --only rigid/aba      of these files
    python -m tests.mutations.cpp --least 15            at least so many of each file
    python -m tests.mutations.cpp --new                 only those that nothing is known of
    python -m tests.mutations.cpp --some 6              six that were noticed before, others whenever the code changes
    python -m tests.mutations.cpp --keep DIR            leave the build there, or take the one that is there
    python -m tests.mutations.cpp --keep DIR --try 3 8  these again, by number

One build of a copy of the tree holds all mutants; `SOACRAFT_MUTANT` picks one when the tests run. Each is tried by the
tests of what it belongs to, which stop at the first failure; the test that failed must pass with no mutant.

A campaign writes what was noticed, and by which test, into `ledger.json`. What was noticed must stay noticed: `--some`
draws from that file alone, tries the test of its entry first, then the others of its file, and ends with status 1 when
one goes unnoticed. So the gate does not depend on luck, and new code joins by a campaign (`test_mutations.py` names the
files that have no entry). A mutant that no test can notice is listed in `survivors.py` with the reason. A campaign ends
with status 1 when any other goes unnoticed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tests.mutations import ledger
from tests.mutations.campaign import Campaign
from tests.mutations.cpp_mutants import SWITCH, mutants, plant, sample
from tests.mutations.mutants import Mutant
from tests.mutations.survivors import SURVIVORS
from tests.mutations.tree import ROOT, failed_test

SWEEPS, MATRICES = "core/test_rigid_sweeps.py", "core/test_rigid_matrices.py"
DERIVATIVES, SINGULAR = "core/test_rigid_derivatives.py", "core/test_singular_states.py"
GRADIENTS, OPERATORS = "analysis/test_compiled_gradients.py", "dynamics/test_against_operators.py"
PASSIVE, REFUSALS = "dynamics/test_passive.py", "core/test_rigid_model.py"
QUICK, ENGINES = "dynamics/test_quick_calls.py", "dynamics/test_engines_agree.py"
LINKS = ("core/test_links.py", "dynamics/test_links.py", "core/test_passive.py", PASSIVE)
RIGID = (SWEEPS, MATRICES, DERIVATIVES, OPERATORS, REFUSALS, GRADIENTS, SINGULAR)
COMPILED = tuple(
    f"loops/test_compiled_{name}.py" for name in ("answers", "batches", "calls", "doubt", "lifetime", "tasks")
)
CLOSED = (
    "core/test_closed_solver.py", "core/test_closed_batches.py", "kinematics/test_followed.py", *COMPILED,
    "loops/test_motion.py", "loops/embedding/test_branches.py",
)  # fmt: skip
BLOCKS = ("core/test_core.py", "core/test_block_engine.py", "recursions/test_compiled_blocks.py")


def _first(*names: str) -> tuple[str, ...]:
    """These before the other tests of rigid kernels."""
    return tuple(dict.fromkeys((*names, *RIGID)))


#: Which tests are tried, in this order, for the files whose path has one of the words. All together, where nothing
#: fails, they take about a minute.
TESTS = (
    (("kinematics/qp", "kinematics/wide"), ("kinematics/test_qp.py", "robot/whole_body/test_levels.py")),
    (
        ("kinematics/task_rows", "kinematics/level", "kinematics/symmetric", "kinematics/speed_limits",
         "kinematics/velocity"),
        ("robot/whole_body/test_levels.py", "robot/whole_body/test_limits.py", "robot/whole_body/test_velocity.py",
         "robot/whole_body/test_binding.py", "robot/whole_body/test_distances.py", "robot/whole_body/test_damping.py"),
    ),
    (("snapshot",), ("ops/programs/test_compile.py", "ops/programs/test_lock.py")),
    (
        ("program/rate",),
        ("ops/programs/test_derivatives.py", "ops/programs/test_programs.py"),
    ),
    (
        ("program",),
        ("ops/programs/test_programs.py", "algebra/spaces/test_spaces.py", "ops/programs/test_compile.py",
         "ops/programs/test_derivatives.py", "model/test_versions.py"),
    ),
    (("dispatch",), ("core/test_instruction_sets.py",)),
    (("interrupt", "signals"), ("core/test_interrupt.py",)),
    (("contact/passage",), ("contact/geometry/test_passage.py", "sim/forces/test_contact_element.py")),
    (
        ("sim/lanes", "sim/contact/contact_tables"),
        ("sim/test_lanes.py", "sim/steppers/test_stepper.py", "sim/steppers/test_lanes.py",
         "sim/steppers/test_pushes.py", "sim/steppers/test_parameters.py", "sim/steppers/test_record.py"),
    ),
    (
        ("sim/setting_reader",),
        ("sim/test_compiled_refusals.py", "sim/test_compiled.py", "sim/test_compiled_contact.py",
         "sim/systems/test_compiled.py", "sim/systems/test_plan.py"),
    ),
    (("sim/hold", "sim/dense_points"), ("sim/forces/test_compiled_holds.py",)),
    (("sim/prescribed", "sim/mixed_dynamics"), ("sim/forces/test_compiled_prescribed.py",)),
    (("sim/implicit", "sim/load"), ("sim/test_implicit.py", "sim/test_compiled.py", "sim/test_compiled_contact.py")),
    (("flexible",), ("core/test_flexible.py",)),
    (("closure_space",), ("sim/test_compiled_contact_loops.py",)),
    (("rollout",), ("sim/test_rollout.py",)),
    (
        ("contact/dynamics", "contact/solvers/sparse", "node_factor", "sim/contact"),
        ("sim/test_compiled_contact.py", "sim/test_compiled_contact_loops.py", "contact/test_stepping.py"),
    ),
    (("components/crossing", "components/lookout"), ("sim/systems/test_compiled_crossings.py",)),
    (
        ("sim/calls"),
        ("sim/test_visits.py", "sim/forces/test_evaluation.py", "sim/forces/test_evaluated.py",
         "sim/test_compiled_refusals.py"),
    ),
    (
        ("sim/components"),
        ("sim/components/test_twins.py", "sim/systems/test_edited.py", "sim/systems/test_compiled.py",
         "sim/systems/test_plan.py", "sim/systems/test_compiled_crossings.py", "sim/systems/test_reactions.py"),
    ),
    (("sim/closure_impulses", "sim/variational"), ("sim/test_compiled.py", "sim/test_structure.py")),
    (("rolling_hinge",), ("sim/test_rolling.py",)),
    (
        ("core/sim",),
        ("sim/test_compiled_refusals.py", "sim/test_compiled.py", "sim/test_rollout_singly.py",
         "sim/test_compiled_contact.py", "sim/test_propagator.py", "sim/test_closed.py", "sim/test_structure.py",
         "sim/steppers/test_stepper.py", "sim/test_compiled_contact_loops.py", "sim/test_visits.py",
         "sim/forces/test_evaluation.py"),
    ),
    (("contact/moving", "contact/smooth"), ("robot/world/test_queries.py", "robot/world/test_edges.py")),
    (
        ("contact/lanes", "contact/pair_query", "contact/distance_call", "contact/boxes", "contact/kernels"),
        ("contact/geometry/test_lanes.py", "contact/geometry/test_arrays.py", "contact/geometry/test_distance.py"),
    ),
    (("contact/solver",), ("contact/test_solver.py", "contact/test_stepping.py")),
    (("contact",), ("contact/geometry", "contact/test_stepping.py")),
    (("kinematics/limb", "kinematics/kernels"), ("kinematics/test_limbs.py", "robot/limbs/test_limb.py")),
    (("soacraft/kinematics", "core/kinematics"), ("kinematics/test_reaching.py", "kinematics/test_reach.py")),
    (
        ("loops/motion",),
        ("loops/test_motion.py", "loops/embedding/test_motion.py", "loops/test_inverse.py",
         "loops/embedding/test_branches.py"),
    ),
    (("loops/derivatives", "row_derivatives"), ("loops/test_derivatives.py", "loops/test_linearize.py")),
    (("lanes",), ("core/test_closed_batches.py", "loops/test_compiled_batches.py", *CLOSED)),
    (("inverse_embedding",), ("loops/test_inverse.py", *CLOSED)),
    (
        ("loops/closing", "loops/assembly", "row_space", "closure_jacobian"),
        ("loops/test_motion.py", "kinematics/test_assemble.py", *CLOSED),
    ),
    (("loops",), CLOSED),
    (("passive", "links", "link_rates", "law", "twist_log", "dual"), LINKS),
    (("moderate",), ("core/test_moderate_models.py", "dynamics/test_moderate.py", "dynamics/test_refused_calls.py")),
    (("mixed",), _first("dynamics/test_mixed.py", QUICK)),
    (("compliance",), _first("dynamics/test_operational_space.py", QUICK)),
    (("tracks", "motion"), _first(QUICK, ENGINES)),
    (
        ("rigid/call", "rigid/results", "wrenches"),
        _first(QUICK, "dynamics/test_moderate.py", "dynamics/test_refused_calls.py", "model/test_forces.py", PASSIVE),
    ),
    (("coordinate",), ("model/test_tangent.py",)),
    (("derivatives", "columns", "variation", "sheet", "twists"), _first(DERIVATIVES)),
    (("crba", "minv", "matrix", "matrices", "algorithms", "grid", "inertial"), _first(MATRICES)),
    (("log_det", "gradient", "access"), _first(GRADIENTS)),
    (("kinematics",), _first(OPERATORS)),
    (("standing", "verdict"), _first(SINGULAR)),
    (("binding",), _first(REFUSALS)),
    (
        ("assembly", "parameters", "rigid_model", "tables"),
        _first(REFUSALS, "core/test_passive.py", "model/test_versions.py"),
    ),
    (("drivers/drivers",), _first(SWEEPS, "core/test_passive.py")),
    (("rigid",), _first(SWEEPS)),
    (("scalars", "workspace"), _first(SWEEPS, QUICK, "core/test_closed_batches.py")),
    (("core/call.hpp",), ("core/test_results_of_calls.py", "contact/geometry/test_lanes.py")),
    (("call.cpp",), (SWEEPS, *CLOSED)),
    (("core/array", "numpy_array", "require", "fields"), (*BLOCKS, REFUSALS, "core/test_closed_solver.py")),
    (("",), BLOCKS),
)
#: Tests that take long and see nothing that the others of their file do not: leaks, threads, long motions.
LEFT_OUT = ("loops/test_compiled_doubt.py::test_hinges_with_turning_axes_along_a_motion", *(
    f"loops/test_compiled_lifetime.py::test_{name}" for name in (
        "a_call_while_it_is_taken_apart", "calls_do_not_leak", "threads_with_solvers_of_their_own",
        "threads_that_share_a_solver_while_it_chooses_other_dofs", "models_and_solvers_go")))  # fmt: skip
# Functions stay functions and -O1 is enough: the build takes a third of the time.
_HEADER = f"""#pragma once
#define SOACRAFT_NOT_FLAT
#include <cstdlib>
inline const int {SWITCH} = std::getenv("SOACRAFT_MUTANT") ? std::atoi(std::getenv("SOACRAFT_MUTANT")) : 0;
"""
_LEAVE = shutil.ignore_patterns("__pycache__", ".*cache*", "*.so")
_ERROR = re.compile(r"([^\s:]*core/[^\s:]+):(\d+):(\d+): (?:error|  +required)", re.MULTILINE)


def copy_of_the_tree(folder: Path) -> Path:
    """Sources, tests and settings."""
    for part in ("src", "core", "cmake", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=_LEAVE)
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "mutant.hpp").write_text(_HEADER)
    settings = folder / "CMakeLists.txt"
    settings.write_text(settings.read_text().replace("-O3", "-O1"))
    return folder


def digest(chosen: Sequence[Mutant]) -> str:
    """A number that changes with the C++ code and the choice of mutants."""
    files = (ROOT / "CMakeLists.txt", *sorted(x for x in (ROOT / "core").rglob("*.[ch]pp")))
    text = b"".join(x.read_bytes() for x in files) + "".join(x.title for x in chosen).encode()
    return hashlib.sha256(text).hexdigest()


def build(copy: Path) -> str | None:
    """Build the module into the copy of the package; what the compiler says, None when all is well."""
    place = copy / "build"
    flags = f"-include {copy / 'mutant.hpp'}"
    configure = ["cmake", "-S", str(copy), "-B", str(place), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DSOACRAFT_PORTABLE=ON", f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_FLAGS={flags}",
                 f"-DSKBUILD_PROJECT_VERSION={version('soacraft')}"]  # fmt: skip
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in (configure, ["cmake", "--build", str(place), "--", "-k", "0"]):
        done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stdout + done.stderr
    for made in place.glob("_core*"):
        shutil.copy(made, copy / "src" / "soacraft")
    return None


def planted(copy: Path, chosen: Sequence[Mutant]) -> list[int]:
    """Build the copy with mutants in it; the numbers of those that the compiler takes."""
    clean = {path: (copy / path).read_text() for path in {mutant.path for mutant in chosen}}
    numbers = set(range(1, len(chosen) + 1))
    for _ in range(8):
        plant(copy, chosen, numbers)
        said = build(copy)
        if said is None:
            return sorted(numbers)
        refused = {_blamed(copy, path, int(line), int(column)) for path, line, column in _ERROR.findall(said)} & numbers
        if not refused:
            raise SystemExit(f"the copy does not build, and no mutant is to blame:\n{said[-3000:]}")
        numbers -= refused
        for path in {chosen[n - 1].path for n in refused}:
            (copy / path).write_text(clean[path])
    raise SystemExit("the copy does not build: too many mutants that the compiler refuses")


def _blamed(copy: Path, path: str, line: int, column: int) -> int:
    """The mutant at a place that the compiler names, 0 for none."""
    lines = (copy / path[path.rindex("core/") :]).read_text().splitlines()
    switches = re.finditer(rf"{SWITCH} == (\d+)", lines[line - 1] if line <= len(lines) else "")
    return next((int(at[1]) for at in reversed([*switches]) if at.start() < column), 0)


def first_failure(copy: Path, number: int, tests: Sequence[str]) -> str | None:
    """The function of the first test that fails with a mutant, None when all pass."""
    return failed_test(copy, tests, {"SOACRAFT_MUTANT": str(number), "PYTHONDONTWRITEBYTECODE": ""}, LEFT_OUT)


def tests_of(path: str) -> Sequence[str]:
    """The tests of a file of the core."""
    return next(tests for words, tests in TESTS if any(word in path for word in words))


def made(copy: Path, chosen: Sequence[Mutant]) -> list[int]:
    """A build with the mutants in `copy`; the numbers of those that are in it. One that is there already is taken, with
    the tests as they are now.
    """
    known, kept = digest(chosen), copy / "mutants.json"
    if kept.exists() and (found := json.loads(kept.read_text()))["digest"] == known:
        for part in ("src", "tests"):
            shutil.copytree(ROOT / part, copy / part, ignore=_LEAVE, dirs_exist_ok=True)
        return list(found["numbers"])
    if copy.exists():
        if not kept.exists() and any(copy.iterdir()):
            raise SystemExit(f"{copy} holds something else than a build of mutants; name another folder")
        shutil.rmtree(copy)
    numbers = sorted(planted(copy_of_the_tree(copy), chosen))
    kept.write_text(json.dumps({"digest": known, "numbers": numbers}))
    return numbers


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=160, help="about how many mutants (default: %(default)s)")
    parser.add_argument("--least", type=int, default=1, metavar="N", help="at least so many of each file")
    parser.add_argument("--some", type=int, metavar="N", help="so many that were noticed before, by turns")
    parser.add_argument("--only", nargs="+", default=[""], metavar="PART", help="parts of the paths of files")
    parser.add_argument("--new", action="store_true", help="only those in neither ledger.json nor survivors.py")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the build is, or is to be left")
    parser.add_argument("--try", nargs="+", type=int, dest="numbers", metavar="N", help="only these, by number")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    asked = parser.parse_args(arguments)
    present = mutants(ROOT)
    known = ledger.live(ledger.read(), present)
    chosen = [m for m in sample(ROOT, asked.count, asked.least) if any(part in m.path for part in asked.only)]
    if asked.some:
        chosen = ledger.drawn(known, asked.some, digest([]))
    with tempfile.TemporaryDirectory() as place:
        copy = asked.keep.resolve() if asked.keep else Path(place) / "tree"
        start = time.monotonic()
        numbers = made(copy, chosen)
        print(f"{len(numbers)} mutants in one build ({time.monotonic() - start:.0f} s);"
              f" {len(chosen) - len(numbers)} do not compile", flush=True)  # fmt: skip
        numbers = [n for n in numbers if not asked.numbers or n in asked.numbers]
        if asked.new:
            numbers = [n for n in numbers if chosen[n - 1] not in known and chosen[n - 1].key not in SURVIVORS]
        return tried(copy, chosen, numbers, asked.jobs, known, None if asked.some else ledger.FILE)


def tried(
    copy: Path, chosen: Sequence[Mutant], numbers: Sequence[int], jobs: int, known: ledger.Ledger, file: Path | None
) -> int:
    """Run the tests of each, and write those that were noticed into `file`; 1 when one goes unnoticed or a test fails
    without a mutant.
    """

    def failure(number: int, tests: Sequence[str]) -> str | None:
        return first_failure(copy, number, tests)

    campaign = Campaign(copy, chosen, known, SURVIVORS, lambda mutant: tests_of(mutant.path), failure)
    return campaign.run(numbers, jobs, file)


if __name__ == "__main__":
    sys.exit(main())
