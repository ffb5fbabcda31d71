"""Reading what a client sent: bounded, JSON or YAML."""

from typing import Any

import msgspec
import yaml
from aiohttp import web

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes, parameters
from kube_sandbox.apimachinery.scheme import catalog, field_validation, types
from kube_sandbox.apiserver.endpoints import protobuf
from kube_sandbox.apiserver.storage import verbs

#: As kube-apiserver: no request may be larger.
LIMIT = 3 * 1024 * 1024
APPLY = "application/apply-patch+yaml"
_JSON = ("application/json", "")
_YAML = ("application/yaml", "application/x-yaml", "text/yaml")
_SHOWN = 512
#: Bytes of a ``fieldManager``.
_LONGEST_MANAGER = 128
_DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
_PATCHES = frozenset(each.value for each in verbs.PatchType)
_VALIDATIONS = frozenset(each.value for each in verbs.Validation)


class _Loader(yaml.CSafeLoader):
    """YAML as kubectl reads it: dates stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


async def read(request: web.Request) -> bytes:
    """Return the body.

    Raises:
        api_errors.StatusError: 413, it is too large.
    """
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as problem:
        message = f"Request entity too large: limit is {LIMIT}"
        raise api_errors.StatusError(413, message) from problem


def parse_object(
    request: web.Request, text: bytes, kind: str, declared: types.Type | None = None
) -> Any:
    """Parse an object sent with POST or PUT; `declared` is its type, for protobuf.

    Raises:
        api_errors.StatusError: 415, a format nobody reads here; 400, malformed.
    """
    media = request.content_type if "Content-Type" in request.headers else ""
    if media in _YAML:
        return parse_yaml(text)
    if media == protobuf.MEDIA_TYPE and declared is not None:
        return protobuf.parse(text, declared)
    if media not in _JSON:
        binary = f", {protobuf.MEDIA_TYPE}" if declared is not None else ""
        message = (
            "the body of the request was in an unknown format - accepted media types include: "
            f"application/json, application/yaml{binary}"
        )
        raise api_errors.StatusError(415, message)
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        shown = text[:_SHOWN].decode(errors="replace")
        raise api_errors.bad_request(
            f"the object provided is unrecognized (must be of type {kind}): couldn't get "
            f"version/kind; json parse error: {problem} ({shown})"
        ) from problem


def parse_yaml(text: bytes) -> Any:
    """Parse YAML, of which JSON is a part.

    Raises:
        api_errors.StatusError: 400, malformed, or with aliases, which could grow without bound.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # no JSON: it may still be YAML
    try:
        if any(isinstance(each, yaml.AliasToken) for each in yaml.scan(text, Loader=_Loader)):
            raise api_errors.bad_request("error decoding YAML: aliases are not supported")
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as problem:
        raise api_errors.bad_request(f"error decoding YAML: {problem}") from problem


def parse_patch(text: bytes) -> Any:
    """Parse a JSON patch or merge patch.

    Raises:
        api_errors.StatusError: 400, malformed.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise api_errors.bad_request(f"error decoding patch: {problem}") from problem


def patch_type(request: web.Request, *, custom: bool) -> verbs.PatchType | None:
    """Return how a patch is written; None: server-side apply.

    Raises:
        api_errors.StatusError: 415.
    """
    media = request.content_type
    if media == APPLY:
        return None
    if media == verbs.PatchType.STRATEGIC and custom:
        message = (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml"
        )
        raise api_errors.StatusError(415, message)
    if media not in _PATCHES:
        failure = api_errors.StatusError(415, "415: Unsupported Media Type")
        failure.body["details"] = {}
        raise failure
    return verbs.PatchType(media)


def options(
    request: web.Request, text: bytes = b"", *, default: verbs.Validation = verbs.Validation.WARN
) -> verbs.Options:
    """Read the options of a write from the query.

    Raises:
        api_errors.StatusError: 400 or 422.
    """
    query = request.query
    chosen = query.get("fieldValidation", "") or default
    if chosen not in _VALIDATIONS:
        cause = causes.unsupported("fieldValidation", chosen, ("", *sorted(_VALIDATIONS)))
        raise _refused(cause)
    manager = query.get("fieldManager", "")
    if len(manager.encode()) > _LONGEST_MANAGER:
        raise _refused(causes.too_long("fieldManager", _LONGEST_MANAGER))
    validation = verbs.Validation(chosen)
    checked = validation is not verbs.Validation.IGNORE and text
    return verbs.Options(
        manager=manager,
        agent=request.headers.get("User-Agent", ""),
        dry_run=dry_run(query.getall("dryRun", [])),
        validation=validation,
        force=parameters.flag(query, "force"),
        faults=_faults(request.content_type, text) if checked else field_validation.NO_FAULTS,
    )


def _faults(media: str, text: bytes) -> field_validation.TextFaults:
    if media == verbs.PatchType.JSON:
        return field_validation.json_patch_faults(text)
    if media == APPLY or media in _YAML:
        return field_validation.yaml_faults(text)
    return field_validation.json_faults(text)


def dry_run(values: list[str]) -> bool:
    """Read ``dryRun``.

    Raises:
        api_errors.StatusError: 422.
    """
    for value in values:
        if value not in ("", "All"):
            raise _refused(causes.unsupported("dryRun", [value], ("All",)))
    return "All" in values


def _refused(cause: causes.Cause) -> api_errors.StatusError:
    message = causes.message("meta.k8s.io", "CreateOptions", "", [cause])
    return api_errors.invalid("meta.k8s.io", "CreateOptions", "", message, [cause.json])


def deletion(request: web.Request, text: bytes) -> verbs.Deletion:
    """Read ``DeleteOptions`` from the body, else from the query.

    Raises:
        api_errors.StatusError: 400 or 422.
    """
    query = request.query
    declared = catalog.definition(_DELETE_OPTIONS)
    body: json.JsonObject = {}
    if text.strip():
        body = parse_object(request, text, "DeleteOptions", declared)
    if not isinstance(body, dict):
        raise api_errors.bad_request("DeleteOptions must be an object")
    asked = body.get("preconditions") or {}
    orphan = body.get("orphanDependents", query.get("orphanDependents", ""))
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy", "")
    if not propagation and orphan in (True, "true"):
        propagation = "Orphan"
    if propagation not in ("", "Background", "Foreground", "Orphan"):
        known = ("Foreground", "Background", "Orphan")
        raise _refused(causes.unsupported("propagationPolicy", propagation, known))
    grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    return verbs.Deletion(
        propagation=propagation,
        grace_seconds=None if grace is None else _seconds(grace),
        preconditions=verbs.Preconditions(
            asked.get("uid") or "", asked.get("resourceVersion") or ""
        ),
        dry_run=dry_run([*(body.get("dryRun") or ()), *query.getall("dryRun", [])]),
    )


def _seconds(value: object) -> int:
    try:
        return int(str(value))
    except ValueError as problem:
        raise api_errors.bad_request(f"gracePeriodSeconds: {value} is no number") from problem
