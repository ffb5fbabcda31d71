"""Real Prometheus that scrapes the pods of a sandbox fleet."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import yaml

from kube_sandbox import fleet
from kube_sandbox.dataplane import programs
from kube_sandbox.dataplane.servers import traffic_metrics

_NAME = "prometheus"
_HOST = "127.0.0.1"
#: How often it looks at pods.
SCRAPE = "1s"


def is_installed() -> bool:
    """Tell whether there is a Prometheus."""
    return programs.find(_NAME) is not None


@contextlib.asynccontextmanager
async def scraping(
    running: fleet.Fleet, *, interval: str = SCRAPE, rules: Sequence[Path] = ()
) -> AsyncIterator[str]:
    """Run Prometheus beside a fleet with real traffic; gives its address.

    It scrapes every `interval`. Its files, alert rules included, are the fleet's; they go
    with its directory.

    Raises:
        UserError: It is not installed or does not come up; or there is no real traffic.
    """
    home = running.directory / "prometheus"
    home.mkdir(exist_ok=True)
    settings = traffic_metrics.prometheus_settings(
        running.required_metrics_url, interval=interval, rules=[str(each) for each in rules]
    )
    (home / "prometheus.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
    port = _free_port()
    words = [
        f"--config.file={home / 'prometheus.yml'}",
        f"--storage.tsdb.path={home / 'data'}",
        f"--web.listen-address={_HOST}:{port}",
        "--log.level=warn",
    ]
    program = await programs.start(_NAME, words, log=home / "prometheus.log", directory=home)
    try:
        await program.until(lambda: _is_ready(port))
        yield f"http://{_HOST}:{port}"
    finally:
        await program.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


async def _is_ready(port: int) -> bool:
    """It listens before it can answer queries."""
    try:
        reader, writer = await asyncio.open_connection(_HOST, port)
    except OSError:
        return False
    try:
        writer.write(f"GET /-/ready HTTP/1.0\r\nHost: {_HOST}\r\n\r\n".encode())
        answer = await reader.read(64)
    except OSError:
        return False
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return b" 200 " in answer
