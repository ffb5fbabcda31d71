"""What `volary run` keeps on this machine: by which name, where, and whose turn it is."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import reconciler_fixtures as given
from volary.clusters.client import client_pool
from volary.controller import local_runs, system_clock
from volary.controller.planning import opened_applications
from volary.controller.runs import ready_runs
from volary.controller.status import application_statuses
from volary.engine.runs import run_builder
from volary.model import errors, statuses
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages
from volary.store import fencing, records, stores

US = local_runs.ApplicationKey("https://git.example/shop", "app/volary.yaml", ("https://us",))
BOTH = local_runs.ApplicationKey(
    "https://git.example/shop", "app/volary.yaml", ("https://eu", "https://us")
)
OTHER = local_runs.ApplicationKey("https://git.example/shop", "app/other.yaml", ("https://us",))
TTL = timedelta(minutes=1)


def test_the_same_application_on_some_of_the_same_clusters_overlaps() -> None:
    there = records.ApplicationRecord(BOTH.name)

    assert US.name != BOTH.name
    assert US.overlaps(there)
    assert not OTHER.overlaps(there)
    assert not US.overlaps(records.ApplicationRecord("\n".join(BOTH.name.split("\n")[:3])))


def test_the_file_is_where_state_belongs(tmp_path: Path) -> None:
    file = local_runs.store_file({"XDG_STATE_HOME": str(tmp_path / "state")})
    address, warnings = local_runs.store_address(file)

    assert file == tmp_path / "state/volary/volary.db"
    assert (address, warnings) == (f"sqlite:{file}", ())
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert local_runs.store_address(file) == (address, ()), "it is there from now on"


async def test_a_file_that_is_no_store_is_named_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "volary.db"
    file.write_text("{not a database" * 100)

    with pytest.raises(errors.UserError, match=f"hint: move {file} away"):
        async with local_runs.open_store(f"sqlite:{file}", system_clock.SystemClock()):
            pass


@pytest.mark.parametrize(
    ("under_way", "ended", "left_behind"),
    [(True, False, ["r1"]), (False, False, []), (True, True, [])],
)
async def test_what_an_earlier_process_did_not_finish_is_left_behind(
    under_way: bool, ended: bool, left_behind: list[str]
) -> None:
    clock = system_clock.SystemClock()
    sync = pipelines.Stage(rollout_stages.SYNC.name, rollout_stages.SyncOptions())
    made = run_builder.RunSpec("shop", "c1", run_builder.one_group(("us",)), (sync,))
    run = run_builder.new_run("r1", made, clock.now())
    if ended:
        run = replace(run, status=statuses.RunStatus.SUCCEEDED, finished=clock.now())
    status = application_statuses.ApplicationStatus(run="r1", under_way=under_way)
    known = records.ApplicationRecord(
        US.name, "shop", "volary.yaml", document=application_statuses.to_document(status)
    )
    async with (
        local_runs.open_store(local_runs.IN_MEMORY, clock) as store,
        client_pool.open_pool(fleets.Fleet(()), clock=clock) as clusters,
    ):
        await store.applications.keep(known, fence=None)
        await given.keep_run(store, run, given.Kind.RELEASE)
        dependencies = ready_runs.Dependencies(local_runs.LocalRepositories(), clusters, clock)
        async with local_runs.hold(store, US.name, dependencies, clusters) as application:
            stored = await application.left_behind()
            after = application.status

    assert ([stored.head.id] if stored else []) == left_behind
    assert after.under_way is bool(left_behind), "the end of one that has ended is written down"


async def holder_after(store: stores.Store, owner: str) -> str:
    """Who has the lease, within the body of `hold`, when somebody else took it before."""
    taken = await store.leases.acquire(US.name, owner, TTL)
    assert taken is not None
    clock = system_clock.SystemClock()
    async with client_pool.open_pool(fleets.Fleet(()), clock=clock) as clusters:
        dependencies = ready_runs.Dependencies(local_runs.LocalRepositories(), clusters, clock)
        async with local_runs.hold(store, US.name, dependencies, clusters):
            now = await store.leases.current(US.name)
    assert now is not None
    assert await store.leases.current(US.name) is None, "it was not given back"
    return now.owner


@pytest.fixture
def ended() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


async def test_the_lease_of_a_process_that_is_no_more_is_taken_over(ended: int) -> None:
    machine = local_runs.machine_name()
    async with local_runs.open_store(local_runs.IN_MEMORY, system_clock.SystemClock()) as store:
        owner = await holder_after(store, f"{machine} {ended}")

    assert owner == f"{machine} {os.getpid()}"


@pytest.mark.parametrize("owner", ["another machine {ended}", "{machine} {parent}"])
async def test_a_process_that_may_live_keeps_its_lease(owner: str, ended: int) -> None:
    said = owner.format(machine=local_runs.machine_name(), parent=os.getppid(), ended=ended)
    async with local_runs.open_store(local_runs.IN_MEMORY, system_clock.SystemClock()) as store:
        with pytest.raises(errors.UserError, match="another `volary run` of this application"):
            await holder_after(store, said)
        held = await store.leases.current(US.name)

    assert held is not None
    assert held.owner == said


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (fencing.LeaseLost("another has it"), errors.PermanentError),
        (ValueError("it is a bug"), ValueError),
    ],
)
async def test_only_who_is_overtaken_says_that_another_process_goes_on(
    raised: Exception, seen: type[Exception]
) -> None:
    clock = system_clock.SystemClock()
    async with (
        local_runs.open_store(local_runs.IN_MEMORY, clock) as store,
        client_pool.open_pool(fleets.Fleet(()), clock=clock) as clusters,
    ):
        dependencies = ready_runs.Dependencies(local_runs.LocalRepositories(), clusters, clock)
        with pytest.raises(seen) as caught:
            async with local_runs.hold(store, US.name, dependencies, clusters):
                raise raised

    told = "another process took the run over" in str(caught.value)
    assert told is isinstance(raised, fencing.LeaseLost)


def test_where_nothing_can_be_written_a_run_is_kept_in_memory_and_that_is_a_warning(
    tmp_path: Path,
) -> None:
    (tmp_path / "state").write_text("")

    address, (warning,) = local_runs.store_address(tmp_path / "state/volary/volary.db")

    assert address == local_runs.IN_MEMORY
    assert warning.severity is errors.Severity.WARNING
    assert "it cannot go on if this process is killed" in warning.message


async def test_a_cluster_without_a_kubeconfig_that_can_be_read_is_known_by_its_name(
    tmp_path: Path,
) -> None:
    """Two fleets with such clusters are not about the same ones."""
    (tmp_path / "volary.yaml").write_text(
        "apiVersion: volary.dev/v1\nkind: Application\nmetadata: {name: shop}\n"
    )
    config = tmp_path / "config"
    config.write_text(
        json.dumps(
            {
                "clusters": [{"name": "eu", "cluster": {"server": "https://eu.example"}}],
                "contexts": [{"name": "eu", "context": {"cluster": "eu"}}],
            }
        )
    )
    opened = await opened_applications.open_application(str(tmp_path))
    members = fleets.Fleet(
        (
            fleets.Cluster("us", kubeconfig=(str(tmp_path / "missing"),)),
            fleets.Cluster("eu", kubeconfig=(str(config),), context="eu"),
        )
    )

    key = local_runs.key_of(opened, members)

    assert key.servers == ("https://eu.example", "us")
    assert (key.location, key.path) == (os.path.realpath(tmp_path), "volary.yaml")
