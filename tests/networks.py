"""A centre and sites with networks of their own, and links between them that fall silent.

Links and what is lost on them are the kernel's: nothing is closed and nothing refused, what was
sent is sent again, later and later, and who connects waits. All addresses are of loopback, and no
way leads to the machine's own network: what the tests themselves ask crosses over by sockets in
the file system, and so do the questions of an agent to its cluster, for those are beside it.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import namespaces
import silent_proxy
import warm_processes

#: Where the centre is, seen from sites and by the tests.
CENTRE = "127.1.0.1"
_NETWORK = ("--net",)
#: What is of loopback and not this one may be on links.
_LOOPBACK = "ip link set lo up && ip address replace 127.0.0.1/32 dev lo && " + (
    "ip address delete 127.0.0.1/8 dev lo"
)


def _reached_by(device: str, address: str) -> str:
    return (
        f"ip address add {address}/16 dev {device} && ip link set {device} up && "
        f"echo 1 > /proc/sys/net/ipv4/conf/{device}/route_localnet"
    )


@dataclass(frozen=True, slots=True)
class Site:
    """A network with one link to the centre."""

    name: str
    shell: namespaces.Shell
    centre: namespaces.Shell

    async def fall_silent(self) -> None:
        """Nothing arrives any more, in neither direction."""
        await self.centre.do(f"ip link set {self.name} nomaster")

    async def go_on(self) -> None:
        """What is sent arrives; what was lost is sent again when its sender tries again."""
        await self.centre.do(f"ip link set {self.name} master sites")


@dataclass(frozen=True, slots=True)
class Networks:
    """The centre, sites, and where the tests cross over."""

    directory: Path
    centre: namespaces.Shell
    sites: Sequence[Site]

    @contextlib.asynccontextmanager
    async def shown_outside(self, port: int) -> AsyncIterator[None]:
        """Have the tests reach a port of the centre under the address that it has there."""
        there, between = (CENTRE, port), self.directory / f"centre-{port}"
        async with (
            _passed_on_in(self.centre, str(between), CENTRE, str(port)),
            silent_proxy.opened(between, at=there),
        ):
            yield

    @contextlib.asynccontextmanager
    async def shown_to(self, site: Site, port: int) -> AsyncIterator[None]:
        """Have a site reach a port of 127.0.0.1 outside under that address."""
        between = self.directory / f"{site.name}-{port}"
        async with (
            silent_proxy.opened(port, at=between),
            _passed_on_in(site.shell, "127.0.0.1", str(port), str(between)),
        ):
            yield


@contextlib.asynccontextmanager
async def _passed_on_in(shell: namespaces.Shell, *words: str) -> AsyncIterator[None]:
    async with warm_processes.call("networks:pass_on", *words, inside=shell.pid):
        yield


def pass_on(*words: str) -> None:
    """Pass on what comes to a place to another; a place is a socket, or an address and a port."""
    asyncio.run(_pass_on(list(words)))


async def _pass_on(words: list[str]) -> None:
    at, server = _place(words), _place(words)
    async with silent_proxy.opened(server, at):
        await asyncio.Event().wait()


def _place(words: list[str]) -> silent_proxy.Place:
    first = words.pop(0)
    return Path(first) if first.startswith("/") else (first, int(words.pop(0)))


@contextlib.asynccontextmanager
async def opened(*names: str) -> AsyncIterator[Networks]:
    """Lay the networks of a centre and of sites with these names; or skip the test."""
    lacking = "no networks can be made here"
    line = f"{_LOOPBACK} && ip link add sites type bridge && {_reached_by('sites', CENTRE)}"
    own = (*namespaces.OWN_USER, *_NETWORK)
    async with (
        namespaces.opened(line, *own, lacking=lacking) as centre,
        contextlib.AsyncExitStack() as stack,
    ):
        sites = []
        for number, name in enumerate(names, 2):
            opening = namespaces.opened(_LOOPBACK, *_NETWORK, inside=centre.inside, lacking=lacking)
            site = Site(name, await stack.enter_async_context(opening), centre)
            await centre.do(
                f"ip link add {name} type veth peer name centre netns {site.shell.pid} && "
                f"ip link set {name} master sites up"
            )
            await site.shell.do(_reached_by("centre", f"127.1.0.{number}"))
            sites.append(site)
        # Of sockets only short names are possible, which those of the tests' directories are not.
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="networks-"))
        yield Networks(Path(directory), centre, sites)
