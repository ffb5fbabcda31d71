"""Commands import what they need: that is most of the time that starting takes.

Modules are counted, not timed. A number here is what there is and a little more; whoever needs more
may raise it and knows what it costs: a module takes about a millisecond of every command.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Set
from pathlib import Path

import pytest

import command_world
import process_time

#: Says at its end what it has imported, and whether it read the system's certificates.
_COMMAND = """
import sys
from volary import main
try:
    main.main()
finally:
    connector = sys.modules.get("aiohttp.connector")
    read = connector and connector._SSL_CONTEXT_VERIFIED.get_ca_certs()
    print("imported", *sys.modules, "certificates" if read else "", file=sys.stderr)
"""
#: What servers have: the web framework, logins, its numbers, migrations, and what carries runs out.
_SERVERS = {
    "fastapi",
    "starlette",
    "uvicorn",
    "jwt",
    "prometheus_client",
    "opentelemetry",
    "temporalio",
    "volary.server",
}
#: What few applications need: encrypted values, other projects' files, systems that keep metrics,
#: health rules in CEL, a database that a team shares, what nothing here uses of SQLAlchemy, and the
#: certificates of the system.
_SELDOM = {
    "certificates",
    "cryptography",
    "volary.sources.decryption.ciphertexts",
    "volary.config.dialects.flagger.schema",
    "volary.config.dialects.karmada.schema",
    "volary.analysis.providers.dialects.registry",
    "common_expression_language",
    "cel",
    "asyncpg",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.orm",
    "aiohttp.web",
}
_DATABASE = {"sqlalchemy", "alembic", "aiosqlite", "sqlite3"}
_SANDBOX = {"kube_sandbox"}


@pytest.fixture
async def given(tmp_path: Path) -> AsyncIterator[command_world.World]:
    async with command_world.world(tmp_path, "us") as found:
        yield found


async def imported(given: command_world.World, *words: str, code: int = 0) -> Set[str]:
    """Run a command from nothing and return the names of what it has imported by its end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _COMMAND, *words),
        cwd=given.directory,
        env=given.environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(process_time.HANG):
        _, said = await process.communicate()
    text = said.decode()
    assert process.returncode == code, text
    return set(text.rpartition("imported ")[2].split())


async def test_a_run(given: command_world.World) -> None:
    await given.deployed()

    unchanged = await imported(given, "run", ".", "--fleet", given.fleet, "--strategy", "quick")

    judging = {"volary.analysis.verdicts", "volary.stages.judgement.cluster_judges"}
    assert unchanged & (_SERVERS | _SELDOM | _SANDBOX | judging) == set()
    # The schema is the newest: what changes it has nothing to do.
    assert unchanged & _DATABASE == _DATABASE - {"alembic"}
    assert len(unchanged) <= 1270


async def test_a_run_without_a_pipeline(tmp_path: Path) -> None:
    async with command_world.world(tmp_path, "us", example="quick-sync") as given:
        await given.deployed()

        unchanged = await imported(given, "run", ".", "--fleet", given.fleet)

    stages = {"volary.config.stages.stage_readers", "volary.config.stages.metric_sections"}
    assert unchanged & (_SERVERS | _SELDOM | _SANDBOX | stages) == set()
    assert len(unchanged) <= 1255


async def test_rendering_and_lint_have_no_database(given: command_world.World) -> None:
    for words in (("render", ".", "--target", "us"), ("lint", ".")):
        found = await imported(given, *words)

        assert found & (_SERVERS | _SELDOM | _SANDBOX | _DATABASE) == set()
        assert len(found) <= 1025


async def test_questions_to_a_server_know_neither_git_nor_clusters(
    given: command_world.World,
) -> None:
    nobody = ("--server", "http://127.0.0.1:9")

    found = await imported(given, "get", "runs", *nobody, code=1)

    others = {"pygit2", "volary.clusters", "volary.store.sql", "volary.analysis", "volary.stages"}
    assert found & (_SERVERS | _SELDOM | _SANDBOX | _DATABASE | others) == set()
    assert len(found) <= 670


async def test_help_has_the_commands_alone(given: command_world.World) -> None:
    found = await imported(given, "--help")

    heavy = {"asyncio", "pydantic", "msgspec", "rich", "aiohttp", "yaml", "re2", "pygit2"}
    assert found & (_SERVERS | _SELDOM | _SANDBOX | _DATABASE | heavy) == set()
    assert len(found) <= 200
