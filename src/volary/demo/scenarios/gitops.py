"""``volary demo --scenario gitops``: a push starts a run, a person approves, and no run is lost."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet
from volary.cli.remote import client, login
from volary.demo import definitions, git_repository, harness, kept_runs, server_process
from volary.model import errors, json

NAMES = ("us", "eu", "asia")
_REPOSITORY, _APPROVER = "shop", "ana"
_SPEED = 4.0


async def run(*, keep: bool) -> int:
    """Play the scenario; 0 when it ended as expected."""
    return await harness.play(_open, _play, keep=keep, goes_on=_go_on)


@contextlib.asynccontextmanager
async def _open(
    messages: rich_console.Console, base: Path
) -> AsyncIterator[server_process.ServerEnvironment]:
    settings = fleet.Settings(speed=_SPEED)
    async with fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox:
        repository = git_repository.ExampleRepository(
            base / "work", definitions.SCENARIOS["canary"]
        )
        repository.ask_before("K8S_PRIMARY_ROLLOUT", f"token:{_APPROVER}")
        repository.commit("Ask ana before promotion")
        async with server_process.prepare(
            messages, base, sandbox, {_REPOSITORY: repository}, {}
        ) as environment:
            yield environment


async def _play(environment: server_process.ServerEnvironment) -> bool:
    server, messages = environment.server, environment.console
    messages.print("[bold]Volary: GitOps.[/] A server, a repository, three clusters.\n")
    created = await server.command(
        "token", "create", _APPROVER, "--role", "admin", "--config", str(server.config)
    )
    server.token = created.strip()
    await server.start()
    messages.print(f"[bold]1.[/] volary server listens on {server.url}; a first push")
    async with client.Client.open(login.Target(server.url, server.token)) as api:
        await _play_releases(environment, api)
    messages.print("\n[bold]6.[/] volary get runs; volary get apps")
    for noun in ("runs", "apps"):
        messages.print(markup.escape(await server.command("get", noun)))
    return True


async def _play_releases(environment: server_process.ServerEnvironment, api: client.Client) -> None:
    server, messages = environment.server, environment.console
    environment.repositories[_REPOSITORY].push()
    first = await _reach(environment, api, "succeeded")
    messages.print("\n[bold]2.[/] Version 2 is pushed: the pipeline runs and waits for ana")
    _release(environment, "v1", "v2")
    waiting = await _reach(environment, api, "waiting", after=first)
    killed = await server.kill()
    messages.print(f"\n[bold]3.[/] kill -9 {killed}, and a new server: the run is still there")
    await server.start()
    same = await _reach(environment, api, "waiting", after=first)
    if same["id"] != waiting["id"]:
        raise errors.user_error(f"the demo failed: run {waiting['id']} did not go on")
    run = await api.get("runs", waiting["id"])
    stage = run["seen"]["stage"]
    messages.print(f"\n[bold]4.[/] volary approve {waiting['id']} --stage {stage} -m 'looks good'")
    await server.command("approve", waiting["id"], "--stage", stage, "-m", "looks good")
    done = await _reach(environment, api, "succeeded", after=first)
    messages.print("\n[bold]5.[/] Version 3 is pushed, and reverted while its run waits")
    _release(environment, "v2", "v3")
    await _reach(environment, api, "waiting", after=done)
    _release(environment, "v3", "v2", subject='Revert "Release simple v3"')
    await _reach(environment, api, "rolled_back", after=done)


@contextlib.asynccontextmanager
async def _go_on(
    environment: server_process.ServerEnvironment, _: Path
) -> AsyncIterator[list[str]]:
    """Push one version more, whose run waits for somebody who looks at it in the browser."""
    repository = environment.repositories[_REPOSITORY]
    repository.edit({"simple:v2": "simple:v4"}, "Release simple v4")
    yield await kept_runs.pushed(environment.server, repository)


def _release(
    environment: server_process.ServerEnvironment, old: str, new: str, *, subject: str = ""
) -> None:
    changes = {f"simple:{old}": f"simple:{new}"}
    environment.repositories[_REPOSITORY].edit(changes, subject or f"Release simple {new}")
    environment.repositories[_REPOSITORY].push()


async def _reach(
    environment: server_process.ServerEnvironment,
    api: client.Client,
    status: str,
    *,
    after: json.JsonObject | None = None,
) -> json.JsonObject:
    """Print and return the newest run once it has that status and is newer than `after`."""
    before = after["id"] if after else ""

    async def newest() -> json.JsonObject:
        runs = (await api.get("runs"))["items"]
        return dict(runs[0]) if runs else {}

    run = await server_process.until(
        newest, lambda run: run and run["status"] == status and run["id"] != before
    )
    line = f"   run {run['id']} {run['commit'][:7]} {run['status']}: {run['reason']}"
    environment.console.print(markup.escape(line))
    return run
