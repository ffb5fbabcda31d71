"""What broken input once did, beyond being refused: each found by `make fuzz`."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from volary import secret_files
from volary.analysis.providers.dialects import dialect
from volary.clusters.api import api_errors, discovery, requests
from volary.clusters.client import watches
from volary.clusters.transport import transports
from volary.config.text import yaml
from volary.controller.projects import project_registry
from volary.gitops import webhooks
from volary.http_client import answers
from volary.manifests.health import assessment
from volary.model import errors, server_settings
from volary.model.objects import manifest
from volary.server.authentication import tokens
from volary.store import pagination, records

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DEPLOYMENTS = discovery.Resource("apps", "v1", "Deployment", "deployments", True, frozenset())


@pytest.mark.parametrize("body", [b'{"a": "\xff"}', b"[" * 100_000, b'{"a":' * 100_000])
def test_an_answer_that_is_no_json_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(dialect.AnswerError, match="something else than JSON"):
        dialect.decode(body)
    with pytest.raises(api_errors.RequestError, match="the answer is not JSON"):
        transports._decode(body, "list pods")
    with pytest.raises(api_errors.Unreachable, match="broke in the middle"):
        watches._decode(body, "watch pods")
    assert transports._status(body) == {}


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "APIGroupDiscoveryList", "items": ["apps", {"versions": 5}], "versions": {}},
        {"items": [{"metadata": [], "versions": [None, {"resources": ["x", {"kind": 1}]}]}]},
        {"items": [{"versions": [{"resources": [{"responseKind": {"kind": "A"}}]}]}]},
        {"groups": [{"versions": ["v1"]}, None], "resources": [{"name": "pods"}, "x"]},
    ],
)
def test_a_discovery_of_another_shape_serves_nothing_instead_of_ending_the_work(
    body: dict[str, object],
) -> None:
    assert all(resource.kind for resource in discovery.parse_aggregated(body).resources)
    assert discovery.parse_legacy_groups(body, body) == []
    assert discovery.parse_legacy_version("apps", "v1", body) == []


def test_a_list_of_something_else_than_objects_is_no_list() -> None:
    page = {"kind": "DeploymentList", "metadata": ["x"], "items": ["deployment"]}

    with pytest.raises(api_errors.RequestError, match="is not a list"):
        requests.parse_page(page, DEPLOYMENTS, what="list deployments")


def test_causes_of_another_shape_are_none() -> None:
    body = {"message": "no", "details": ["x"], "reason": "Invalid"}

    assert str(api_errors.translate(422, body, what="patch")) == "no"


@pytest.mark.parametrize("metadata", [[], "web", 5, {"labels": [], "annotations": "x"}])
def test_a_live_object_may_have_metadata_of_any_shape(metadata: object) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}

    item = manifest.Manifest(body)

    assert (item.name, item.labels, item.annotations) == ("", {}, {})
    assert assessment.assess(body).reason
    line = watches._Line("ADDED", body)
    assert line.place == ""


@pytest.mark.parametrize(
    "header", ["Fri, 31 Dec 99999999999999999999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 -2400"]
)
def test_a_date_that_no_calendar_has_is_not_waited_for(header: str) -> None:
    assert answers.retry_after({"Retry-After": header}, NOW) is None


@pytest.mark.parametrize(
    ("key", "read"),
    [
        ("[9223372036854775808]", pagination.by_position),
        ("[-1]", pagination.by_position),
        ('["a\\u0000b"]', pagination.by_name),
        ('["2026-11-20T12:00:00","01K"]', pagination.by_time),
        ('["2026-11-20T12:00:00Z","\\u0000"]', pagination.by_time),
        ("[" * 5000, pagination.by_name),
    ],
)
def test_a_cursor_that_no_database_takes_is_refused(key: str, read: object) -> None:
    cursor = base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")

    with pytest.raises(errors.UserError, match="cursor is not one of this list"):
        read(cursor)  # type: ignore[operator]


def test_a_push_whose_names_cannot_be_shown_means_any_branch() -> None:
    body = b'{"ref": "refs/heads/ma\\ud800in", "after": "\\u001b[2J"}'

    assert webhooks._push_event(server_settings.WebhookProvider.GITHUB, body) == (
        webhooks.PushEvent()
    )


def test_half_of_a_pair_in_json_is_an_unknown_character_as_in_go() -> None:
    [document] = yaml.load_all('{"a\\ud800": ["\\udc00", "\\ud83d\\ude00"]}', "a.json")

    assert document.value == {"a\ufffd": ["\ufffd", "😀"]}


def test_a_cursor_that_was_given_is_read() -> None:
    assert pagination.by_position(pagination.write((2**63 - 1,))) == 2**63 - 1
    assert pagination.by_position(pagination.write((0,))) == 0
    assert pagination.by_name(pagination.write(("wéb\n",))) == "wéb\n"
    assert pagination.by_time(pagination.write((NOW, "01K"))) == (NOW, "01K")


@pytest.mark.parametrize("field", ["created", "expires", "revoked"])
def test_a_time_without_a_zone_in_the_file_of_tokens_lets_nobody_in(
    field: str, tmp_path: Path
) -> None:
    token = {"id": "1", "name": "ci", "hash": "0" * 64, "role": "admin", "created": "x"}
    times = {"created": "2026-11-20T12:00:00Z", field: "2026-12-20T12:00:00"}
    text = json.dumps({"tokens": [{**token, **times}]})
    secret_files.write_private(tmp_path / tokens.FILE_NAME, text.encode())

    with pytest.raises(errors.UserError, match="cannot be read: ValidationError"):
        tokens.TokenFile(tmp_path).find("volary_x", NOW)


@pytest.mark.parametrize(
    "document", [{}, {"files": None}, {"files": [{"name": ["a"], "text": 5}]}, {"files": ["a"]}]
)
def test_stored_project_files_of_another_shape_are_unreadable(document: dict[str, object]) -> None:
    stored = records.ProjectFilesRecord("source", "c1", "", document)

    with pytest.raises(errors.PermanentError, match="not as expected"):
        project_registry.files_of(stored)
