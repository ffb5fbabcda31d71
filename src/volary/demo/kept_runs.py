"""What a demo that stays up goes on with: a run that its server shows while it goes on.

In each scenario one release more is pushed, which asks somebody where the scenario gets
interesting. Scenarios that release without a server get one for it, on the same clusters.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from volary.cli.remote import client, login
from volary.demo import git_repository, harness, server_process
from volary.model import errors, json, statuses

_REPOSITORY = "shop"
#: Where credentials are not asked for, everybody on this machine is this.
ANYBODY = "local"
_ENDS = (*statuses.GOOD_ENDS, "failed", "cancelled", "rolled_back")


@contextlib.asynccontextmanager
async def one_more_release(
    environment: harness.ReleaseEnvironment, base: Path
) -> AsyncIterator[list[str]]:
    """Have a server release one version more as long as the block lasts; gives what to open.

    A version that was rolled back, on whichever clusters, is the one that is released again.
    """
    directory, repository, scenario = base / "server", environment.repository, environment.scenario
    directory.mkdir()
    running, following = scenario.change
    if scenario.expected is not statuses.RunStatus.SUCCEEDED:
        repository.edit({following: running}, f"Go back to {running}")
        if scenario.expected is statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS:
            await _agree(environment, running)
    else:
        running, following = following, f"{following.rpartition(':')[0]}:v3"
    async with server_process.prepare(
        environment.console, directory, environment.sandbox, {_REPOSITORY: repository}, {}
    ) as prepared:
        repository.push()
        await prepared.server.start()
        await _run_at_head(prepared.server, repository, *statuses.GOOD_ENDS)
        if scenario.asks_before:
            repository.ask_before(scenario.asks_before, ANYBODY)
        repository.edit({running: following}, f"Release {following}, for whoever watches")
        yield await pushed(prepared.server, repository, asks=bool(scenario.asks_before))


async def _agree(environment: harness.ReleaseEnvironment, running: str) -> None:
    """Have all clusters run the same again.

    The server remembers none of the releases before it, so of clusters that run different
    commits it could not know which of them is the exception.
    """
    environment.console.print(f"[bold]3.[/] A commit that goes back to {running} on all clusters\n")
    await environment.release()
    environment.show("running now")


async def pushed(
    server: server_process.DemoServer, repository: git_repository.Repository, *, asks: bool = True
) -> list[str]:
    """Push, and return what to open to see the run that this begins.

    Comes back once the run asks somebody; with ``asks=False``, once it goes on.
    """
    repository.push()
    status = statuses.RunStatus.WAITING if asks else statuses.RunStatus.RUNNING
    run = await _run_at_head(server, repository, status)
    return server_process.page_of(server.url, f"/runs/{run['id']}")


async def _run_at_head(
    server: server_process.DemoServer, repository: git_repository.Repository, *wanted: str
) -> json.JsonObject:
    """Return the run of the newest commit once it has one of these states.

    Raises:
        errors.UserError: It ended in another one, or has none of them in time.
    """
    async with client.Client.open(login.Target(server.url, server.token)) as api:

        async def newest() -> json.JsonObject:
            runs = (await api.get("runs", commit=repository.head))["items"]
            return dict(runs[0]) if runs else {}

        run = await server_process.until(
            newest, lambda run: run and run["status"] in (*wanted, *_ENDS)
        )
    if run["status"] not in wanted:
        raise errors.user_error(
            f"the demo failed: run {run['id']} {run['status']}: {run['reason']}"
        )
    return run
