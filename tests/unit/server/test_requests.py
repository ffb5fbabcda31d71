"""Lists, pages, sizes, refusals, webhooks, headers."""

import hashlib
import hmac
import json
import ssl
from pathlib import Path

import pytest
import sqlalchemy as sa
import trustme

import server_world
from volary.model import errors, server_settings
from volary.model.fleet import fleets
from volary.server import serving
from volary.store import records

API = "/api/v1"


async def test_pages_follow_each_other_without_gap_or_repetition(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        for number in range(5):
            await world.keep_application(f"app-{number}", team="more")
        seen, cursor = [], ""
        while True:
            path = f"{API}/applications?limit=2&label=team=more&cursor={cursor}"
            _, page = await world.ask("GET", path)
            seen += [each["name"] for each in page["items"]]
            cursor = page["cursor"]
            if not cursor:
                break
        wrong, _ = await world.ask("GET", f"{API}/applications?cursor=bm8")
        large, _ = await world.ask("GET", f"{API}/applications?limit=501")

    assert seen == [f"app-{number}" for number in range(5)]
    assert (wrong, large) == (400, 422)


async def test_pieces_of_a_run_are_paged_and_filtered(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        _, first = await world.ask("GET", f"{API}/runs/run-web/tasks?limit=1")
        _, second = await world.ask(
            "GET", f"{API}/runs/run-web/tasks?limit=1&cursor={first['cursor']}"
        )
        _, eu = await world.ask("GET", f"{API}/runs/run-web/tasks?cluster=eu")
        _, stages = await world.ask("GET", f"{API}/runs/run-web/stages")

    assert [first["items"][0]["task"]["target"], second["items"][0]["task"]["target"]] == [
        "us",
        "eu",
    ]
    assert second["cursor"] == ""
    assert [each["task"]["target"] for each in eu["items"]] == ["eu"]
    assert [each["name"] for each in stages["items"]] == ["K8S_SYNC"]


async def test_an_application_that_cannot_be_read_is_shown_with_the_reason(
    tmp_path: Path,
) -> None:
    """What stands in its way is part of the answer, and nobody waits for it."""
    async with server_world.served(tmp_path) as world:
        status, found = await world.ask("GET", f"{API}/applications/web/status")
        nothing, _ = await world.ask("GET", f"{API}/applications/nothing/status")
        mine = world.token("viewer", team="money")
        foreign, _ = await world.ask("GET", f"{API}/applications/web/status", headers=mine)

    assert (status, nothing, foreign) == (200, 404, 404)
    assert found["problem"] == "its file cannot be read: there is no repository shop"
    assert found["health"] == {"status": "unknown", "reason": "no cluster is known for it"}
    assert found["clusters"] == []


async def test_who_has_it_already_gets_nothing_again(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        async with world.session.get(f"{world.url}{API}/runs/run-web") as answer:
            tag = answer.headers["etag"]
        known = {"if-none-match": f'"other", W/{tag}'}
        async with world.session.get(f"{world.url}{API}/runs/run-web", headers=known) as answer:
            assert (answer.status, await answer.read()) == (304, b"")
        await world.keep_application("web", team="new")
        async with world.session.get(
            f"{world.url}{API}/applications/web", headers={"if-none-match": tag}
        ) as answer:
            assert answer.status == 200


async def test_who_cannot_write_is_not_ready(tmp_path: Path) -> None:
    """A full disk, played by SQLite's own limit; it can still be read."""
    async with server_world.served(tmp_path) as world:
        base = world.service.store._base
        async with base.writing() as connection:
            [[pages]] = await connection.execute(sa.text("PRAGMA page_count"))
            await connection.execute(sa.text(f"PRAGMA max_page_count = {pages + 1}"))
        for _ in range(2):
            with pytest.raises(errors.TemporaryError):
                await world.keep_application("large", text="x" * 100_000)
        status, said = await world.ask("GET", "/readyz")
        listed, _ = await world.ask("GET", f"{API}/runs")
        lives, _ = await world.ask("GET", "/healthz")
        async with base.writing() as connection:
            await connection.execute(sa.text("PRAGMA max_page_count = 1000000"))
        again, _ = await world.ask("GET", "/readyz")

    assert (status, said["detail"].partition(";")[0]) == (503, "the database's disk is full")
    assert (listed, lives, again) == (200, 200, 200)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b'{"comment": 5}', 422),
        (b'{"comment": "a\\u0000b"}', 422),
        (b'{"comment": "\\ud800"}', 422),
        (b'{"coment": "a"}', 422),
        (b'{"comment": "' + b"a" * 70_000 + b'"}', 413),
        (b'{"comment": "fine"}', 422),
        (b'{"seen": {"stage": "1-WAIT", "version": 1}}', 422),
        (b'{"seen": {"stage": "1-WAIT", "group": "", "version": 1}, "comment": "fine"}', 409),
        (b"", 422),
    ],
)
async def test_odd_bodies_are_refused_without_being_repeated(
    tmp_path: Path, body: bytes, status: int
) -> None:
    headers = {"content-type": "application/json"}
    async with server_world.served(tmp_path) as world:
        got, said = await world.ask(
            "POST", f"{API}/runs/run-web/approve", data=body, headers=headers
        )

    assert got == status
    assert said["status"] == status
    assert "aaaa" not in json.dumps(said)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b"[" * 30_000 + b"]" * 30_000,
        b'{"comment": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    ],
    ids=["open", "closed", "in a field"],
)
async def test_deep_bodies_are_refused(tmp_path: Path, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    async with server_world.served(tmp_path) as world:
        got, said = await world.ask(
            "POST", f"{API}/runs/run-web/approve", data=body, headers=headers
        )

    # Since 3.14 Python itself reads as deep as its stack lasts; then the shape is what is refused.
    assert got in (400, 422)
    assert said["status"] == got
    assert "[[[" not in json.dumps(said)


async def test_a_body_of_unknown_length_is_cut_off(tmp_path: Path) -> None:
    async def endless():  # type: ignore[no-untyped-def]
        for _ in range(100):
            yield b"x" * 10_000

    async with server_world.served(tmp_path) as world:
        status, _ = await world.ask("POST", f"{API}/runs/run-web/approve", data=endless())

    assert status == 413


async def test_odd_names_are_not_looked_up(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        statuses = [
            (await world.ask("GET", f"{API}/runs/{name}"))[0]
            for name in ("%00", "..%2f..", "a%20b", "é", "x" * 300, "nope")
        ]
        query, _ = await world.ask("GET", f"{API}/runs?commit=%00")

    assert statuses == [404] * 6
    assert query == 422


async def test_every_answer_carries_the_security_headers(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        for path in ("/healthz", f"{API}/runs", "/nowhere"):
            async with world.session.get(world.url + path) as answer:
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert "default-src 'none'" in answer.headers["content-security-policy"]
                assert "server" not in answer.headers


async def test_webhooks_hasten_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hook\n")
    hook = server_settings.RepositoryWebhook(
        server_settings.WebhookProvider.GITHUB, str(tmp_path / "secret")
    )
    known = (
        server_settings.Repository("shop", "file:///shop", webhook=hook),
        server_settings.Repository("deaf", "file:///deaf"),
    )
    body = b'{"ref": "refs/heads/main", "after": "c0ffee"}'
    signed = {
        "x-hub-signature-256": "sha256=" + hmac.new(b"hook", body, hashlib.sha256).hexdigest()
    }
    async with server_world.served(tmp_path, repositories=known) as world:
        world.token("admin")
        fine, _ = await world.ask("POST", "/webhooks/shop", data=body, headers=signed)
        forged, _ = await world.ask("POST", "/webhooks/shop", data=b"{}", headers=signed)
        deaf, _ = await world.ask("POST", "/webhooks/deaf", data=body, headers=signed)
        large, _ = await world.ask("POST", "/webhooks/shop", data=b"x" * 262_145, headers=signed)
        for _ in range(10):
            await world.ask("POST", "/webhooks/shop", data=b"{}")
        flood, _ = await world.ask("POST", "/webhooks/shop", data=b"{}")
        after, _ = await world.ask("POST", "/webhooks/shop", data=body, headers=signed)
        hastened = world.hastened

    assert (fine, forged, deaf, large, flood) == (202, 401, 404, 413, 429)
    assert after == 202, "what others forge shuts no Git host out"
    assert [(name, hint.branch) for name, hint in hastened] == [("shop", "main")] * 2


async def test_a_mistake_of_ours_is_answered_without_a_word_about_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server_world.served(tmp_path) as world:

        async def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError("a secret detail")

        type(world.made.service.fleet).list, kept = broken, type(world.made.service.fleet).list
        try:
            status, said = await world.ask("GET", f"{API}/clusters")
        finally:
            type(world.made.service.fleet).list = kept  # type: ignore[method-assign]

    assert status == 500
    assert "secret" not in json.dumps(said)
    caplog.clear()


async def test_numbers_name_routes_not_paths(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.ask("GET", f"{API}/runs/run-web")
        await world.ask("GET", "/api/nowhere/else")
        _, text = await world.ask("GET", "/metrics")

    assert 'route="/api/v1/runs/{run}",status="200"' in text
    assert 'route="(none)",status="404"' in text
    assert "run-web" not in text
    assert 'volary_applications{status="unknown"} 2.0' in text
    assert 'volary_clusters{status="unreachable"} 0.0' in text


async def test_numbers_are_counted_anew_when_the_clock_was_set_back(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await world.ask("GET", "/metrics")
        await world.keep_application("mail", team="shop")
        _, before = await world.ask("GET", "/metrics")
        world.clock.forward(hours=-1)
        _, after = await world.ask("GET", "/metrics")

    assert 'volary_applications{status="unknown"} 2.0' in before
    assert 'volary_applications{status="unknown"} 3.0' in after


async def test_tls_by_files(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(tmp_path / "all.pem")
    tls = server_settings.TlsFiles(str(tmp_path / "all.pem"), str(tmp_path / "all.pem"))
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    async with (
        server_world.served(tmp_path, tls=tls) as world,
        world.session.get(world.url + "/healthz", ssl=trust) as answer,
    ):
        assert answer.status == 200
        assert "strict-transport-security" in answer.headers


def test_an_address_that_is_taken_is_said() -> None:
    with serving.bound("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with (
            pytest.raises(errors.UserError, match=f"cannot listen on 127.0.0.1:{port}"),
            serving.bound("127.0.0.1", port),
        ):
            pass


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"target": "us", "reason": "it burns"}, 409),
        ({"stage": "1-ANALYSIS", "reason": "enough"}, 409),
        ({"target": "us", "stage": "1-ANALYSIS", "reason": "both"}, 422),
        ({"reason": "nothing"}, 422),
        ({"stage": "1-ANALYSIS"}, 422),
    ],
)
async def test_a_cluster_or_a_stage_is_skipped(
    tmp_path: Path, body: dict[str, str], expected: int
) -> None:
    async with server_world.served(tmp_path) as world:
        seen = {"stage": "1-K8S_SYNC", "group": "", "version": 1}
        path = f"{API}/runs/run-web/skip"
        code, _ = await world.ask("POST", path, json={**body, "seen": seen})

    assert code == expected


async def test_what_is_asked_for_again_under_its_key_is_done_once(tmp_path: Path) -> None:
    path, key = f"{API}/clusters/us/cordon", {"idempotency-key": "from-a-script-1"}
    async with server_world.served(tmp_path) as world:
        world.service.fleet.register.replace(fleets.Fleet((fleets.Cluster("us"),)))
        body = {"reason": "1.36"}
        first, said = await world.ask("POST", path, json=body, headers=key)
        again, same = await world.ask("POST", path, json=body, headers=key)
        other, _ = await world.ask("POST", path, json=body)
        mixed, why = await world.ask("POST", path, json={"reason": "tea"}, headers=key)
        odd, _ = await world.ask("POST", path, json=body, headers={"idempotency-key": "a b"})

    assert (first, again, other, mixed, odd) == (202, 202, 409, 409, 422)
    assert said == same
    assert "this Idempotency-Key was used for another request" in str(why)


async def test_who_may_forget_only_some_applications_hears_the_answer_again(
    tmp_path: Path,
) -> None:
    """What says that they may has gone with the application; the request has not."""
    path, body = f"{API}/applications/web/forget", {"reason": "it is over"}
    key = {"idempotency-key": "from-a-script-1"}
    async with server_world.served(tmp_path) as world:
        ana, bo = world.token("admin", "ana", team="shop"), world.token("admin", "bo", team="shop")
        viewer = world.token("viewer", "eve", team="shop")
        first = await world.ask("POST", path, json=body, headers=ana | key)
        await world.service.store.applications.forget("web", fence=None)
        again = await world.ask("POST", path, json=body, headers=ana | key)
        others = [
            await world.ask("POST", path, json=body, headers=headers)
            for headers in (ana, bo | key, viewer | key)
        ]
        sync, _ = await world.ask(
            "POST", f"{API}/applications/web/sync", json={}, headers=ana | key
        )
        audit = await world.service.store.audit.list(records.AuditFilter(application="web"))

    assert first[0] == 409
    assert again == first
    assert [status for status, _ in others] == [404, 404, 404]
    assert sync == 409, "another request has another key"
    # The newest first; what has its answer is noted as it was at first.
    results = [entry.result for entry in audit.items if entry.action == "application.forget"]
    assert results == ["denied", "denied", "denied", "failed", "failed"]
