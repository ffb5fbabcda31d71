"""A real server, and repositories that were made to hold it: they are refused, and it goes on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pygit2
import pytest

import loop_watch as loop_watches
import process_time
from volary.model import server_settings, work_limits
from volary.server import hosting

_APPLICATION = """\
apiVersion: pipecd.dev/v1beta1
kind: KubernetesApp
spec:
  name: %s
"""
_FLEET = """\
apiVersion: volary.dev/v1
kind: Fleet
clusters:
  - name: us
    kubeconfig: kubeconfig.yaml
    context: us
"""
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: us, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: us, user: {token: abc}}]
contexts: [{name: us, context: {cluster: us, user: us}}]
"""
_MAP = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-%d}\ndata: {a: b}\n"
_OPEN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n"


def _bomb() -> str:
    """Ten levels of ten aliases each: ten thousand million values."""
    levels = ["l0: &l0 [lol]"]
    levels += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 11)]
    return _OPEN + "".join(f"  {level}\n" for level in levels)


def _long_texts() -> str:
    """One text of half a megabyte, a hundred thousand times: fifty gigabytes."""
    return f"{_OPEN}  text: &t {'x' * 500_000}\n  list: [{', '.join(['*t'] * 90_000)}]\n"


@dataclass(frozen=True)
class Costly:
    """Files of an application, and why it is refused."""

    #: Makes them: some are many megabytes.
    files: Callable[[], Mapping[str, str]] = field(repr=False)
    refusal: str


def costly() -> dict[str, Costly]:
    return {
        "a very large file": Costly(
            lambda: {"big.yaml": _OPEN + "  a: " + "x" * (17 * 2**20)},
            "big.yaml: the file is too large: 17825",
        ),
        "deep YAML": Costly(
            lambda: {"deep.yaml": _OPEN + "  a: " + "[" * 100_000},
            "deep.yaml:5: nested more than 200 levels deep",
        ),
        "an alias bomb": Costly(
            lambda: {"bomb.yaml": _bomb()}, "aliases make this document too large: written out"
        ),
        "an alias of a long text": Costly(
            lambda: {"texts.yaml": _long_texts()},
            "aliases make this document too large: written out",
        ),
        "tens of thousands of objects": Costly(
            lambda: {
                f"{n}.yaml": "".join(_MAP % (n * 10_000 + i) for i in range(10_000))
                for n in range(3)
            },
            "2.yaml: there are more than 20000 objects",
        ),
        "a great many bytes": Costly(
            lambda: {
                f"{n}.yaml": _OPEN.replace("big", f"big-{n}") + "  a: " + "x" * 2**20
                for n in range(5)
            },
            "the manifests are too large: with ConfigMap big-3 they are more than 4 MiB",
        ),
        "a huge generator": Costly(
            lambda: {
                "kustomization.yaml": "configMapGenerator:\n- name: a\n  literals:\n"
                + "".join(f"  - key{n}={'x' * 100}\n" for n in range(160_000))
            },
            "kustomization.yaml: the file is too large",
        ),
    }


def commit(directory: Path, files: Mapping[str, str]) -> None:
    """Make a repository of some files."""
    opened = pygit2.init_repository(str(directory), initial_head="main")
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    opened.index.add_all()
    opened.index.write()
    who = pygit2.Signature("Ana", "ana@example.com", 1_700_000_000, 60)
    opened.create_commit("HEAD", who, who, "first", opened.index.write_tree(), [])


def push(directory: Path, kind: str) -> str:
    """Make a repository with a costly application, and one as they should be.

    Returns why the first is refused. The files are left nowhere in memory: what fails here would
    else be told with all of them.
    """
    case = costly()[kind]
    files = {f"costly/{name}": text for name, text in case.files().items()}
    commit(directory / "greedy", {**files, "costly/app.pipecd.yaml": _APPLICATION % "costly"})
    modest = {"shop/app.pipecd.yaml": _APPLICATION % "shop", "shop/map.yaml": _MAP % 1}
    commit(directory / "modest", modest)
    return case.refusal


@dataclass
class Served:
    """A server with repositories."""

    url: str
    session: aiohttp.ClientSession

    async def applications(self) -> dict[str, Mapping[str, Any]]:
        async with self.session.get(f"{self.url}/api/v1/applications?limit=500") as answer:
            return {each["name"]: each for each in (await answer.json())["items"]}

    async def until_decided(self, *names: str) -> dict[str, Mapping[str, Any]]:
        """Wait until applications are refused, or wait for their cluster; return all of them."""
        decided: dict[str, Mapping[str, Any]] = {}
        async with asyncio.timeout(process_time.HANG):
            while not set(names) <= set(decided):
                await asyncio.sleep(0.1)
                async with self.session.get(f"{self.url}/healthz") as healthy:
                    assert healthy.status == 200
                known = await self.applications()
                decided = {
                    name: each
                    for name, each in known.items()
                    if each["status"] in ("failed", "broken")
                    or "us" in str((each["waiting"] or {}).get("waitingReason"))
                }
        return decided


@contextlib.asynccontextmanager
async def served(directory: Path, *repositories: Path) -> AsyncIterator[Served]:
    """Run the whole server beside the block, for some repositories and one cluster that is away."""
    (directory / "fleet.yaml").write_text(_FLEET)
    (directory / "kubeconfig.yaml").write_text(_KUBECONFIG)
    settings = server_settings.Settings(
        authentication=server_settings.Authentication.NONE,
        fleet=str(directory / "fleet.yaml"),
        data_directory=str(directory / "data"),
        store="memory:",
        port=0,
        repositories=tuple(
            server_settings.Repository(path.name, f"file://{path}") for path in repositories
        ),
    )
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    class Clock:
        def now(self) -> Any:
            return process_time.now()

    async with asyncio.TaskGroup() as group, aiohttp.ClientSession() as session:
        running = group.create_task(
            hosting.run(settings, clock=Clock(), ready=lambda url, _: ready.set_result(url))
        )
        try:
            async with asyncio.timeout(process_time.HANG):
                yield Served(await ready, session)
        finally:
            running.cancel()


_KINDS = (
    "a very large file",
    "deep YAML",
    "an alias bomb",
    "an alias of a long text",
    "tens of thousands of objects",
    "a great many bytes",
    "a huge generator",
)


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_costly_application_is_refused_and_holds_nobody(
    tmp_path: Path,
    kind: str,
    loop_watch: loop_watches.LoopWatch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that it takes no minute: the real limit is sixteen times this.
    monkeypatch.setattr(work_limits, "RENDERED_BYTES", 4 * 2**20)
    refusal = push(tmp_path, kind)

    async with served(tmp_path, tmp_path / "greedy", tmp_path / "modest") as server:
        loop_watch.begin()
        decided = await server.until_decided("costly", "shop")

    assert decided["costly"]["status"] == "failed", decided["costly"]
    assert refusal in decided["costly"]["reason"]
    assert decided["shop"]["status"] == "waiting", decided["shop"]
