"""How an agent or a worker reaches Temporal."""

import pytest

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")

from volary.agents import hellos
from volary.cli import temporal_files
from volary.model import errors

TOLD = hellos.Temporal("temporal.example.org:7233", "volary", "volary-cluster-", 30.0)


def test_an_address_of_its_own_takes_the_place_of_what_servers_say() -> None:
    there = temporal_files.TemporalFiles(tls=True)
    here = temporal_files.TemporalFiles(address="127.0.0.1:17233")

    assert temporal_files.settings(TOLD, there).address == "temporal.example.org:7233"
    assert temporal_files.settings(TOLD, here).address == "127.0.0.1:17233"
    assert temporal_files.settings(TOLD, here).namespace == "volary"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("temporal", "is no host and port"),
        ("127.0.0.1:99999", "is no host and port"),
        (":7233", "is no host and port"),
        ("10.1.2.3:7233", "would not be secured"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(address: str, why: str) -> None:
    with pytest.raises(errors.UserError, match=why):
        temporal_files.settings(TOLD, temporal_files.TemporalFiles(address=address))
