"""Servers of one database know how many they are."""

import asyncio
import contextlib
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

import fixed_clock
import process_time
from volary.controller.api import server_service
from volary.controller.leadership import election
from volary.model import server_settings
from volary.server import serving
from volary.server.sharing import server_registry
from volary.store import factory, records, stores


async def test_servers_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_registry, "INTERVAL", timedelta(seconds=0.05))
    async with factory.open_store("memory:", clock=fixed_clock.FixedClock()) as store:
        first, second = (
            server_registry.ServerRegistry(store, name, f"http://{name}:8080")
            for name in ("a", "b")
        )
        await first.register()
        alone = first.count
        await second.register()
        await store.leases.acquire(election.NAME, "b", timedelta(seconds=10))
        shown = await server_service.ServerService(store).list()
        async with asyncio.TaskGroup() as group:
            going = [group.create_task(each.keep_registered()) for each in (first, second)]
            await process_time.until(lambda: first.count == 2)
            going[1].cancel()
            await process_time.until(lambda: first.count == 1)
            going[0].cancel()
        left = await server_service.ServerService(store).list()

    assert alone == 1
    assert [(each.address, each.is_leader) for each in shown] == [
        ("http://a:8080", False),
        ("http://b:8080", True),
    ]
    assert left == ()


async def test_who_was_forgotten_comes_again() -> None:
    clock = fixed_clock.FixedClock()
    async with factory.open_store("memory:", clock=clock) as store:
        own = server_registry.ServerRegistry(store, "a", "http://a:8080")
        await own.register()
        await store.servers.end("a")
        gone = await _addresses(store)
        await own._beat()
        back = await _addresses(store)

    assert (gone, back) == ([], ["http://a:8080"])


async def _addresses(store: stores.Store) -> list[str]:
    live: tuple[records.ServerRecord, ...] = await store.servers.live(
        silence=server_service.SILENCE
    )
    return [each.address for each in live]


def test_the_address_is_what_the_settings_say_or_where_it_listens() -> None:
    def settings(**more: str) -> server_settings.Settings:
        return server_settings.Settings("fleet.yaml", "data", "memory:", **more)

    with serving.bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        listening = server_registry.address_of(settings(), taken)
        everywhere = server_registry.address_of(settings(host="0.0.0.0"), taken)
        said = server_registry.address_of(settings(advertise="https://10.0.0.7:8443/"), taken)

    assert listening == f"http://127.0.0.1:{port}"
    assert everywhere.endswith(f":{port}")
    assert "0.0.0.0" not in everywhere
    assert said == "https://10.0.0.7:8443"


async def test_a_server_starts_while_nothing_can_be_written_and_registers_later(
    tmp_path: Path,
) -> None:
    file = tmp_path / "volary.db"
    async with factory.open_store(
        f"sqlite:{file}",
        clock=fixed_clock.FixedClock(),
        limits=records.Limits(busy=timedelta(seconds=0.1)),
    ) as store:
        own = server_registry.ServerRegistry(store, "a", "http://a:8080")
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await own.register()
            other.execute("ROLLBACK")
        before = await _addresses(store)
        await own._beat()
        after = await _addresses(store)

    assert (before, after) == ([], ["http://a:8080"])
