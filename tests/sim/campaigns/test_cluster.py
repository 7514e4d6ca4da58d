"""Campaigns on a cluster of dask.distributed."""

from __future__ import annotations

import multiprocessing
import threading
import time

import distributed
import pytest
from tests.sim.campaigns.makers import deadly, folder, lag
from tests.sim.campaigns.test_campaign import campaign

from soacraft import sim
from soacraft.errors import CampaignError


def test_a_cluster_gives_the_table_of_a_serial_campaign(tmp_path):
    here, there = campaign(tmp_path, "here"), campaign(tmp_path, "there")
    here.run()
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        there.run(cluster=cluster.scheduler_address)
        with distributed.Client(cluster) as client:
            there.run(cluster=client)
            assert client.status == "running"
    assert there.table().csv() == here.table().csv()


def test_refusals(tmp_path, monkeypatch):
    c = campaign(tmp_path)
    with pytest.raises(CampaignError, match="is the address of a scheduler, as 'tcp://host:8786', or a client; got 5"):
        c.run(cluster=5)
    monkeypatch.setattr("soacraft.sim.campaigns.cluster._PATIENCE", 0.2)
    with pytest.raises(CampaignError, match=r"there is no scheduler at 'tcp://127.0.0.1:9'"):
        c.run(cluster="tcp://127.0.0.1:9")
    monkeypatch.setattr("soacraft.sim.campaigns.cluster.import_module", lambda _: (_ for _ in ()).throw(ImportError))
    with pytest.raises(CampaignError, match=r"needs dask.distributed: pip install 'soacraft\[cluster\]'"):
        c.run(cluster="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_run_that_kills_its_workers_is_recorded_and_the_campaign_goes_on(tmp_path):
    import dask

    c = sim.Campaign(deadly, folder(tmp_path), runs=4, t=2.0, vary={"f.x": sim.Grid((0.0, 3.0, 1.0, 1.5))},
                     measure={"y": "f.y[-1]"}, batch=0)  # fmt: skip
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 2}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
    ):
        c.run(cluster=cluster.scheduler_address)
    assert c.table()["status"].tolist() == ["ok", "killed", "ok", "ok"]
    assert "its workers died" in c.table()["text"][1]


def _schedule(address: str, ready) -> None:
    import asyncio

    async def serve():
        port = int(address.rsplit(":", 1)[1])
        scheduler = distributed.Scheduler(host="127.0.0.1", port=port, dashboard=False)
        async with scheduler, distributed.Worker(address, nthreads=1):
            ready.set()
            await asyncio.sleep(3600)

    asyncio.run(serve())


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_told_and_the_campaign_goes_on(tmp_path):
    context = multiprocessing.get_context("spawn")
    c = sim.Campaign(lag, folder(tmp_path), runs=400, t=1.0, measure={"y": "lag.y[-1]"}, batch=0)
    ready = context.Event()
    process = context.Process(target=_schedule, args=("tcp://127.0.0.1:28786", ready))
    process.start()
    assert ready.wait(60)
    threading.Thread(target=lambda: (time.sleep(3.0), process.kill()), daemon=True).start()
    with pytest.raises(CampaignError, match=r"the scheduler was lost .* `run` again goes on"):
        c.run(cluster="tcp://127.0.0.1:28786")
    done = len(c.table().rows)
    assert 0 < done < 400
    c.run()
    assert c.table().ok.all()
