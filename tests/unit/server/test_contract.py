"""Random requests made from the OpenAPI document: answers keep to it, and nothing crashes."""

import asyncio
from pathlib import Path

import hypothesis
import pytest
import schemathesis
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks

import process_time
import server_world
from volary.controller.api import representations
from volary.server.routes import bodies

#: Those that end; a stream would be read for ever.
_LASTING = "/stream"
_CHECKS = (
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
)


def test_a_body_and_an_answer_never_share_a_name() -> None:
    # Else the document describes one of them as the other.
    kinds = representations.Representation.__subclasses__()
    asked = {
        kind.__name__ for kind in (*bodies.Body.__subclasses__(), bodies.Taint, bodies.Untaint)
    }

    assert {kind.__name__ for kind in kinds} & asked == set()


def _attack(url: str, document: dict[str, object]) -> int:
    schema = schemathesis.openapi.from_dict(document)
    count = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith(_LASTING) or operation.path.startswith("/webhooks"):
            continue

        @hypothesis.settings(
            max_examples=5,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            nonlocal count
            case.path_parameters = {
                name: {"application": "web", "run": "run-web"}.get(name, value)
                for name, value in (case.path_parameters or {}).items()
            }
            answer = case.call(base_url=url, timeout=process_time.HANG)
            case.validate_response(answer, checks=list(_CHECKS))
            count += 1

        ask()
    return count


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_random_requests_keep_to_the_description(tmp_path: Path) -> None:
    async with server_world.served(tmp_path) as world:
        document = world.application.openapi()
        count = await asyncio.to_thread(_attack, world.url, document)

    assert count > 50
