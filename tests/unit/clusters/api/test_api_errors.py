"""One table from what an API server answers to what it means."""

from datetime import timedelta

import pytest

from volary.clusters.api import api_errors
from volary.model import errors


def failure(reason: str, message: str = "no", **details: object) -> dict[str, object]:
    return {"kind": "Status", "reason": reason, "message": message, "details": details}


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (401, "Unauthorized", api_errors.Unauthorized),
        (403, "Forbidden", api_errors.Forbidden),
        (404, "NotFound", api_errors.NotFound),
        (409, "AlreadyExists", api_errors.AlreadyExists),
        (409, "Conflict", api_errors.Conflict),
        (410, "Expired", api_errors.Expired),
        (410, "Gone", api_errors.Expired),
        (422, "Invalid", api_errors.Invalid),
        (413, "RequestEntityTooLarge", api_errors.TooLarge),
        (400, "BadRequest", api_errors.RequestError),
        (405, "MethodNotAllowed", api_errors.RequestError),
        (429, "TooManyRequests", api_errors.TooManyRequests),
        (500, "InternalError", api_errors.ServerError),
        (503, "ServiceUnavailable", api_errors.ServerError),
        (504, "Timeout", api_errors.ServerError),
        (302, "", api_errors.RequestError),
    ],
)
def test_every_status_has_a_class(status: int, reason: str, kind: type[Exception]) -> None:
    assert type(api_errors.translate(status, failure(reason), what="get x")) is kind
    if status != 409:
        body: dict[str, object] = {}
        assert type(api_errors.translate(status, body, what="get x")) is kind


def test_temporary_and_permanent_are_told_apart() -> None:
    busy = api_errors.translate(429, {}, what="get x")
    gone = api_errors.translate(404, {}, what="get x")

    assert isinstance(busy, errors.TemporaryError)
    assert isinstance(gone, errors.PermanentError)


def test_an_apply_conflict_names_managers_and_fields() -> None:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl-edit" using apps/v1',
            "field": ".spec.replicas",
        },
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "hpa" with subresource "scale" using apps/v1',
            "field": ".spec.other",
        },
    ]
    error = api_errors.translate(409, failure("Conflict", causes=causes), what="patch x")

    assert type(error) is api_errors.ApplyConflict
    assert [(cause.manager, cause.field) for cause in error.causes] == [
        ("kubectl-edit", ".spec.replicas"),
        ("hpa", ".spec.other"),
    ]


def test_forbidden_says_verb_and_resource() -> None:
    error = api_errors.translate(
        403, failure("Forbidden", "nope"), what="patch deployments.apps shop/web"
    )

    assert str(error) == "patch deployments.apps shop/web: nope"


def test_a_404_of_something_else_is_no_evidence() -> None:
    """A proxy's 404 must not look like an object that is gone."""
    certain = api_errors.translate(404, failure("NotFound"), what="get x")
    other = api_errors.translate(404, {}, what="get x")

    assert isinstance(certain, api_errors.NotFound)
    assert isinstance(other, api_errors.NotFound)
    assert certain.is_certain
    assert not other.is_certain
    assert str(other) == "get x: the server does not serve this (HTTP 404)"


def test_messages_are_bounded_and_every_cause_is_there() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "x" * 10_000, "field": "spec"}] * 600
    error = api_errors.translate(
        422, failure("Invalid", "y" * 100_000, causes=causes), what="patch x"
    )

    assert isinstance(error, api_errors.Invalid)
    assert len(str(error)) == 600
    assert len(error.causes) == 600
    assert all(len(cause.message) == 600 for cause in error.causes)


@pytest.mark.parametrize("details", [None, {"causes": None}, {"causes": ["text"]}])
def test_odd_details_are_survived(details: object) -> None:
    body = {"kind": "Status", "reason": "Invalid", "details": details}

    assert type(api_errors.translate(422, body, what="x")) is api_errors.Invalid


def test_an_object_that_does_not_fit_its_schema_is_invalid_for_good() -> None:
    """API servers answer 500 to it; trying again cannot help."""
    message = (
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): errors:\n"
        '  .spec.template.spec.containers: duplicate entries for key [name="main"]\n'
        "  .spec.replicaz: field not declared in schema"
    )

    error = api_errors.translate(500, {"kind": "Status", "message": message}, what="patch x")

    assert type(error) is api_errors.Invalid
    assert [(cause.field, cause.message) for cause in error.causes] == [
        ("spec.template.spec.containers", 'duplicate entries for key [name="main"]'),
        ("spec.replicaz", "field not declared in schema"),
    ]


def test_that_nothing_is_created_with_a_version_is_no_failure_of_the_server() -> None:
    """API servers answer 500 to it; trying the same again cannot help."""
    message = "resourceVersion should not be set on objects to be created"

    error = api_errors.translate(500, {"kind": "Status", "message": message}, what="patch x")

    assert type(error) is api_errors.VersionedCreation


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (302, "get x: the server redirects (HTTP 302); is its URL right?"),
        (399, "get x: the server redirects (HTTP 399); is its URL right?"),
        (400, "get x: HTTP 400"),
        (401, "get x: the credentials were not accepted (HTTP 401)"),
        (404, "get x: the server does not serve this (HTTP 404)"),
        (429, "get x: HTTP 429"),
        (502, "get x: HTTP 502"),
    ],
)
def test_an_answer_without_a_status_is_put_in_words(status: int, said: str) -> None:
    assert str(api_errors.translate(status, {}, what="get x")) == said


def test_who_may_not_is_told_the_verb_once() -> None:
    body = failure("Forbidden", "get x is not for you")

    assert str(api_errors.translate(403, body, what="get x")) == "get x is not for you"
    refused = failure("Unauthorized", "who are you")
    assert str(api_errors.translate(401, refused, what="get x")) == "get x: who are you"
    gone = failure("NotFound", "no such thing")
    assert str(api_errors.translate(404, gone, what="get x")) == "no such thing"


@pytest.mark.parametrize(("status", "length"), [(429, 600), (500, 600), (404, 600)])
def test_messages_of_every_kind_are_cut(status: int, length: int) -> None:
    error = api_errors.translate(status, failure("", "z" * 500 + "y" * 101), what="get x")
    whole = api_errors.translate(status, failure("", "z" * 600), what="get x")

    assert str(error) == "z" * 399 + "…" + "z" * 99 + "y" * 101
    assert len(str(error)) == length
    assert str(whole) == "z" * length


@pytest.mark.parametrize("status", [429, 503])
def test_the_delay_that_is_asked_for_is_kept(status: int) -> None:
    error = api_errors.translate(status, {}, what="get x", delay=timedelta(seconds=3))

    assert isinstance(error, errors.TemporaryError)
    assert error.delay == timedelta(seconds=3)


def test_status_and_reason_are_kept() -> None:
    odd = api_errors.RequestError("the answer is not a list")
    assert (odd.status, odd.reason, odd.causes) == (0, "", ())

    conflict = api_errors.translate(409, failure("Conflict", "changed"), what="update x")
    broken = api_errors.translate(503, failure("", "starting"), what="get x")

    assert isinstance(conflict, api_errors.RequestError)
    assert (conflict.status, conflict.reason, conflict.causes) == (409, "Conflict", ())
    assert isinstance(broken, api_errors.ServerError)
    assert broken.status == 503


def test_a_conflict_of_another_reason_is_no_apply_conflict() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "no", "field": ".x"}]
    error = api_errors.translate(409, failure("Conflict", causes=causes), what="update x")

    assert type(error) is api_errors.Conflict
    assert error.causes == (api_errors.Cause("FieldValueInvalid", ".x", "no"),)
    assert error.causes[0].manager == ""


def test_parts_that_a_cause_leaves_out_are_empty() -> None:
    error = api_errors.translate(422, failure("Invalid", causes=[{}]), what="patch x")

    assert isinstance(error, api_errors.Invalid)
    assert error.causes == (api_errors.Cause("", "", ""),)


def test_a_lost_answer_may_have_been_sent() -> None:
    error = api_errors.Unreachable("x" * 700)

    assert (error.sent, error.reason) == (True, api_errors.UnreachableReason.BROKEN)
    assert len(str(error)) == 600
    assert isinstance(api_errors.CircuitOpen("x"), api_errors.Unreachable)
