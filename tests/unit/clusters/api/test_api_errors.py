"""One table from what an API server answers to what it means."""

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


def test_messages_and_causes_are_bounded() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "x" * 10_000, "field": "spec"}] * 500
    error = api_errors.translate(
        422, failure("Invalid", "y" * 100_000, causes=causes), what="patch x"
    )

    assert isinstance(error, api_errors.Invalid)
    assert len(str(error)) == 600
    assert len(error.causes) == 50
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
