"""Each folder of tests/cases/providers is a question, a recorded answer, and what comes of them.

`case.yaml` has a provider as in the settings and the question; the file `answer.*` is what the
other side says. `expected.yaml` holds the request that was sent and the answer that came out.
`VOLARY_UPDATE_CASES=1` writes what is found; read the difference before committing it.
"""

import os
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp.web
import pytest
import yaml

import scripted_server
from fixed_clock import FixedClock
from volary.analysis.providers import provider_pool, query
from volary.config.fleet import fleet_files

CASES = Path(__file__).parents[3] / "cases/providers"
NAMES = sorted(str(path.parent.relative_to(CASES)) for path in CASES.glob("*/*/case.yaml"))
SECRETS = {
    "VOLARY_TEST_KEY": "key-of-the-test",
    "VOLARY_TEST_OTHER_KEY": "other-key-of-the-test",
}


@pytest.fixture
async def metric_system() -> AsyncIterator[scripted_server.ScriptedServer]:
    async with scripted_server.serve() as server:
        yield server


@pytest.mark.parametrize("name", NAMES)
async def test_recorded_answers(
    name: str,
    metric_system: scripted_server.ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in SECRETS.items():
        monkeypatch.setenv(variable, value)
    case = yaml.safe_load((CASES / name / "case.yaml").read_text())
    metric_system.handler = says(CASES / name, case)

    found = await ask(case, metric_system)

    expected = CASES / name / "expected.yaml"
    if os.environ.get("VOLARY_UPDATE_CASES"):
        text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=100)
        expected.write_text(text)
    assert found == yaml.safe_load(expected.read_text())
    assert not any(value in str(found["answer"]) for value in SECRETS.values())


def says(folder: Path, case: dict[str, Any]) -> scripted_server.Handler:
    file = next(folder.glob("answer.*"))
    kind = {
        ".json": "application/json",
        ".csv": "text/csv",
        ".xml": "text/xml",
        ".txt": "text/plain",
        ".sse": "text/event-stream",
    }
    content_type = kind.get(file.suffix, "text/html")

    async def answer(asked: scripted_server.Asked) -> aiohttp.web.StreamResponse:
        return aiohttp.web.Response(
            body=file.read_bytes(), status=case.get("status", 200), content_type=content_type
        )

    return answer


async def ask(case: dict[str, Any], server: scripted_server.ScriptedServer) -> dict[str, Any]:
    config = {"address": server.url, **case.get("config", {})}
    entry = {"name": "metrics", "type": case["type"], "config": config}
    text = yaml.safe_dump(
        {"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": [entry]}
    )
    settings = fleet_files.parse(text, file="fleet.yaml").require().providers
    clock = FixedClock()
    asked = query.Query(
        text=case["query"],
        end=clock.now(),
        window=timedelta(seconds=case.get("window", 60)),
        target="us",
        shape=query.Shape(case.get("shape", "points")),
        timeout=timedelta(seconds=10),
        is_earlier=case.get("earlier", False),
    )
    async with provider_pool.open_providers(settings, clock=clock) as providers:
        answer = await providers.measure(asked)
    found: dict[str, Any] = {"reading": answer.reading.value}
    if answer.values:
        found["values"] = [value if abs(value) < 1e300 else str(value) for value in answer.values]
        found["values"] = [each if each == each else "nan" for each in found["values"]]
    if answer.message:
        found["message"] = answer.message
    requests = [request(each) for each in server.seen]
    return {"answer": found, "request": requests[0] if requests else None}


def request(seen: scripted_server.Asked) -> dict[str, Any]:
    """Return what matters of a request: nothing that differs from run to run."""
    everyone = {"host", "accept-encoding", "user-agent", "content-length", "accept"}
    headers = {
        key.lower(): re.sub(r"Signature=[0-9a-f]{64}", "Signature=…", value)
        for key, value in seen.headers.items()
        if key.lower() not in everyone
    }
    found: dict[str, Any] = {"line": f"{seen.method} {seen.path}"}
    for key, value in (
        ("parameters", seen.query),
        ("headers", headers),
        ("body", seen.body.decode()),
    ):
        if value:
            found[key] = value
    return found
