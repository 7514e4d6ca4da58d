"""FMUs of version 2 and 3: right, against closed forms; code that is not trusted, crashes and files that do harm."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import CheckpointError, LinkError, LostPeerError, SimulationError

HERE = Path(__file__).parent
XML = {
    2: """<fmiModelDescription fmiVersion="2.0" modelName="lag" guid="lag-guid" numberOfEventIndicators="1">
<CoSimulation modelIdentifier="lag" canGetAndSetFMUstate="{can}" canSerializeFMUstate="{can}"/>
<ModelExchange modelIdentifier="lag" completedIntegratorStepNotNeeded="{quiet}"/>
<ModelVariables>
<ScalarVariable name="in.u" valueReference="0" causality="input"><Real start="0" unit="m"/></ScalarVariable>
<ScalarVariable name="y" valueReference="1" causality="output"><Real unit="m"/></ScalarVariable>
<ScalarVariable name="x" valueReference="2"><Real/></ScalarVariable>
<ScalarVariable name="der(x)" valueReference="3"><Real derivative="3"/></ScalarVariable>
<ScalarVariable name="k" valueReference="4" causality="parameter"><Real start="1"/></ScalarVariable>
<ScalarVariable name="drop" valueReference="5" causality="parameter"><Real start="0"/></ScalarVariable>
<ScalarVariable name="note" valueReference="6" causality="output"><String/></ScalarVariable>
</ModelVariables>
<ModelStructure><Derivatives><Unknown index="4"/></Derivatives></ModelStructure></fmiModelDescription>""",
    3: """<fmiModelDescription fmiVersion="3.0" modelName="lag" instantiationToken="lag-guid">
<CoSimulation modelIdentifier="lag" canGetAndSetFMUState="{can}" canSerializeFMUState="{can}"/>
<ModelExchange modelIdentifier="lag"/>
<ModelVariables>
<Float64 name="in.u" valueReference="0" causality="input" start="0" unit="m"/>
<Float64 name="y" valueReference="1" causality="output" unit="m"/>
<Float64 name="x" valueReference="2"/>
<Float64 name="der(x)" valueReference="3" derivative="2"/>
<Float64 name="k" valueReference="4" causality="parameter" start="1"/>
<Float64 name="drop" valueReference="5" causality="parameter" start="0"/>
<String name="note" valueReference="6" causality="output"/>
</ModelVariables>
<ModelStructure><ContinuousStateDerivative valueReference="3"/></ModelStructure></fmiModelDescription>""",
}
FOLDER = {2: "linux64", 3: "x86_64-linux"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lag")
    source = (HERE / "lag.c").read_text()
    for version in (2, 3):
        known = Path(find_spec(f"fmpy.fmi{version}").origin).read_text()
        asked = {*re.findall(rf"def (fmi{version}\w+)\(\s*self", known)}  # all that the standard has
        stubs = "".join(f"int {x}(void) {{ return 3; }}\n" for x in asked - {*re.findall(r"(fmi\d\w+)\(", source)})
        (folder / f"lag{version}.c").write_text(source + stubs)
        command = ["cc", "-w", "-shared", "-fPIC", f"-DFMI{version}", folder / f"lag{version}.c", "-lm"]
        subprocess.run([*command, "-o", folder / f"lag{version}.so"], check=True, timeout=60)
    return folder


@pytest.fixture
def make(libraries, tmp_path):
    def made(version: int, can: str = "true", quiet: str = "true") -> Path:
        path = tmp_path / f"lag{version}{can}{quiet}.fmu"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("modelDescription.xml", XML[version].format(can=can, quiet=quiet))
            file.write(libraries / f"lag{version}.so", f"binaries/{FOLDER[version]}/lag.so")
        return path

    return made


def system(fmu, value=1.0, every=0.1, **how) -> sim.System:
    s = sim.System("tools", **{"integrator": "rk4", "step": 0.1, **how})
    s.add("one", sim.Constant(value=value, unit="m"))
    s.add("lag", fmu, every=every)
    s.connect("one.y", "lag.in_u")
    return s


@pytest.mark.parametrize("version", [2, 3])
def test_co_simulation_against_the_closed_form(make, version):
    with sim.Fmu(make(version), trust=True, start={"k": 2.0, "x": 0.25}) as fmu:
        run = system(fmu).run(1.0)
    assert np.allclose(run.signals["lag.y"], 1.0 - 0.75 * np.exp(-2.0 * run.t), rtol=0, atol=1e-15)
    assert fmu.ignored == ("the output 'note' is a String",)


@pytest.mark.parametrize("version", [2, 3])
def test_model_exchange_against_the_closed_form_with_events(make, version):
    """x rises to 0.5 at ln 2 / k, falls to 0.2, and rises again, in ln(0.8 / 0.5) / k."""
    with sim.Fmu(make(version), trust=True, kind="me", start={"k": 2.0, "drop": 0.3}) as fmu:
        s = system(fmu, every=None, integrator="dop853", rtol=1e-11)
        run = s.run(1.0)
    times = np.unique([x.t for x in run.events])  # the indicator crosses again when the state falls
    first, then = np.log(2.0) / 2.0, np.log(0.8 / 0.5) / 2.0
    assert np.allclose(times, [first, first + then, first + 2 * then], atol=1e-9)
    late = run.t > times[-1]
    assert np.allclose(run.signals["lag.y"][late], 1.0 - 0.8 * np.exp(-2.0 * (run.t[late] - times[-1])), atol=1e-9)
    assert "keeps discrete states inside" in fmu.unkept


def test_a_state_that_is_serialized_is_put_back(make):
    with sim.Fmu(make(2), trust=True) as fmu, sim.Fmu(make(3), trust=True) as other:
        s, t = system(fmu), system(other)
        s.run(0.5)
        kept = s.states["lag.state"]
        a = s.run(1.0)
        s.states["lag.state"] = kept
        b = s.run(1.5)
        assert np.array_equal(a.signals["lag.y"][1:], b.signals["lag.y"][1:])  # as it went on the first time
        assert a.signals["lag.y"][-1] != a.signals["lag.y"][1]
        t.run(0.1)
        t.states["lag.state"] = kept  # of another process, and version, with the same struct
        assert t.run(0.2).signals["lag.y"][-1] == a.signals["lag.y"][1]
    assert fmu.unkept == ""


def test_one_that_cannot_serialize_refuses_the_checkpoint_by_name(make, tmp_path):
    with sim.Fmu(make(2, can="false"), trust=True) as fmu:
        s = system(fmu)
        run = s.run(1.0)
        assert np.allclose(run.signals["lag.y"], 1.0 - np.exp(-run.t), rtol=0, atol=1e-15)
        assert [*s.states] == []
        with pytest.raises(
            CheckpointError, match="'lag' cannot be in a checkpoint: the FMU 'lag' cannot serialize its"
        ):
            s.checkpoint(tmp_path / "a.h5")


def test_a_checkpoint_holds_the_state_of_one_that_serializes(make, tmp_path):
    with sim.Fmu(make(2), trust=True) as fmu, sim.Fmu(make(2), trust=True) as other:
        s = system(fmu)
        s.run(0.5)
        s.checkpoint(tmp_path / "a.h5")
        t = sim.restore(tmp_path / "a.h5", components={"lag": other})
        a, b = s.run(1.0), t.run(1.0)
    assert a.signals["lag.y"].tobytes() == b.signals["lag.y"].tobytes()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (950.0, r"lost peer: the process of 'lag' ended by SIGABRT, at t = 0 s"),
        (850.0, r"lost peer: 'lag' gave no answer within 1 s, at t = 0 s; it was ended"),
        (750.0, r"'lag' failed at t = 0 s: FMICallException: fmi2DoStep failed with status 3 \(error\)"),
    ],
)
def test_what_goes_wrong_there_is_an_error_with_a_name(make, value, text):
    with sim.Fmu(make(2), trust=True) as fmu:
        fmu._host._timeout = 1.0
        s = system(fmu, value)
        with pytest.raises(LinkError, match=text) as e:
            s.run(1.0)
        assert isinstance(e.value, LostPeerError) == ("lost" in text)
        s.params["one.value"] = 1.0  # a new process gets the state of the old one
        assert s.run(1.0).signals["lag.y"][-1] == pytest.approx(1.0 - np.exp(-1.0), rel=1e-12)


def killed(fmu) -> None:
    fmu._host._process.kill()
    fmu._host._process.wait()


def test_states_that_are_lost_or_none(make):
    with sim.Fmu(make(2, can="false"), trust=True) as fmu:
        s = system(fmu)
        s.run(0.3)
        fmu.begin()
        with pytest.raises(
            LinkError, match=r"'lag' is at t = 0\.4 s and cannot serialize its state: no step at t = 5 s"
        ):
            fmu.called(5.0, 0.1, 1.0)
        killed(fmu)
        with pytest.raises(LinkError, match=r"'lag' ended, and its state at t = 0\.4 s is lost; make another"):
            s.run(1.0)
    with sim.Fmu(make(2), trust=True, kind="me") as fmu:
        s = system(fmu, every=None)
        s.run(0.2)
        killed(fmu)
        with pytest.raises(LinkError, match=r"'lag' ended, and its state at t = 0\.2\d* s is lost; make another"):
            s.run(1.0)
    with sim.Fmu(make(2), trust=True) as fmu:
        s = system(fmu)
        s.states["lag.state"] = np.full(len(s.states["lag.state"]), 300)
        with pytest.raises(LinkError, match="the state of 'lag' has numbers that are no bytes, at t = 0 s"):
            s.run(1.0)
        fmu._capacity = 8
        with pytest.raises(LinkError, match="the state of 'lag' grew to 32 bytes, and 8 are kept"):
            system(fmu).run(1.0)


def test_a_number_that_is_none(make):
    with sim.Fmu(make(2), trust=True) as fmu, pytest.raises(SimulationError, match="'y' of 'lag_out' is not finite"):
        system(fmu, 650.0).run(1.0)


def test_refusals_of_choices(make, monkeypatch):
    path = make(2, quiet="false")
    for trust in (False, 1, "yes", None):
        with pytest.raises(LinkError, match="is code, which would run on this machine: say trust=True"):
            sim.Fmu(path, trust=trust)
    with pytest.raises(LinkError, match="must be told of completed steps"):
        sim.Fmu(path, trust=True, kind="me")
    sim.Fmu(path, trust=True, kind="me", untold=True).close()
    with pytest.raises(LinkError, match="the FMU 'lag' offers 'cs' and 'me', not kind='se'"):
        sim.Fmu(path, trust=True, kind="se")
    with pytest.raises(LinkError, match="the FMU 'lag' has no variable 'kk'; did you mean 'k'"):
        sim.Fmu(path, trust=True, start={"kk": 1.0})
    monkeypatch.setitem(sim.Fmu.__new__.__globals__, "find_spec", lambda name: None)
    with pytest.raises(LinkError, match=r"fmpy, which is not installed: pip install 'soacraft\[fmi\]'"):
        sim.Fmu(path, trust=True)


def zipped(path: Path, files: dict[str, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(zipfile.ZipInfo(name) if name.endswith("link") else name, data)
    return path


BOMB = """<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<fmiModelDescription fmiVersion="2.0" modelName="&b;" guid="g"/>"""
ROOT = "<fmiModelDescription fmiVersion='{}' modelName='m' guid='g'>{}</fmiModelDescription>"
CS = "<CoSimulation modelIdentifier='{}'/>"


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({"a": ""}, "is no FMU: it has no modelDescription.xml"),
        ({"modelDescription.xml": XML[2], "../evil.so": "x"}, "has '../evil.so', which would be written outside"),
        ({"modelDescription.xml": XML[2], "/etc/evil": "x"}, "has '/etc/evil', which would be written outside"),
        ({"modelDescription.xml": XML[2], "a/../../b": "x"}, "which would be written outside"),
        ({"modelDescription.xml": XML[2], "a\\..\\b": "x"}, "which would be written outside"),
        ({"modelDescription.xml": XML[2], "A/b": "x", "a/B": "y"}, "has 'a/B' twice"),
        ({"modelDescription.xml": BOMB}, "a document type declaration"),
        ({"modelDescription.xml": "<a"}, "the FMU cannot be read"),
        ({"modelDescription.xml": ROOT.format("1.0", "")}, "is of FMI version '1.0', and 2.0 and 3.0 are known"),
        ({"modelDescription.xml": ROOT.format("2.0", "")}, "offers neither co-simulation nor model exchange"),
        ({"modelDescription.xml": ROOT.format("2.0", CS.format("../../x"))}, "which is no name in C"),
        (
            {
                "modelDescription.xml": ROOT.format(
                    "2.0",
                    CS.format("m")
                    + "<ModelVariables><ScalarVariable name='a'><Real/></ScalarVariable></ModelVariables>",
                )
            },
            "has None where a whole number belongs",
        ),
        (
            {"modelDescription.xml": ROOT.format("2.0", CS.format("m"))},
            "'m' failed at its start: Exception: Cannot find",
        ),
    ],
)
def test_files_that_do_harm_are_refused_before_anything_is_loaded(tmp_path, files, text):
    before = {*sys.modules}
    with pytest.raises(LinkError, match=text.replace("\\", r"\\")):
        sim.Fmu(zipped(tmp_path / "x.fmu", files), trust=True)
    assert "fmpy" not in {*sys.modules} - before
    assert not (tmp_path.parent / "evil.so").exists()


def test_links_and_huge_files_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", XML[2])
        link = zipfile.ZipInfo("resources")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "/etc")
    with pytest.raises(LinkError, match="has 'resources', which would be written outside of its folder"):
        sim.Fmu(path, trust=True)
    zipped(path, {"modelDescription.xml": XML[2], "big": bytes(3_000_000)})
    assert path.stat().st_size < 10_000
    data = bytearray(zipped(path, {"modelDescription.xml": XML[2] * 50}).read_bytes())
    data[60:70] = bytes(10)
    path.write_bytes(data)
    with pytest.raises(LinkError, match=r"'modelDescription\.xml' of the FMU .* (is damaged|cannot be unpacked): "):
        sim.Fmu(path, trust=True)
    zipped(path, {"modelDescription.xml": XML[2], "big": bytes(3_000_000)})
    archive = sim.Fmu.__new__.__globals__["read_fmu"].__globals__
    monkeypatch.setitem(archive, "MAX_UNPACKED", 2_000_000)
    with pytest.raises(LinkError, match=r"would unpack to 300\d+ bytes, more than 2000000"):
        sim.Fmu(path, trust=True)
    monkeypatch.setitem(archive, "MAX_UNPACKED", 2**30)
    monkeypatch.setitem(archive, "MAX_XML", 100)
    with pytest.raises(LinkError, match=r"modelDescription\.xml of .* has \d+ bytes, more than 100"):
        sim.Fmu(path, trust=True)
    monkeypatch.setitem(archive, "MAX_FILES", 1)
    with pytest.raises(LinkError, match="has 2 files, more than 1"):
        sim.Fmu(path, trust=True)
    path.write_bytes(b"PK\3\4 no zip")
    with pytest.raises(LinkError, match="cannot be opened as an FMU, which is a zip file"):
        sim.Fmu(path, trust=True)
    with pytest.raises(LinkError, match="cannot be opened as an FMU"):
        sim.Fmu(tmp_path / "none.fmu", trust=True)
