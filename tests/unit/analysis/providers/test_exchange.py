"""What happens when the other side is down, slow, busy, endless, or not who it should be."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp.web
import pytest
import trustme

import scripted_server
from fixed_clock import FixedClock
from volary.analysis.providers import exchange, provider_pool, query
from volary.model import analysis, metric_providers

PROMETHEUS = metric_providers.PrometheusOptions()
ONE = {"status": "success", "data": {"resultType": "scalar", "result": [1, "1"]}}
CLOCK = FixedClock()


def settings(address: str, **more: Any) -> metric_providers.Provider:
    access = metric_providers.Access(address, **more.pop("access", {}))
    return metric_providers.Provider(
        "metrics", metric_providers.ProviderType.PROMETHEUS, access, PROMETHEUS, **more
    )


def asked(text: str = "up", **more: Any) -> query.Query:
    standard = {"end": CLOCK.now(), "window": timedelta(minutes=1)}
    return query.Query(text, **{**standard, **more})


async def measure(
    one: metric_providers.Provider, *queries: query.Query, learned: list[str] | None = None
) -> list[query.Answer]:
    known = [] if learned is None else learned
    async with provider_pool.open_providers([one], clock=CLOCK, learn=known.append) as providers:
        return list(await asyncio.gather(*map(providers.measure, queries)))


@pytest.fixture
async def busy() -> AsyncIterator[scripted_server.ScriptedServer]:
    async with scripted_server.serve() as server:
        server.handler = says_one
        yield server


async def says_one(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
    return scripted_server.answer(ONE)


async def test_a_provider_that_is_down_is_named() -> None:
    [answer] = await measure(settings("http://127.0.0.1:1"), asked(timeout=timedelta(seconds=10)))

    assert answer.reading is analysis.Reading.ERROR
    assert answer.message == "metrics could not be reached (connection refused), 3 times"


async def test_an_unknown_host_is_said() -> None:
    [answer] = await measure(settings("http://nobody.invalid"), asked())

    assert answer.reading is analysis.Reading.ERROR
    assert answer.message.startswith("metrics could not be reached (")


async def test_a_slow_provider_is_given_up(busy: scripted_server.ScriptedServer) -> None:
    async def sleeps(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError

    busy.handler = sleeps

    [answer] = await measure(settings(busy.url), asked(timeout=timedelta(seconds=0.2)))

    assert answer.message == "metrics gave no answer within 0.2 seconds"


async def test_the_time_of_a_question_is_its_own_however_long(
    busy: scripted_server.ScriptedServer,
) -> None:
    async with exchange.new_session(settings(busy.url)) as session:
        assert session.timeout.total is None


async def test_a_busy_provider_is_asked_again_when_it_says(
    busy: scripted_server.ScriptedServer,
) -> None:
    loop = asyncio.get_running_loop()
    busy.say(scripted_server.answer({}, 429, **{"Retry-After": "1"}))
    begun = loop.time()

    [answer] = await measure(settings(busy.url), asked())

    assert answer.values == (1.0,)
    assert len(busy.seen) == 2
    assert loop.time() - begun >= 1


async def test_a_provider_that_wants_rest_gets_it_from_all_questions(
    busy: scripted_server.ScriptedServer,
) -> None:
    busy.say(scripted_server.answer({}, 503, **{"Retry-After": "60"}))
    async with provider_pool.open_providers([settings(busy.url)], clock=CLOCK) as providers:
        first = await providers.measure(asked("a", timeout=timedelta(seconds=5)))
        second = await providers.measure(asked("b", timeout=timedelta(seconds=5)))

    for answer in (first, second):
        assert answer.reading is analysis.Reading.ERROR
        assert answer.message.startswith("metrics has too much to do, and asked to be left alone")
    assert len(busy.seen) == 1


async def test_what_stays_broken_is_asked_three_times(busy: scripted_server.ScriptedServer) -> None:
    loop = asyncio.get_running_loop()
    times: list[float] = []

    async def overloaded(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        times.append(loop.time())
        return scripted_server.answer({"error": "overloaded"}, 503)

    busy.handler = overloaded

    [answer] = await measure(settings(busy.url), asked())

    assert answer.message == "metrics answered 503: overloaded, 3 times"
    first, second, third = times
    # Nobody who is overloaded is asked again at once.
    assert second - first >= 0.5
    assert third - second >= 1.0


async def test_an_answer_without_end_is_cut_off(busy: scripted_server.ScriptedServer) -> None:
    async def endless(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        response = aiohttp.web.StreamResponse()
        await response.prepare(seen.raw)
        while True:
            await response.write(b" " * 100_000)

    busy.handler = endless

    [answer] = await measure(settings(busy.url), asked())

    assert answer.message == "metrics answered with more than 4 MiB: ask for less"
    assert exchange.LARGEST_ANSWER == 4 * 1024 * 1024


async def test_an_answer_that_is_cut_short_is_asked_for_again(
    busy: scripted_server.ScriptedServer,
) -> None:
    async def breaks_off(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        response = aiohttp.web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(seen.raw)
        await response.write(b"{")
        assert seen.raw.transport is not None
        seen.raw.transport.abort()
        return response

    busy.say(breaks_off)

    [answer] = await measure(settings(busy.url), asked())

    assert answer.values == (1.0,)


async def test_no_more_questions_at_one_time_than_allowed(
    busy: scripted_server.ScriptedServer,
) -> None:
    present, most = 0, 0

    async def counts(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        nonlocal present, most
        present += 1
        most = max(most, present)
        await asyncio.sleep(0.02)
        present -= 1
        return scripted_server.answer(ONE)

    busy.handler = counts

    answers = await measure(settings(busy.url, concurrency=3), *(asked(str(i)) for i in range(12)))

    assert [each.values for each in answers] == [(1.0,)] * 12
    assert most == 3


async def test_the_same_question_of_many_is_asked_once(
    busy: scripted_server.ScriptedServer,
) -> None:
    many = [
        asked(target=f"cluster-{i}", end=CLOCK.now() + timedelta(seconds=i / 100))
        for i in range(50)
    ]

    answers = await measure(settings(busy.url), *many)

    assert len(busy.seen) == 1
    assert {each.values for each in answers} == {(1.0,)}


async def test_other_questions_are_not_mixed_up(busy: scripted_server.ScriptedServer) -> None:
    different = [
        asked(),
        asked("down"),
        asked(window=timedelta(minutes=2)),
        asked(end=CLOCK.now() - timedelta(minutes=1)),
        asked(shape=query.Shape.TOTAL),
    ]

    await measure(settings(busy.url), *different)

    assert len(busy.seen) == len(different)


async def test_each_cluster_may_have_its_own(busy: scripted_server.ScriptedServer) -> None:
    one = settings(
        f"{busy.url}/of/${{CLUSTER}}", access={"addresses": {"eu": f"{busy.url}/europe"}}
    )

    await measure(one, asked(target="us"), asked(target="eu"), asked(target="asia"))

    paths = sorted(each.path.removesuffix("/api/v1/query") for each in busy.seen)
    assert paths == ["/europe", "/of/asia", "/of/us"]


async def test_who_gives_up_does_not_break_it_off_for_others(
    busy: scripted_server.ScriptedServer,
) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def waits(seen: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        arrived.set()
        await go_on.wait()
        return scripted_server.answer(ONE)

    busy.handler = waits
    async with (
        provider_pool.open_providers([settings(busy.url)], clock=CLOCK) as providers,
        asyncio.TaskGroup() as group,
    ):
        first = group.create_task(providers.measure(asked()))
        await arrived.wait()
        second = group.create_task(providers.measure(asked()))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        go_on.set()
        answer = await second

    assert answer.values == (1.0,)


async def test_errors_are_not_kept_and_answers_are(busy: scripted_server.ScriptedServer) -> None:
    busy.say(scripted_server.answer({}, 404))
    async with provider_pool.open_providers([settings(busy.url)], clock=CLOCK) as providers:
        readings = [(await providers.measure(asked())).reading for _ in range(3)]

    values = analysis.Reading.VALUES
    assert readings == [analysis.Reading.ERROR, values, values]
    assert len(busy.seen) == 2


async def test_secrets_are_read_for_each_question(
    busy: scripted_server.ScriptedServer, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    one = settings(busy.url, access={"token": metric_providers.Secret(str(file))})
    learned: set[str] = set()
    async with provider_pool.open_providers([one], clock=CLOCK, learn=learned.add) as providers:
        missing = await providers.measure(asked("a"))
        file.write_text("first-token\n")
        await providers.measure(asked("b"))
        file.write_text("second-token\n")
        await providers.measure(asked("c"))
        await providers.measure(asked("d"))

    assert missing.message == (
        f"metrics has no secret: {file} cannot be read: no such file or directory"
    )
    sent = [each.headers["Authorization"] for each in busy.seen]
    assert sent == ["Bearer first-token", "Bearer second-token", "Bearer second-token"]
    assert learned == {"first-token", "second-token"}


async def test_a_secret_of_several_lines_is_refused(
    busy: scripted_server.ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("first\nX-Other: second")
    one = settings(busy.url, access={"token": metric_providers.Secret(str(tmp_path / "token"))})

    [answer] = await measure(one, asked())

    assert answer.message.endswith("a secret is one line of text")
    assert not busy.seen


async def test_nobody_to_ask_is_said() -> None:
    both = [settings("http://127.0.0.1:1"), replace(settings("http://127.0.0.1:1"), name="other")]
    async with provider_pool.open_providers(both, clock=CLOCK) as providers:
        which = await providers.measure(asked())
        unknown = await providers.measure(asked(provider="thrid"))

    [other] = await measure(settings("http://127.0.0.1:1"), asked(provider="other"))

    assert other.message == "no provider other is in the settings (there: metrics)"
    assert "there are several (metrics, other)" in which.message
    assert unknown.message == "no provider thrid is in the settings (there: metrics, other)"
    readings = {which.reading, unknown.reading}
    assert readings == {analysis.Reading.ERROR}


class Authority:
    """Makes certificates for the test."""

    def __init__(self, directory: Path) -> None:
        self._made = trustme.CA()
        self.file = directory / "ca.pem"
        self._made.cert_pem.write_to_path(str(self.file))
        client = self._made.issue_cert("volary")
        self.certificate, self.key = directory / "client.pem", directory / "client.key"
        client.private_key_pem.write_to_path(str(self.key))
        for each in client.cert_chain_pems:
            each.write_to_path(str(self.certificate), append=True)

    def context(self, names: Sequence[str], *, demand: bool = False) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._made.issue_cert(*names).configure_cert(made)
        if demand:
            self._made.configure_trust(made)
            made.verify_mode = ssl.CERT_REQUIRED
        return made


async def test_certificates_are_verified(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    trusted = metric_providers.ProviderTls(ca_file=str(authority.file))
    other_name = replace(trusted, server_name="prometheus.internal")
    tries = {
        "system's authorities": metric_providers.ProviderTls(),
        "own authority": trusted,
        "own authority, other name": other_name,
        "not looked at": metric_providers.ProviderTls(insecure_skip_verify=True),
    }
    found: dict[str, str] = {}
    for title, names in (("address", ["127.0.0.1"]), ("name", ["prometheus.internal"])):
        async with scripted_server.serve(authority.context(names)) as server:
            server.handler = says_one
            for what, tls in tries.items():
                [answer] = await measure(settings(server.url, access={"tls": tls}), asked())
                found[f"{title}: {what}"] = answer.message or "asked"

    refused = "metrics has a certificate that is not trusted, or for another name"
    assert found == {
        "address: system's authorities": refused,
        "address: own authority": "asked",
        "address: own authority, other name": refused,
        "address: not looked at": "asked",
        "name: system's authorities": refused,
        "name: own authority": refused,
        "name: own authority, other name": "asked",
        "name: not looked at": "asked",
    }


async def test_a_certificate_is_shown(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = metric_providers.ProviderTls(
        ca_file=str(authority.file),
        cert_file=str(authority.certificate),
        key_file=str(authority.key),
    )
    async with scripted_server.serve(authority.context(["127.0.0.1"], demand=True)) as server:
        server.handler = says_one
        [shown] = await measure(settings(server.url, access={"tls": tls}), asked())
        authority.key.write_text("no key")
        [broken] = await measure(settings(server.url, access={"tls": tls}), asked("b"))

    assert shown.values == (1.0,)
    assert broken.message.startswith("metrics cannot be asked: one of ")
    assert broken.message.endswith("is not valid PEM")


async def test_the_proxy_of_the_environment_is_used(
    busy: scripted_server.ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", busy.url)
    monkeypatch.setenv("no_proxy", "inside.invalid")

    [through] = await measure(settings("http://outside.invalid:9090"), asked())
    [direct] = await measure(
        settings("http://inside.invalid:9090"), asked(timeout=timedelta(seconds=5))
    )

    assert through.values == (1.0,)
    assert [each.headers["Host"] for each in busy.seen] == ["outside.invalid:9090"]
    assert direct.reading is analysis.Reading.ERROR
