"""Real Git repositories for tests, and a small host that serves them over https."""

import asyncio
import base64
import gc
import ssl
import subprocess
import warnings
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from aiohttp import web


@dataclass
class Upstream:
    """A bare repository and a working copy that pushes to it."""

    bare: Path
    work: Path

    @classmethod
    def create(cls, directory: Path) -> "Upstream":
        found = cls(directory / "upstream.git", directory / "work")
        run("git", "init", "-q", "--bare", "-b", "main", str(found.bare), cwd=directory)
        run("git", "init", "-q", "-b", "main", str(found.work), cwd=directory)
        found.git("remote", "add", "origin", str(found.bare))
        return found

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
        return run("git", *identity, *arguments, cwd=self.work)

    def commit(self, files: dict[str, str], message: str = "change") -> str:
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def remove(self, paths: Iterable[str]) -> str:
        self.git("rm", "-rq", *paths)
        self.git("commit", "-q", "-m", "remove")
        return self.git("rev-parse", "HEAD")

    def push(self, branch: str = "main", *options: str) -> None:
        self.git("push", "-q", *options, "origin", f"HEAD:refs/heads/{branch}")

    def publish(self, files: dict[str, str], message: str = "change") -> str:
        commit = self.commit(files, message)
        self.push()
        return commit


def run(*argv: str, cwd: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(cwd), "LC_ALL": "C"}
    done = subprocess.run(
        argv, cwd=cwd, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


@dataclass
class Host:
    """What the https host does and saw."""

    directory: Path
    authority: trustme.CA
    #: Expected; empty: everybody is let in.
    username: str = ""
    password: str = ""
    #: Answer everything with this status instead.
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    #: Requests of this method get no answer.
    silent: str = ""
    url: str = ""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[str] = field(default_factory=list)
    authorizations: set[str] = field(default_factory=set)


@asynccontextmanager
async def serve(directory: Path) -> AsyncIterator[Host]:
    """Serve the repositories in a directory over https on a free port."""
    host = Host(directory, trustme.CA())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    host.authority.issue_cert("127.0.0.1").configure_cert(context)
    application = web.Application(client_max_size=64 * 1024 * 1024)

    async def answer(request: web.Request) -> web.Response:
        return await _answer(host, request)

    application.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    [address] = runner.addresses
    host.url = f"https://127.0.0.1:{address[1]}"
    try:
        yield host
    finally:
        host.closing.set()
        await runner.cleanup()
        # Both ends of a TLS connection say goodbye, which takes a few turns of the loop.
        await asyncio.sleep(0.1)
        # A handshake that failed leaves its transport to the collector (Python 3.11).
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


async def _answer(host: Host, request: web.Request) -> web.Response:
    host.requests.append(f"{request.method} {request.path}")
    if host.silent == request.method:
        await host.closing.wait()
    if host.status:
        return web.Response(status=host.status, headers=host.headers)
    given = request.headers.get("Authorization", "")
    host.authorizations.add(given)
    wanted = base64.b64encode(f"{host.username}:{host.password}".encode()).decode()
    if host.password and given != f"Basic {wanted}":
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
    return await _git(host, request)


async def _git(host: Host, request: web.Request) -> web.Response:
    path = request.path.strip("/")
    listing = path.endswith("/info/refs")
    repository = host.directory / path.removesuffix("/info/refs").removesuffix("/git-upload-pack")
    if not repository.is_dir():
        return web.Response(status=404)
    argv = ["git", "upload-pack", "--stateless-rpc"]
    argv += ["--advertise-refs"] if listing else []
    body = await request.read()
    # In a thread: a process that belongs to the loop may outlive it when the client goes.
    done = await asyncio.to_thread(
        subprocess.run, [*argv, str(repository)], input=body, capture_output=True, check=False
    )
    output = done.stdout
    if listing:
        output = b"001e# service=git-upload-pack\n0000" + output
    kind = "advertisement" if listing else "result"
    return web.Response(body=output, content_type=f"application/x-git-upload-pack-{kind}")
