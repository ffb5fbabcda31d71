"""A browser for each test that asks for one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import browser_world


@pytest.fixture
async def chromium() -> AsyncIterator[browser_world.Chromium]:
    """The chromium of this machine."""
    async with browser_world.launched() as started:
        yield started


@pytest.fixture
def build() -> Path:
    """The web UI as `make web` built it."""
    return browser_world.require_build()
