"""``volary demo --scenario gitops``: a push starts a run, a person approves, and no run is lost."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pygit2
from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet
from volary.cli import console, exit_codes
from volary.demo import definitions, git_repository, harness, server_process
from volary.model import errors, json

NAMES = ("us", "eu", "asia")
_APPROVER = "ana"
_PATIENCE = 60.0
_SPEED = 4.0
_STAGE = "      - name: K8S_PRIMARY_ROLLOUT"
_APPROVAL = f"      - name: WAIT_APPROVAL\n        with: {{approvers: ['token:{_APPROVER}']}}\n"


@dataclass(frozen=True, slots=True)
class _Environment:
    """Where the story plays."""

    messages: rich_console.Console
    server: server_process.DemoServer
    #: Checked out.
    work: Path
    repository: pygit2.Repository


async def run(*, keep: bool) -> int:
    """Tell the story; 0 when it ended as it has to."""
    messages = console.results()
    with tempfile.TemporaryDirectory(prefix="volary-demo-") as made:
        base = Path(made)
        settings = fleet.Settings(speed=_SPEED)
        async with fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox:
            environment = _prepare(messages, base, sandbox)
            try:
                await _play(environment)
                if keep:
                    messages.print(
                        f"\n{environment.server.url} and the clusters stay up until Ctrl-C"
                    )
                    await harness.wait_for_interrupt(messages)
            except asyncio.CancelledError:
                harness.ignore_interrupts(messages)
                return exit_codes.Exit.INTERRUPTED
            finally:
                await environment.server.stop()
    return exit_codes.Exit.DONE


def _prepare(messages: rich_console.Console, base: Path, sandbox: fleet.Fleet) -> _Environment:
    bare, work = base / "shop.git", base / "work"
    pygit2.init_repository(str(bare), bare=True, initial_head="main")
    repository = git_repository.create(work, definitions.SCENARIOS["canary"])
    described = work / "simple" / "app.pipecd.yaml"
    described.write_text(described.read_text().replace(_STAGE, _APPROVAL + _STAGE))
    git_repository.commit(repository, "Ask ana before promotion")
    repository.remotes.create("origin", str(bare))
    server = server_process.DemoServer(base, server_process.free_port())
    server_process.write_settings(server, sandbox.path, bare)
    return _Environment(messages, server, work, repository)


async def _play(environment: _Environment) -> None:
    server, messages = environment.server, environment.messages
    messages.print("[bold]Volary: GitOps.[/] A server, a repository, three clusters.\n")
    created = await server.command(
        "token", "create", _APPROVER, "--role", "admin", "--config", str(server.config)
    )
    server.token = created.strip()
    await server.start()
    messages.print(f"[bold]1.[/] volary server listens on {server.url}; a first push")
    _push(environment)
    first = await _until(environment, lambda run_document: run_document["status"] == "succeeded")
    _print_run(environment, first)
    messages.print("\n[bold]2.[/] Version 2 is pushed: the pipeline runs and waits for ana")
    _release(environment, "v1", "v2")
    waiting = await _until(
        environment, lambda run_document: run_document["status"] == "waiting", after=first
    )
    _print_run(environment, waiting)
    killed = await server.kill()
    messages.print(f"\n[bold]3.[/] kill -9 {killed}, and a new server: the run is still there")
    await server.start()
    same = await _until(
        environment, lambda run_document: run_document["status"] == "waiting", after=first
    )
    _print_run(environment, same)
    _expect(same["id"] == waiting["id"], "the run went on under its own name")
    messages.print(f"\n[bold]4.[/] volary approve {waiting['id']} --comment 'looks good'")
    await server.command("approve", waiting["id"], "--comment", "looks good")
    done = await _until(
        environment, lambda run_document: run_document["status"] == "succeeded", after=first
    )
    _print_run(environment, done)
    messages.print("\n[bold]5.[/] Version 3 is pushed, and reverted while its run waits")
    _release(environment, "v2", "v3")
    third = await _until(
        environment, lambda run_document: run_document["status"] == "waiting", after=done
    )
    _print_run(environment, third)
    _release(environment, "v3", "v2", subject='Revert "Release simple v3"')
    back = await _until(
        environment, lambda run_document: run_document["status"] == "rolled_back", after=done
    )
    _print_run(environment, back)
    messages.print("\n[bold]6.[/] volary get runs; volary get apps")
    for noun in ("runs", "apps"):
        messages.print(markup.escape(await server.command("get", noun)))


def _push(environment: _Environment) -> None:
    environment.repository.remotes["origin"].push(["refs/heads/main:refs/heads/main"])


def _release(environment: _Environment, old: str, new: str, *, subject: str = "") -> None:
    path = environment.work / "simple" / "deployment.yaml"
    path.write_text(path.read_text().replace(f"simple:{old}", f"simple:{new}"))
    git_repository.commit(environment.repository, subject or f"Release simple {new}")
    _push(environment)


async def _until(
    environment: _Environment,
    holds: Callable[[json.JsonObject], bool],
    *,
    after: json.JsonObject | None = None,
) -> json.JsonObject:
    """Return the newest run once it is newer than `after` and `holds`."""
    seen: json.JsonObject = {}
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                listed = await environment.server.runs()
                seen = listed[0] if listed else {}
                if seen and (after is None or seen["id"] != after["id"]) and holds(seen):
                    return seen
                await asyncio.sleep(0.1)
    except TimeoutError:
        state = f"{seen.get('status')}: {seen.get('reason')}" if seen else "there is none"
        raise errors.user_error(
            f"the demo's run did not reach the expected state; {state}"
        ) from None


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise errors.user_error(f"the demo failed: expected that {what}")


def _print_run(environment: _Environment, run: json.JsonObject) -> None:
    line = f"   run {run['id']} {run['commit'][:7]} {run['status']}: {run['reason']}"
    environment.messages.print(markup.escape(line))
