"""Programs that print credentials: asked seldom, bounded, and replaced without harm."""

import asyncio
import json
import os
import ssl
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme

import process_time
from fixed_clock import FixedClock
from scripted_server import Asked, ScriptedServer, serve, status
from volary.clusters.client import clients
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import authenticators, sessions
from volary.model import errors

V1 = "client.authentication.k8s.io/v1"


def credential(**fields: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": fields})


class Program:
    """An executable that counts how often it ran."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "plugin"
        self._runs = directory / "runs"
        self._answer = directory / "answer"

    def write(self, *commands: str) -> connections.Exec:
        self.path.write_text("\n".join(["#!/bin/sh", f"echo >> {self._runs}", *commands]))
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        return connections.Exec(V1, str(self.path))

    def answers(self, text: str) -> connections.Exec:
        self._answer.write_text(text)
        return self.write(f"cat {self._answer}")

    @property
    def runs(self) -> int:
        return len(self._runs.read_text().splitlines()) if self._runs.exists() else 0


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def plugin(source: connections.Exec, clock: FixedClock | None = None, timeout: float = 5.0) -> Any:
    return authenticators.ExecPlugin(source, "us", clock or FixedClock(), timeout=timeout)


async def test_it_runs_once_however_many_ask(program: Program) -> None:
    subject = plugin(program.answers(credential(token="abc")))

    proofs = await asyncio.gather(*(subject.prove() for _ in range(5)))

    assert {proof.authorization for proof in proofs} == {"Bearer abc"}
    assert program.runs == 1


async def test_it_runs_again_shortly_before_the_answer_expires(program: Program) -> None:
    clock = FixedClock()
    expiring = credential(token="abc", expirationTimestamp="2030-01-01T12:10:00Z")
    subject = plugin(program.answers(expiring), clock)

    await subject.prove()
    clock.forward(minutes=9, seconds=49)
    await subject.prove()
    assert program.runs == 1

    clock.forward(seconds=1)
    await subject.prove()
    assert program.runs == 2


async def test_refused_by_many_it_runs_once_more(program: Program) -> None:
    """Sixteen requests get 401 for the same token: that is one reason to ask again."""
    subject = plugin(program.answers(credential(token="abc")))
    refused = await subject.prove()

    for _ in range(16):
        assert subject.forget(refused)
        await subject.prove()

    assert program.runs == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "did not print an ExecCredential"),
        ("null", "did not print an ExecCredential"),
        ("{}", "answered something"),
        (credential(), "without token or certificate"),
        (credential(clientCertificateData="PEM"), "without its key"),
        (credential(token="abc").replace("/v1", "/v1beta1"), "but the kubeconfig asks for"),
        (credential(token=5), "did not print an ExecCredential"),
    ],
)
async def test_answers_that_cannot_be_used(program: Program, answer: str, said: str) -> None:
    with pytest.raises(errors.UserError, match=said):
        await plugin(program.answers(answer)).prove()


async def test_a_program_that_is_missing_shows_how_to_get_it() -> None:
    source = connections.Exec(V1, "no-such-program", install_hint="brew install it")

    with pytest.raises(errors.UserError, match=r"(?s)no-such-program was not found.*brew"):
        await plugin(source).prove()


async def test_a_program_that_fails_says_why(program: Program) -> None:
    source = program.write("echo 'session expired' >&2", "exit 3")

    with pytest.raises(errors.UserError, match="ended with code 3: session expired"):
        await plugin(source).prove()


async def test_a_program_that_hangs_is_ended_with_its_children(
    program: Program, tmp_path: Path
) -> None:
    child = tmp_path / "child"
    source = program.write("sleep 3600 &", f"echo $! > {child}", "wait")

    with pytest.raises(errors.UserError, match=r"failed: plugin did not end within 0\.3 seconds"):
        await plugin(source, timeout=0.3).prove()

    number = int(child.read_text())
    await process_time.until(lambda: not _is_running(number))


def _is_running(process: int) -> bool:
    """Whether a process runs; one that ended but was not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def test_a_flood_of_output_is_not_kept(program: Program) -> None:
    source = program.write("head -c 5000000 /dev/zero")

    with pytest.raises(errors.UserError, match="failed: plugin wrote more than 1 MiB"):
        await plugin(source).prove()


async def test_it_finds_our_environment_and_no_terminal(program: Program) -> None:
    source = program.write(
        'test -n "$PATH" || exit 4', "test -t 0 && exit 5", "read line && exit 6", "exit 7"
    )

    with pytest.raises(errors.UserError, match="code 7"):
        await plugin(source).prove()


async def test_it_does_not_read_our_input(program: Program) -> None:
    source = program.write("read line && exit 6", "exit 7")
    ours, written = os.pipe()
    os.write(written, b"a line for us\n")
    before = os.dup(0)
    os.dup2(ours, 0)
    try:
        with pytest.raises(errors.UserError, match="code 7"):
            await plugin(source).prove()
    finally:
        os.dup2(before, 0)
        for descriptor in (ours, written, before):
            os.close(descriptor)


async def test_a_token_file_is_read_again(tmp_path: Path) -> None:
    clock = FixedClock()
    file = tmp_path / "token"
    file.write_text("one\n")
    subject = authenticators.TokenFileAuthenticator(connections.TokenFile(str(file)), "us", clock)

    assert (await subject.prove()).authorization == "Bearer one"
    file.write_text("two")
    assert (await subject.prove()).authorization == "Bearer one"
    clock.forward(seconds=60)
    assert (await subject.prove()).authorization == "Bearer two"


async def test_a_token_file_is_read_again_after_a_401(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    subject = authenticators.TokenFileAuthenticator(
        connections.TokenFile(str(file)), "us", FixedClock()
    )
    refused = await subject.prove()

    assert not subject.forget(refused)  # nothing new to try
    file.write_text("two")
    assert subject.forget(refused)
    assert (await subject.prove()).authorization == "Bearer two"


async def test_a_token_file_that_cannot_be_read_falls_back(tmp_path: Path) -> None:
    file = tmp_path / "token"
    source = connections.TokenFile(str(file), fallback="old")
    clock = FixedClock()
    subject = authenticators.TokenFileAuthenticator(source, "us", clock)

    first = await subject.prove()
    assert first.authorization == "Bearer old"
    assert not subject.forget(first)
    file.write_text("new")
    clock.forward(seconds=59)
    assert subject.forget(authenticators.Proof("Bearer other"))
    assert (await subject.prove()).authorization == "Bearer new"


async def test_the_same_token_is_the_same_proof(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    clock = FixedClock()
    subject = authenticators.TokenFileAuthenticator(connections.TokenFile(str(file)), "us", clock)

    first = await subject.prove()
    clock.forward(minutes=2)
    assert await subject.prove() is first


@pytest.mark.parametrize(
    ("source", "header"),
    [
        (connections.Anonymous(), ""),
        (connections.Token("abc"), "Bearer abc"),
        (connections.Basic("ana", "p:w"), "Basic YW5hOnA6dw=="),
    ],
)
async def test_credentials_that_never_change(source: connections.Credentials, header: str) -> None:
    subject = authenticators.authenticator_for(
        source, cluster="us", clock=FixedClock(), exec_timeout=1
    )
    proof = await subject.prove()

    assert proof == authenticators.Proof(header)
    assert not subject.forget(proof)


def test_on_whose_behalf_requests_are_made() -> None:
    nobody = connections.Impersonation()
    jane = connections.Impersonation(
        "jane", "7", ("a", "b"), {"example.com/scope": ("x", "y"), "z": ("1",)}
    )

    assert authenticators.impersonation_headers(nobody) == []
    assert authenticators.impersonation_headers(jane) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fscope", "x"),
        ("Impersonate-Extra-example.com%2Fscope", "y"),
        ("Impersonate-Extra-z", "1"),
    ]


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (None, {"interactive": False}),
        ({"server": "https://x"}, {"interactive": False, "cluster": {"server": "https://x"}}),
    ],
)
def test_what_a_program_learns(info: dict[str, object] | None, expected: object) -> None:
    source = connections.Exec(V1, "x", cluster_info=info)

    assert json.loads(authenticators.exec_info(source)) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": expected,
    }


def test_what_a_program_answered() -> None:
    def parsed(**fields: Any) -> Any:
        return authenticators.parse_credential(credential(**fields).encode(), V1, cluster="us")

    proof, expires = parsed(token="t", expirationTimestamp="2030-01-01T12:00:00")
    assert (proof, expires) == (
        authenticators.Proof("Bearer t"),
        datetime(2030, 1, 1, 12, tzinfo=UTC),
    )
    assert parsed(token="t", expirationTimestamp="2030-01-01T12:00:00+01:00")[1] == datetime(
        2030, 1, 1, 11, tzinfo=UTC
    )
    assert parsed(clientCertificateData="C", clientKeyData="K") == (
        authenticators.Proof("", b"C", b"K"),
        None,
    )


async def test_a_long_complaint_is_cut_to_its_end(program: Program) -> None:
    source = program.write("printf 'x%.0s' $(seq 1000) >&2", "echo ' the end' >&2", "exit 2")

    with pytest.raises(errors.UserError) as caught:
        await plugin(source).prove()

    said = caught.value.problems[0].message.partition("ended with code 2: ")[2]
    assert len(said) == 300
    assert said.endswith("x the end")


async def test_a_program_that_fails_without_a_word(program: Program) -> None:
    with pytest.raises(errors.UserError, match=r"ended with code 3\n"):
        await plugin(program.write("exit 3")).prove()


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff", b"a\nb", b"x" * 70_000])
async def test_token_files_without_a_token(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    subject = authenticators.TokenFileAuthenticator(
        connections.TokenFile(str(file)), "us", FixedClock()
    )

    with pytest.raises(errors.UserError, match="token file"):
        await subject.prove()


@pytest.fixture
async def guarded(program: Program) -> AsyncIterator[ScriptedServer]:
    """Takes only the token ``good``."""

    async def check(asked: Asked) -> Any:
        server.handler = check
        if asked.headers.get("Authorization") == "Bearer good":
            return await ScriptedServer().handle(asked.raw)
        return status(401, "Unauthorized", "Unauthorized")

    async with serve() as server:
        server.handler = check
        yield server


async def test_after_a_401_the_program_is_asked_again(
    guarded: ScriptedServer, program: Program
) -> None:
    source = program.write(
        f"if [ $(wc -l < {program.path.parent}/runs) = 1 ]; then",
        f"echo '{credential(token='stale')}'",
        "else",
        f"echo '{credential(token='good')}'",
        "fi",
    )
    connection = connections.Connection("us", guarded.url, credentials=source)
    async with clients.open_client(connection, clock=FixedClock()) as client:
        assert await client.version() == "v1.36.0"

    assert program.runs == 2
    assert len(guarded.seen) == 2


async def test_a_new_certificate_does_not_cut_off_what_is_under_way(
    program: Program, tmp_path: Path
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    clock = FixedClock()
    arrived, release = asyncio.Event(), asyncio.Event()

    async def slowly(asked: Asked) -> Any:
        arrived.set()
        await release.wait()
        return await ScriptedServer().handle(asked.raw)

    def certified(name: str) -> connections.Exec:
        made = authority.issue_cert(f"{name}@example.org", common_name=name)
        return program.answers(
            credential(
                clientCertificateData=b"".join(c.bytes() for c in made.cert_chain_pems).decode(),
                clientKeyData=made.private_key_pem.bytes().decode(),
                expirationTimestamp=f"2030-01-01T{13 if name == 'old' else 14}:00:00Z",
            )
        )

    async with serve(context) as server:
        connection = connections.Connection(
            "us",
            server.url,
            tls=connections.Tls(authorities=authority.cert_pem.bytes()),
            credentials=certified("old"),
        )
        async with clients.open_client(connection, clock=clock) as client:
            server.say(slowly)
            async with asyncio.TaskGroup() as group:
                running = group.create_task(client.version())
                await arrived.wait()
                certified("new")
                clock.forward(minutes=65)
                assert await client.version() == "v1.36.0"
                release.set()
            assert running.result() == "v1.36.0"

    assert [asked.certificate for asked in server.seen] == ["old", "new"]


def test_an_encrypted_key_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    encrypted = (
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        b"MIGjMF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3DQEFDDAkBBBYrLWzIhlF9pV8Yl1m\n"
        b"-----END ENCRYPTED PRIVATE KEY-----\n"
    )
    certificate = trustme.CA().issue_cert("a@example.org").cert_chain_pems[0].bytes()
    connection = connections.Connection(
        "us", "https://x", tls=connections.Tls(certificate=certificate, key=encrypted)
    )

    with pytest.raises(errors.UserError, match="is encrypted"):
        sessions.tls_context(connection, authenticators.Proof())


def test_the_systems_authorities_are_loaded_once() -> None:
    one = sessions.tls_context(connections.Connection("us", "https://x"), authenticators.Proof())
    two = sessions.tls_context(connections.Connection("eu", "https://y"), authenticators.Proof())

    assert one is two


def test_secrets_are_not_shown() -> None:
    assert "abc" not in repr(authenticators.Proof("Bearer abc", b"abc", b"abc"))
