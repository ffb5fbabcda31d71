"""The system's certificates, in processes that have read none of them yet."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

import process_time
from scripted_server import ScriptedServer, serve

#: Asks a server at once and twice more, and says what it heard and how many certificates were read.
_ASK = """
import asyncio, sys
from volary.http_client import system_certificates
system_certificates.read_late()
import aiohttp
from aiohttp import connector

def count():
    return connector._SSL_CONTEXT_VERIFIED.cert_store_stats()["x509_ca"]

async def ask(session, **options):
    try:
        async with session.get(sys.argv[1], **options) as response:
            return response.status
    except aiohttp.ClientConnectorCertificateError:
        return "refused"

async def main():
    async with aiohttp.ClientSession() as session:
        print(count(), await ask(session, ssl=False), count())
        print(*await asyncio.gather(ask(session), ask(session)), await ask(session), count())

asyncio.run(main())
"""


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def server(authority: trustme.CA) -> AsyncIterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with serve(context) as found:
        yield found


async def asked(server: ScriptedServer, system: trustme.CA, directory: Path) -> list[str]:
    """Ask the server from a process that finds one certificate on its system."""
    path = directory / "authorities.pem"
    system.cert_pem.write_to_path(str(path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _ASK, server.url),
        env={**os.environ, "SSL_CERT_FILE": str(path), "SSL_CERT_DIR": str(directory)},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(process_time.HANG):
        said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode().splitlines()


async def test_they_are_read_before_the_first_connection_that_is_verified(
    server: ScriptedServer, authority: trustme.CA, tmp_path: Path
) -> None:
    assert await asked(server, authority, tmp_path) == ["0 200 0", "200 200 200 1"]


async def test_whom_they_do_not_name_is_refused(server: ScriptedServer, tmp_path: Path) -> None:
    lines = await asked(server, trustme.CA(), tmp_path)

    assert lines == ["0 200 0", "refused refused refused 1"]
