"""The clusters of these scenarios: sandboxes, or those that somebody named."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import cluster_access

_NAMED = os.environ.get(cluster_access.CONTEXTS, "")


@pytest.fixture(scope="session")
def nothing_left() -> Iterator[None]:
    """At the end, what was made in clusters that somebody named has to be gone."""
    yield
    if _NAMED:
        cluster_access.remove_all(_NAMED)


@pytest.fixture
async def clusters(tmp_path: Path, nothing_left: None) -> AsyncIterator[cluster_access.Clusters]:
    """Clusters, in which a test makes namespaces of its own."""
    chosen = cluster_access.named(tmp_path, _NAMED) if _NAMED else cluster_access.sandbox(tmp_path)
    async with chosen as clusters:
        yield clusters
