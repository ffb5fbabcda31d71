"""`volary analysis RUN` against a real server."""

import json
from pathlib import Path

import pytest

import server_world
from volary.cli import forms
from volary.cli.analysis import run_findings
from volary.cli.remote import client, login
from volary.model import errors
from volary.store import records

API = "/api/v1/runs/run-web/findings"


async def _fill(world: server_world.Served) -> None:
    def finding(kind: str, target: str, number: int, **document: object) -> records.Finding:
        at = world.clock.now()
        return records.Finding("run-web", "1-K8S_SYNC", target, 1, at, kind, "errors", document)

    made = [
        finding(
            "measurement",
            target,
            number,
            time=f"2026-01-01T12:0{number}:00+00:00",
            values=[number / 10],
            variant="canary",
            query="q",
        )
        for number in range(3)
        for target in ("us", "eu")
    ]
    made.append(finding("verdict", "eu", 3, result="fail", sentence="errors on eu: too many"))
    await world.service.store.findings.append(made, fence=None)


def _target(world: server_world.Served, role: str) -> login.Target:
    token = world.token(role)["authorization"].removeprefix("Bearer ")
    return login.Target(world.url, token)


async def test_findings_are_paged_and_filtered(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await _fill(world)
        seen, cursor = [], ""
        while True:
            _, page = await world.ask("GET", f"{API}?limit=3&cursor={cursor}")
            seen += page["items"]
            cursor = page["cursor"]
            if not cursor:
                break
        _, verdicts = await world.ask("GET", f"{API}?kind=verdict")
        _, eu = await world.ask("GET", f"{API}?cluster=eu&kind=measurement")
        _, other = await world.ask("GET", f"{API}?metric=latency")
        wrong, _ = await world.ask("GET", f"{API}?kind=guess")

    assert len(seen) == 7
    assert [each["position"] for each in seen] == sorted(each["position"] for each in seen)
    assert seen[0]["document"] == {
        "time": "2026-01-01T12:00:00+00:00",
        "values": [0.0],
        "variant": "canary",
        "query": "q",
    }
    assert [each["document"]["sentence"] for each in verdicts["items"]] == [
        "errors on eu: too many"
    ]
    assert len(eu["items"]) == 3
    assert other["items"] == []
    assert wrong == 422


async def test_who_may_not_see_the_application_sees_no_findings(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        await _fill(world)
        headers = world.token("viewer", team="money")
        code, _ = await world.ask("GET", API, headers=headers)

    assert code == 404


async def test_one_command_says_why_it_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server_world.served(tmp_path) as world:
        await _fill(world)
        async with client.Client.open(_target(world, "viewer")) as server:
            await run_findings.show(server, "run-web", "", "", "", forms.Form.TEXT)
            shown = capsys.readouterr().out
            await run_findings.show(server, "run-web", "", "eu", "", forms.Form.WIDE)
            wide = capsys.readouterr().out
            await run_findings.show(server, "run-web", "", "us", "", forms.Form.JSON)
            plain = json.loads(capsys.readouterr().out)
            await run_findings.show(server, "run-pay", "", "", "", forms.Form.TEXT)
            empty = capsys.readouterr().out
            await run_findings.show(server, "run-web", "", "mars", "errors", forms.Form.TEXT)
            elsewhere = capsys.readouterr().out

    assert "fail: errors on eu: too many" in shown
    assert "errors  us       canary   3" in shown
    assert "▁▅█" in shown
    assert "errors (canary): q" in wide
    assert " us " not in wide
    assert len(plain["findings"]) == 3
    assert "nothing was measured in this run\n" in empty
    assert "nothing was measured in this run for cluster mars, metric errors" in elsewhere


async def test_a_report_is_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out.html"
    async with server_world.served(tmp_path) as world:
        await _fill(world)
        async with client.Client.open(_target(world, "viewer")) as server:
            await run_findings.write_report(server, "run-web", "", "", "", str(file))
            with pytest.raises(errors.UserError, match="cannot write"):
                await run_findings.write_report(server, "run-web", "", "", "", str(tmp_path))

    page = file.read_text(encoding="utf-8")
    assert "errors on eu: too many" in page
    assert page.count("<svg ") == 2, "one for each cluster"
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"wrote {file}\n")
