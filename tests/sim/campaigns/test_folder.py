"""The folder of a campaign: another campaign's is refused, hostile files are, and what is done stays."""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np
import pytest
from tests.sim.campaigns.makers import arm, folder, lag
from tests.sim.campaigns.test_campaign import MEASURE, VARY, campaign

from soacraft import sim
from soacraft.errors import CampaignError
from soacraft.sim.campaigns.folder import write_aside


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (dict(seed=8), "is a campaign of seed 7, not 8: give another folder="),
        (dict(t=2.0), "is a campaign of t 1.0, not 2.0"),
        (dict(measure={"end": "lag.y[-1]"}), "is a campaign of measure"),
        (dict(vary={}), "is a campaign of vary another"),
        (dict(sampling="sobol"), "is a campaign of sampling 'random', not 'sobol'"),
    ],
)
def test_another_campaign_is_refused(tmp_path, more, text):
    campaign(tmp_path)
    with pytest.raises(CampaignError, match=text):
        campaign(tmp_path, **more)


def test_another_system_is_refused(tmp_path):
    campaign(tmp_path)

    def changed(time_constant=1.0):
        s = lag(time_constant)
        s.params["sensor.deviation"] = 0.2
        return s

    changed.__module__, changed.__qualname__ = lag.__module__, lag.__qualname__
    with pytest.raises(CampaignError, match=r"of system .its parts, parameters, model or state. another"):
        sim.Campaign(changed, folder(tmp_path), seed=7, runs=12, t=1.0, vary=VARY, measure=MEASURE, batch=0)


def test_a_latin_hypercube_cannot_grow(tmp_path):
    campaign(tmp_path, sampling="latin")
    with pytest.raises(CampaignError, match="a Latin hypercube of 12 runs, whose points depend on that number"):
        campaign(tmp_path, sampling="latin", runs=13)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "letter.txt").write_text("dear")
    with pytest.raises(CampaignError, match="is there and is no folder of a campaign"):
        campaign(tmp_path)


def test_whole_numbers_are_numbers(tmp_path):
    """A campaign whose bounds were given without a decimal point is opened again, and goes on with one."""
    c = campaign(tmp_path, vary={"time_constant": sim.Uniform(1, 2), "one.value": sim.Uniform(0.0, 1)})
    c.run()
    again = sim.Campaign.open(folder(tmp_path), lag)
    assert again.settings.identity == c.settings.identity
    assert again.table().csv() == c.table().csv()
    vary = {"time_constant": sim.Uniform(1.0, 2.0), "one.value": sim.Uniform(0, 1.0)}
    more = campaign(tmp_path, vary=vary, runs=13)
    assert "12 of 13" in more.status()


def test_shards_of_an_earlier_version_are_read(tmp_path):
    """Their identity has numbers as the maker wrote them, which the file of settings keeps when the campaign grows."""
    vary = {"time_constant": sim.Uniform(1, 2), "one.value": sim.Uniform(0.0, 1)}
    c = campaign(tmp_path, vary=vary)
    c.run()
    table = c.table()
    earlier = dict(msgspec.to_builtins(c.settings), runs=0, source="", accepted=[])
    identity = hashlib.sha256(msgspec.json.encode(earlier)).hexdigest()
    assert identity != c.settings.identity
    for shard in (tmp_path / "runs" / "shards").iterdir():
        content = shard.read_bytes().replace(c.settings.identity.encode(), identity.encode())
        shard.unlink()
        (shard.parent / "0-1-x.json").write_bytes(content)
    vary = {"time_constant": sim.Uniform(1.0, 2.0), "one.value": sim.Uniform(0.0, 1.0)}
    for runs in (12, 13, 14):
        assert campaign(tmp_path, vary=vary, runs=runs).table().csv() == table.csv()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"campaign": "x", "rows": []}', "is a shard of another campaign"),
        (b'{"campaign": "x", "rows": [], "more": 1}', "cannot be read"),
        (b'{"campaign": "x", "rows": [{"run": "a"}]}', "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_hostile_shards_are_refused(tmp_path, content, text):
    c = campaign(tmp_path)
    (tmp_path / "runs" / "shards" / "000000000-1-x.json").write_bytes(content)
    with pytest.raises(CampaignError, match=text):
        c.table()


def test_hostile_rows_are_refused(tmp_path):
    c = campaign(tmp_path)
    row = '{"run": %s, "status": "%s", "inputs": %s, "measures": [1, 2]}'
    for given in ((0, "fine", "[1, 2]"), (0, "ok", "[1]"), (-1, "ok", "[1, 2]")):
        text = f'{{"campaign": "{c.settings.identity}", "rows": [{row % given}]}}'
        (tmp_path / "runs" / "shards" / "x.json").write_text(text)
        with pytest.raises(CampaignError, match="is not of this campaign"):
            campaign(tmp_path).table()


def test_hostile_settings_are_refused(tmp_path):
    campaign(tmp_path)
    (tmp_path / "runs" / "campaign.json").write_text('{"format": "soacraft-campaign/1"}')
    with pytest.raises(CampaignError, match=r"campaign.json' cannot be read"):
        campaign(tmp_path)


def test_bits_that_flip_in_a_shard_are_noticed(tmp_path):
    c = campaign(tmp_path)
    c.run(shard=(1, 12))
    (shard,) = (tmp_path / "runs" / "shards").glob("*.json")
    content = shard.read_bytes()
    for bit in np.random.default_rng(1).integers(8 * len(content), size=100):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        shard.write_bytes(damaged)
        with pytest.raises(CampaignError, match="is damaged: its checksum is"):
            campaign(tmp_path).table()


def test_a_digit_that_changed_in_a_shard_is_noticed(tmp_path):
    c = campaign(tmp_path)
    c.run(shard=(1, 12))
    (shard,) = (tmp_path / "runs" / "shards").glob("*.json")
    text = shard.read_bytes()
    at = text.index(b'"inputs":[') + 13
    shard.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :])
    with pytest.raises(CampaignError, match=r"is damaged: its checksum is .*Take the file away: `run` again"):
        campaign(tmp_path).table()
    shard.unlink()
    c = campaign(tmp_path)
    c.run(shard=(1, 12))
    assert len(c.table().rows) == 1


def test_a_row_that_is_there_twice_is_the_same_or_refused(tmp_path):
    c = campaign(tmp_path)
    c.run(shard=(1, 12))
    (first,) = c._rows().values()
    shards = tmp_path / "runs" / "shards"
    (name,) = [x.name for x in shards.glob("*.json")]
    text = (shards / name).read_text()
    (shards / "copy.json").write_text(text)
    assert len(campaign(tmp_path).table().rows) == 1
    (shards / "copy.json").write_text(
        text.replace('"measures":[', '"measures":[1').replace(str(first.measures[0]), "0.5")
    )
    with pytest.raises(CampaignError, match="run 0 is there twice with other results"):
        campaign(tmp_path).table()


def test_what_was_left_aside_by_a_kill_is_no_shard(tmp_path):
    c = campaign(tmp_path)
    c.run(shard=(1, 4))
    (tmp_path / "runs" / "shards" / ".000000001-1-x.json.99").write_text('{"campaign": "')
    assert len(campaign(tmp_path).table().rows) == 3


def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch):
    place = tmp_path / "x.json"
    write_aside(place, b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_aside(place, b"new")
    assert place.read_bytes() == b"old"
    assert [x.name for x in tmp_path.iterdir()] == ["x.json"]


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    c = campaign(tmp_path)
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(CampaignError, match=r"cannot be written: .*No space left.* `run` again goes on"):
        c.run()
    monkeypatch.undo()
    c.run()
    assert c.table().ok.all()


def test_infinite_numbers_are_kept(tmp_path):
    c = sim.Campaign(arm, folder(tmp_path), runs=1, t=0.1, measure={"a": _infinite})
    c.run()
    again = sim.Campaign(arm, folder(tmp_path), runs=1, t=0.1, measure={"a": _infinite})
    assert again.table()["a"].tolist() == [float("-inf")]


def _infinite(run):
    return float("-inf")
