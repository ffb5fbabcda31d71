"""When somebody types ``volary demo``; then look that it can be watched, and leaves nothing."""

import re
import signal
from pathlib import Path

import aiohttp

import browser_world
import command_world
import warm_processes


def shell(base: Path) -> command_world.Shell:
    """Given: an empty directory with a place for temporary files."""
    base.mkdir(exist_ok=True)
    (base / "tmp").mkdir()
    return command_world.Shell(base, command_world.environment(base))


async def demo(
    base: Path, scenario: str, *, keep: bool = True, **environment: str
) -> command_world.Ended:
    """Run a scenario and return how it ended, after making sure that nothing is left.

    With `keep` a run can be watched before that.
    """
    typing, words = shell(base), ("--keep",) if keep else ()
    async with typing.start("demo", "--scenario", scenario, *words, **environment) as started:
        story = ""
        if keep:
            told = await told_until_it_stays(started)
            await watch(told)
            story = told.partition("the clusters stay up")[0]
            started.interrupt(signal.SIGINT)
        ended = await started.ended()
        group = started.process.pid
    assert warm_processes.of_session(group) == {}
    assert list((base / "tmp").iterdir()) == []
    assert [each.name for each in base.iterdir()] == ["tmp"]
    return command_world.Ended(ended.code, story + ended.out, ended.err)


async def told_until_it_stays(started: command_world.Started) -> str:
    """Return what a demo that stays up has printed, once it says what may be looked at."""
    told = ""
    async for line in started.process.stdout:
        told += line.decode()
        if line.startswith(b"  fleet file"):
            return told
    raise AssertionError(f"it ended:\n{told}\n{(await started.ended()).err}")


async def watch(told: str) -> None:
    """Open what a demo says, as it says, and see a run there that goes on."""
    if not (browser_world.BUILD / "index.html").is_file():
        assert "the web UI was not built" in told
        return
    found = re.search(r"open (http://127\.0\.0\.1:\d+)(/runs/\w+)", told)
    assert found is not None, told
    address, page = found.groups()
    token = re.search(r"log in with the API token (\S+)", told)
    headers = {"authorization": f"Bearer {token[1]}"} if token else {}
    async with aiohttp.ClientSession(address) as session:
        async with session.get(f"/api/v1{page}", headers=headers) as answer:
            run = await answer.json()
        async with session.get(page, headers={"accept": "text/html"}) as answer:
            text = await answer.text()
    assert run["summary"]["status"] in ("waiting", "running"), run
    assert run["summary"]["finished"] is None, run
    assert "<title>Volary</title>" in text
