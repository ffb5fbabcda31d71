"""kubectl is the oracle: with one kubeconfig both must be the same to a server.

kubectl and our client send a request to the same TLS server, which compares who
asked: headers, client certificate, impersonation.
"""

import asyncio
import base64
import json
import os
import shutil
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, serve
from volary.clusters.api import api_errors
from volary.clusters.client import clients
from volary.clusters.kubeconfig import kubeconfigs
from volary.clusters.transport import retries, transports
from volary.model import errors
from volary.model.fleet import fleets

_KUBECTL = Path(sys.executable).parent / "kubectl"
KUBECTL = str(_KUBECTL) if _KUBECTL.exists() else shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")

EXEC_V1 = "client.authentication.k8s.io/v1"
EXEC_V1BETA1 = "client.authentication.k8s.io/v1beta1"
_COMPARED = ("Authorization", "Impersonate-User", "Impersonate-Uid")


@dataclass(frozen=True)
class Place:
    """A TLS server and everything to reach it."""

    server: ScriptedServer
    authority: trustme.CA
    client: trustme.LeafCert
    directory: Path

    @property
    def authority_data(self) -> str:
        return base64.b64encode(self.authority.cert_pem.bytes()).decode()

    def cluster(self, **more: object) -> dict[str, object]:
        return {
            "server": self.server.url,
            "certificate-authority-data": self.authority_data,
            **more,
        }

    def write(self, user: object, cluster: object = None, name: str = "config") -> Path:
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "clusters": [{"name": "c", "cluster": cluster or self.cluster()}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        }
        path = self.directory / name
        path.write_text(json.dumps(body))
        return path

    @property
    def certificate(self) -> bytes:
        return b"".join(each.bytes() for each in self.client.cert_chain_pems)

    @property
    def key(self) -> bytes:
        return self.client.private_key_pem.bytes()


@pytest.fixture(scope="session")
def kube_authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def kube_client_certificate(kube_authority: trustme.CA) -> trustme.LeafCert:
    return kube_authority.issue_cert("jane@example.org", common_name="jane")


@pytest.fixture(scope="session")
def kube_server_certificate(kube_authority: trustme.CA) -> trustme.LeafCert:
    return kube_authority.issue_cert("127.0.0.1", "kube.example")


@pytest.fixture
async def place(
    kube_authority: trustme.CA,
    kube_client_certificate: trustme.LeafCert,
    kube_server_certificate: trustme.LeafCert,
    tmp_path: Path,
) -> AsyncIterator[Place]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    kube_server_certificate.configure_cert(context)
    kube_authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    async with serve(context) as server:
        yield Place(server, kube_authority, kube_client_certificate, tmp_path)


async def kubectl(config: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    assert KUBECTL is not None
    process = await asyncio.create_subprocess_exec(
        KUBECTL,
        *(arguments or ("get", "--raw", "/version")),
        env={"PATH": os.environ["PATH"], "KUBECONFIG": str(config), **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, complaint = await process.communicate()
    return process.returncode or 0, output.decode(), complaint.decode()


async def ours(config: Path, **environment: str) -> str:
    """Ask for the version as our client does."""
    found = {"KUBECONFIG": str(config), **environment}
    connection = kubeconfigs.load(fleets.Cluster("us"), environment=found)
    limits = transports.Limits(retry=retries.Policy(tries=1))
    async with clients.open_client(connection, clock=FixedClock(), limits=limits) as client:
        return await client.version()


def identity(asked: Asked) -> dict[str, Any]:
    extras = {
        name.lower(): asked.headers.getall(name)
        for name in asked.headers
        if name.lower().startswith(("impersonate-group", "impersonate-extra"))
    }
    compared = {name: asked.headers.get(name) for name in _COMPARED}
    return {**compared, **extras, "certificate": asked.certificate}


async def both(place: Place, config: Path, **environment: str) -> dict[str, Any]:
    """Return who kubectl is to the server, having checked that we are the same."""
    code, _, complaint = await kubectl(config, **environment)
    assert code == 0, complaint
    theirs = identity(place.server.seen[-1])
    place.server.seen.clear()

    assert await ours(config, **environment) == "v1.36.0"

    assert identity(place.server.seen[-1]) == theirs
    return theirs


async def test_token(place: Place) -> None:
    who = await both(place, place.write({"token": "abc"}))

    assert who["Authorization"] == "Bearer abc"


async def test_token_file_relative_to_the_kubeconfig(place: Place) -> None:
    (place.directory / "token").write_text("from-file\n")

    who = await both(place, place.write({"tokenFile": "token", "token": "ignored"}))

    assert who["Authorization"] == "Bearer from-file"


async def test_token_when_the_token_file_is_missing(place: Place) -> None:
    who = await both(place, place.write({"tokenFile": "/none", "token": "abc"}))

    assert who["Authorization"] == "Bearer abc"


async def test_user_and_password(place: Place) -> None:
    who = await both(place, place.write({"username": "jane", "password": "pä ss:word"}))

    assert who["Authorization"].startswith("Basic ")


async def test_client_certificate_as_data(place: Place) -> None:
    user = {
        "client-certificate-data": base64.b64encode(place.certificate).decode(),
        "client-key-data": base64.b64encode(place.key).decode(),
    }

    assert (await both(place, place.write(user)))["certificate"] == "jane"


async def test_client_certificate_in_files(place: Place) -> None:
    (place.directory / "pki").mkdir()
    (place.directory / "pki" / "c.crt").write_bytes(place.certificate)
    (place.directory / "pki" / "c.key").write_bytes(place.key)
    (place.directory / "pki" / "ca.crt").write_bytes(place.authority.cert_pem.bytes())
    user = {"client-certificate": "pki/c.crt", "client-key": "pki/c.key"}
    cluster = {"server": place.server.url, "certificate-authority": "pki/ca.crt"}

    assert (await both(place, place.write(user, cluster)))["certificate"] == "jane"


async def test_impersonation(place: Place) -> None:
    user = {
        "token": "abc",
        "as": "system:serviceaccount:shop:robot",
        "as-uid": "42",
        "as-groups": ["admins", "system:masters"],
        "as-user-extra": {"Scopes.example.org/x y": ["a", "b"], "reason": ["tëst"]},
    }

    who = await both(place, place.write(user))

    assert who["impersonate-group"] == ["admins", "system:masters"]
    assert len(who) == 7


async def test_server_name(place: Place) -> None:
    url = place.server.url.replace("127.0.0.1", "localhost")  # not in the certificate
    config = place.write({"token": "abc"}, place.cluster(server=url))
    code, _, complaint = await kubectl(config)
    assert (code, "certificate" in complaint) == (1, True)
    with pytest.raises(api_errors.Unreachable, match="not trusted: Hostname mismatch"):
        await ours(config)

    named = place.cluster(server=url, **{"tls-server-name": "kube.example"})
    await both(place, place.write({"token": "abc"}, named))


async def test_insecure(place: Place) -> None:
    cluster = {"server": place.server.url, "insecure-skip-tls-verify": True}

    await both(place, place.write({"token": "abc"}, cluster))


async def test_an_authority_that_is_not_known_is_refused(place: Place) -> None:
    config = place.write({"token": "abc"}, {"server": place.server.url})

    code, _, complaint = await kubectl(config)
    assert (code, "certificate" in complaint) == (1, True)
    with pytest.raises(api_errors.Unreachable) as caught:
        await ours(config)

    assert caught.value.reason is api_errors.UnreachableReason.UNTRUSTED
    assert not caught.value.sent
    assert place.server.seen == []


async def test_a_server_name_that_is_not_certified_is_refused(place: Place) -> None:
    config = place.write({"token": "t"}, place.cluster(**{"tls-server-name": "evil.example"}))

    assert (await kubectl(config))[0] == 1
    with pytest.raises(api_errors.Unreachable, match="not trusted"):
        await ours(config)


async def test_a_server_below_a_path(place: Place) -> None:
    config = place.write({"token": "t"}, place.cluster(server=f"{place.server.url}/k8s/c-1/"))

    await both(place, config)

    assert place.server.seen[0].path == "/k8s/c-1/version"


def plugin(place: Place, api_version: str, status: str) -> dict[str, object]:
    """A program that remembers what it was told and prints `status`."""
    program = place.directory / "plugin"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$KUBERNETES_EXEC_INFO" >> {place.directory}/told\n'
        f'echo "$1 $GREETING" >> {place.directory}/arguments\n'
        f"""echo '{{"kind": "ExecCredential", "apiVersion": "{api_version}", """
        f""""status": {status}}}'\n"""
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": api_version,
            "command": "./plugin",
            "args": ["--flag with space"],
            "env": [{"name": "GREETING", "value": "hello"}],
            "interactiveMode": "IfAvailable",
            "provideClusterInfo": True,
        }
    }


@pytest.mark.parametrize("api_version", [EXEC_V1, EXEC_V1BETA1])
async def test_exec_plugin_with_token(place: Place, api_version: str) -> None:
    """It is told the same, with the same arguments and environment, and believed alike."""
    user = plugin(place, api_version, '{"token": "from-plugin"}')
    cluster = place.cluster(
        extensions=[
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "kube"}}
        ],
        **{"tls-server-name": "kube.example"},
    )

    who = await both(place, place.write(user, cluster))

    assert who["Authorization"] == "Bearer from-plugin"
    told = (place.directory / "told").read_text().splitlines()
    theirs, us = (json.loads(line) for line in told if line)
    assert us == theirs
    assert us["spec"]["cluster"]["config"] == {"audience": "kube"}
    assert set((place.directory / "arguments").read_text().splitlines()) == {
        "--flag with space hello"
    }


async def test_exec_plugin_with_certificate(place: Place) -> None:
    status = {
        "clientCertificateData": place.certificate.decode(),
        "clientKeyData": place.key.decode(),
    }
    user = plugin(place, EXEC_V1, json.dumps(status).replace("\\n", "\\\\n"))

    assert (await both(place, place.write(user)))["certificate"] == "jane"


@pytest.mark.parametrize(
    ("user", "cluster"),
    [
        ({"token": "t", "username": "u", "password": "p"}, {}),
        ({"as-groups": ["g"]}, {}),
        ({"token": 5}, {}),
        ({"exec": {"command": "x", "apiVersion": EXEC_V1}}, {}),
        ({"exec": {"apiVersion": EXEC_V1, "interactiveMode": "Never"}}, {}),
        ({"exec": {"command": "x", "apiVersion": EXEC_V1, "interactiveMode": "Foo"}}, {}),
        ({"exec": {"command": "no-such-x", "apiVersion": EXEC_V1, "interactiveMode": "Never"}}, {}),
        ({"exec": {"command": "x", "apiVersion": "x/v1", "interactiveMode": "Never"}}, {}),
        ({"exec": {"command": "false", "apiVersion": EXEC_V1, "interactiveMode": "Never"}}, {}),
        ({"exec": {"command": "true", "apiVersion": EXEC_V1, "interactiveMode": "Never"}}, {}),
        ({"auth-provider": {"name": "gcp"}}, {}),
        ({"client-certificate": "/none", "client-key": "/none"}, {}),
        ({"client-certificate-data": "aGk=", "client-key-data": "aGk="}, {}),
        ({"client-certificate-data": "!"}, {}),
        ({}, {"certificate-authority-data": "aGk="}),
        ({}, {"insecure-skip-tls-verify": True}),
        ({}, {"insecure-skip-tls-verify": "yes"}),
        ({}, {"server": "ftp://127.0.0.1"}),
        ({}, {"proxy-url": "ftp://127.0.0.1"}),
        ({"tokenFile": "/none"}, {}),
    ],
)
async def test_what_kubectl_refuses_is_refused(
    place: Place, user: dict[str, object], cluster: dict[str, object]
) -> None:
    place.server.handler = _who_are_you
    config = place.write(user, place.cluster(**cluster))

    assert (await kubectl(config))[0] != 0
    with pytest.raises(errors.UserError):
        await ours(config)


async def _who_are_you(asked: Asked) -> web.StreamResponse:
    return web.json_response({"kind": "Status", "reason": "Unauthorized"}, status=401)


async def test_several_files_merge_alike(place: Place) -> None:
    """The first file to name an entry wins, as a whole."""
    first = place.write({"token": "first", "as": "jane"}, name="first")
    second = place.write({"token": "second", "as-uid": "7"}, name="second")
    files = os.pathsep.join([str(place.directory / "none"), str(first), str(second)])
    _, output, _ = await kubectl(Path(files), "config", "view", "--merge", "--raw", "-o", "json")
    theirs = json.loads(output)

    merged = kubeconfigs.read((), environment={"KUBECONFIG": files})

    assert merged.current_context == theirs["current-context"]
    assert {name: entry.body for name, entry in merged.users.items()} == {
        each["name"]: each["user"] for each in theirs["users"]
    }
    await both(place, Path(files))


async def _connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let one CONNECT through, as a proxy does."""
    head = await reader.readuntil(b"\r\n\r\n")
    host, _, port = head.split()[1].decode().rpartition(":")
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in head
    to_server, from_us = await asyncio.open_connection(host, int(port))
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while chunk := await source.read(1 << 16):
            target.write(chunk)
        target.close()

    await asyncio.gather(copy(reader, from_us), copy(to_server, writer))


async def test_a_proxy_with_password(place: Place) -> None:
    proxy = await asyncio.start_server(_connect, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    async with proxy:
        cluster = place.cluster(**{"proxy-url": f"http://me:secret@127.0.0.1:{port}"})
        await both(place, place.write({"token": "abc"}, cluster))
        await both(
            place,
            place.write({"token": "abc"}, {**cluster, "tls-server-name": "kube.example"}),
        )
