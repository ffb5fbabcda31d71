"""``volary demo --scenario teams``: two teams on one server, one of which wants what is not its."""

import asyncio
import base64
import contextlib
import functools
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich import console as rich_console
from rich import markup

from kube_sandbox import fleet
from volary.cli.remote import client, login
from volary.demo import git_repository, harness, kept_runs, server_process, team_files
from volary.model import errors, json
from volary.sources.decryption import sops

NAMES = ("us", "eu", "asia")
_PLATFORM, _GOOD, _BAD = "platform", "team-a", "team-b"
_ADMIN = "admin"
_SPEED = 4.0
_KEY_FILE = "age.key"
#: What another application called shop is called.
_SECOND = "shop.team-b-shop"


@dataclass(frozen=True, slots=True)
class _Environment:
    """The server, and who asks it."""

    base: server_process.ServerEnvironment
    admin: client.Client

    def manual_commands(self) -> list[str]:
        """Return what a person may type to look around."""
        return self.base.manual_commands()

    def say(self, text: str) -> None:
        """Print a line as it is."""
        self.base.console.print(markup.escape(text), soft_wrap=True)

    async def reach(
        self, application: str, *statuses: str, word: str = "", commit: str = ""
    ) -> json.JsonObject:
        """Return an application once it has one of these, for a reason with that word.

        With a commit: once that runs.
        """

        async def fetch() -> json.JsonObject:
            return await self.admin.get("applications", application)

        return await server_process.until(
            fetch,
            lambda known: (
                known["status"] in statuses
                and word in known["reason"]
                and commit in ("", known["runningCommit"])
            ),
        )


async def run(*, keep: bool) -> int:
    """Play the scenario; 0 when it ended as expected."""
    return await harness.play(_open, _play, keep=keep, goes_on=_go_on)


@contextlib.asynccontextmanager
async def _open(messages: rich_console.Console, base: Path) -> AsyncIterator[_Environment]:
    settings = fleet.Settings(speed=_SPEED)
    key = base / _KEY_FILE
    key.touch(mode=0o600)
    key.write_text(team_files.AGE_KEY + "\n", encoding="utf-8")
    more = {
        "projects": {"repository": _PLATFORM},
        "secrets": {"sops": {"ageKeyFile": _KEY_FILE}},
        "authentication": "required",
    }
    async with fleet.start(NAMES, directory=base / "fleet", settings=settings) as sandbox:
        repositories = {
            name: git_repository.Repository(base / "work" / name)
            for name in (_PLATFORM, _GOOD, _BAD)
        }
        async with server_process.prepare(
            messages, base, sandbox, repositories, more
        ) as environment:
            server = environment.server
            admin = await _token(server, _ADMIN, "--role", "admin")
            server.token = admin
            await server.start()
            async with client.Client.open(login.Target(server.url, admin)) as api:
                yield _Environment(environment, api)


async def _token(server: server_process.DemoServer, name: str, *words: str) -> str:
    """Make an API token, and return it."""
    made = await server.command("token", "create", name, *words, "--config", str(server.config))
    return made.strip()


async def _play(environment: _Environment) -> bool:
    messages = environment.base.console
    messages.print("[bold]Volary: teams.[/] One server, three clusters, two teams; one is bad.\n")
    await _give_places(environment)
    await _release_with_secret(environment)
    before = _objects(environment, _GOOD)
    await _try_to_take_over(environment)
    await _ask_for_others(environment)
    await _release_decently(environment)
    after = _objects(environment, _GOOD)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    messages.print("\n[bold]6.[/] What became of team-a's objects meanwhile")
    for key in sorted(changed):
        environment.say(f"   changed: {key}")
    environment.say(
        f"   {len(before)} objects on {len(NAMES)} clusters, {len(changed)} of them changed"
    )
    return not changed


async def _give_places(environment: _Environment) -> None:
    messages, platform = environment.base.console, environment.base.repositories[_PLATFORM]
    messages.print("[bold]1.[/] The platform team writes down what each team may do")
    files = {f"{team}.yaml": team_files.definitions_of(team) for team in (_GOOD, _BAD)}
    platform.write(files, "Projects and workspaces of two teams")
    platform.push()

    async def workspaces() -> json.JsonObject:
        return await environment.admin.get("workspaces")

    await server_process.until(
        workspaces,
        lambda known: (
            len(known["items"]) == len(files)
            and all(each["status"] == "ready" for each in known["items"])
        ),
    )
    for noun in ("project", "workspace"):
        messages.print(markup.escape(await environment.base.server.command(noun, "list")))


async def _release_with_secret(environment: _Environment) -> None:
    messages, repository = environment.base.console, environment.base.repositories[_GOOD]
    messages.print("[bold]2.[/] team-a releases its shop, with a Secret that SOPS encrypted")
    files = {
        "shop/volary.yaml": team_files.application("shop"),
        "shop/deployment.yaml": team_files.deployment("shop", _GOOD, version="v1"),
        "shop/secret.yaml": await _encrypt(repository.path.parent, team_files.SECRET),
    }
    repository.write(files, "The shop")
    repository.push()
    await environment.reach("shop", "synced")
    environment.say(f"   in Git:      {_line(files['shop/secret.yaml'], 'password')}")
    for name, cluster in environment.base.sandbox.clusters.items():
        secret = cluster.view.get("Secret", _GOOD, "shop-login") or {}
        value = base64.b64decode(secret.get("data", {}).get("password", "")).decode()
        if value != team_files.PASSWORD:
            raise errors.user_error(f"the demo failed: {name} does not have the password")
        environment.say(f"   on {name + ':':9} the password as it was written")
    told = await environment.base.server.command("get", "apps")
    if team_files.PASSWORD in told:
        raise errors.user_error("the demo failed: the password was printed")


async def _encrypt(directory: Path, text: str) -> str:
    """Return a manifest as the real `sops` encrypts it."""
    program = sops.find()
    if not program:
        raise errors.user_error("sops is not installed", hint="pip install 'volary[sandbox,sops]'")
    plain = directory / "secret.yaml"
    plain.write_text(text, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(program, "--disable-version-check", "encrypt", "--age", team_files.AGE_RECIPIENT),
        *("--encrypted-regex", "^(data|stringData)$", str(plain)),
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(directory)},
    )
    encrypted, _ = await process.communicate()
    plain.unlink()
    if process.returncode:
        raise errors.user_error(f"sops ended with {process.returncode}")
    return encrypted.decode()


def _line(text: str, word: str) -> str:
    found = next(line for line in text.splitlines() if word in line)
    return f"{found.strip()[:60]}…"


async def _try_to_take_over(environment: _Environment) -> None:
    messages, repository = environment.base.console, environment.base.repositories[_BAD]
    messages.print("\n[bold]3.[/] team-b pushes what is not its to push")
    files = {
        "blog/volary.yaml": team_files.application("blog"),
        "blog/deployment.yaml": team_files.deployment("blog", _BAD, version="v1"),
    }
    for attempt in team_files.ATTEMPTS:
        repository.write({**files, **attempt.files}, f"Try {attempt.intention}")
        repository.push()
        known = await environment.reach(
            attempt.application, "refused", "broken", "failed", word=attempt.reason
        )
        environment.say(f"   {attempt.intention}:\n     {known['reason']}")
    repository.write({**files, **team_files.SAME_NAME}, "An application called as team-a's is")
    repository.push()
    second = await environment.reach(_SECOND, "synced")
    environment.say(
        "   to take the name of team-a's application:\n"
        f"     it is called {second['name']}, and is in the namespace of {second['project']} alone"
    )


async def _ask_for_others(environment: _Environment) -> None:
    messages, server = environment.base.console, environment.base.server
    messages.print("\n[bold]4.[/] Somebody of team-b asks the server")
    token = await _token(server, "ci", "--role", "deployer", "--project", _BAD)
    asking = functools.partial(_ask, environment, token)
    for words in (("whoami",), ("get", "apps"), ("get", "app", "shop"), ("sync", "shop")):
        environment.say(f"   $ volary {' '.join(words)}")
        for line in (await asking(*words)).splitlines():
            environment.say(f"     {line}")


async def _ask(environment: _Environment, token: str, *words: str) -> str:
    """Run a command as somebody, and return what it printed or why it failed."""
    server = environment.base.server
    own, server.token = server.token, token
    try:
        return await server.command(*words)
    except errors.UserError as error:
        problem = error.problems[0]
        return problem.hint or problem.message
    finally:
        server.token = own


async def _release_decently(environment: _Environment) -> None:
    messages, repository = environment.base.console, environment.base.repositories[_BAD]
    messages.print("\n[bold]5.[/] team-b takes it back, and releases what is its own")
    files: Mapping[str, str] = {
        "shop/volary.yaml": "",
        "shop/deployment.yaml": "",
        "blog/deployment.yaml": team_files.deployment("blog", _BAD, version="v2"),
    }
    repository.write(files, "The blog, v2")
    repository.push()
    known = await environment.reach("blog", "synced", commit=repository.head)
    environment.say(f"   blog: {known['status']} at {known['runningCommit'][:7]}")


@contextlib.asynccontextmanager
async def _go_on(environment: _Environment, _: Path) -> AsyncIterator[list[str]]:
    """Have team-a push its next version, which asks the administrator first."""
    repository = environment.base.repositories[_GOOD]
    repository.ask_before("K8S_SYNC", f"token:{_ADMIN}")
    repository.edit({"example/shop:v1": "example/shop:v2"}, "The shop, v2")
    yield await kept_runs.pushed(environment.base.server, repository)


def _objects(environment: _Environment, namespace: str) -> dict[str, str]:
    """Return what is wanted of each object of a namespace, by cluster, kind and name."""
    found = {}
    for name, cluster in environment.base.sandbox.clusters.items():
        for kind in ("Deployment", "Secret", "ServiceAccount", "ResourceQuota", "RoleBinding"):
            for item in cluster.view.list(kind, namespace):
                metadata = item["metadata"]
                found[f"{name} {kind} {metadata['name']}"] = repr(
                    (
                        metadata["uid"],
                        metadata.get("generation"),
                        item.get("spec"),
                        item.get("data"),
                    )
                )
    return found
