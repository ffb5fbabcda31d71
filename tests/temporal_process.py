"""A controller whose runs Temporal carries out, as a real process that can be killed."""

import asyncio
import contextlib
from datetime import timedelta
from pathlib import Path

import git_feed
from controller_world import BACKOFF, QUICK, parts_of, settings_of
from volary.controller import composition, inputs
from volary.model import server_settings


def engine(address: str) -> server_settings.Engine:
    """Return the settings of an engine that notices soon when a worker is gone."""
    return server_settings.Engine(server_settings.Temporal(address, heartbeat=timedelta(seconds=5)))


async def _run(store: str, repository: str, fleet: str, address: str) -> None:
    fleet_file, feed = Path(fleet), git_feed.Feed(Path(repository))
    rules = inputs.Rules(backoff=BACKOFF, look=timedelta(seconds=0.05))
    parts = parts_of(feed, fleet_file, owner="the only one", timing=QUICK, rules=rules)
    settings = settings_of(store, fleet_file, engine=engine(address))
    async with composition.open_controller(settings, parts) as made:
        await made.run()


def run(store: str, repository: str, fleet: str, address: str) -> None:
    """Be a controller until the end."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(store, repository, fleet, address))
