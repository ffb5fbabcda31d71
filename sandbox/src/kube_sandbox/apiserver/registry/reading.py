"""From what somebody sent to an object of a kind: checked, decoded, with defaults."""

from dataclasses import dataclass

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes
from kube_sandbox.apimachinery.scheme import decoding, defaults, field_validation, kinds
from kube_sandbox.apimachinery.validation import validator
from kube_sandbox.apiserver.storage import verbs

_GO_CORE = "core"
_STATUS_PARTS = ("apiVersion", "kind", "metadata", "status")


@dataclass(frozen=True, slots=True)
class Read:
    """An object ready for the next step, and what field validation has to say."""

    body: json.JsonObject
    warnings: tuple[str, ...] = ()


def read(kind: kinds.Kind, body: object, options: verbs.Options) -> Read:
    """Decode what was sent as an object of `kind` and complete it.

    Raises:
        api_errors.StatusError: 400, it is none or field validation refuses it.
    """
    checked = _identified(kind, body)
    decoded = _decoded(kind, checked)
    complaints = _complaints(decoded, options)
    if complaints and options.validation is verbs.Validation.STRICT:
        raise api_errors.bad_request(
            field_validation.strict_message(kind.name, kind.version, list(complaints))
        )
    return Read(defaults.apply(kind.schema, decoded.body), complaints)


def read_status(
    kind: kinds.Kind, body: object, live: json.JsonObject, options: verbs.Options
) -> Read:
    """Decode what was sent to the status endpoint; everything but metadata and status is `live`'s.

    Controllers write statuses all the time, so what does not count is not even decoded.

    Raises:
        api_errors.StatusError: 400, it is none or field validation refuses it.
    """
    checked = _identified(kind, body)
    sent = {key: checked[key] for key in _STATUS_PARTS if key in checked}
    decoded = _decoded(kind, sent)
    complaints = _complaints(decoded, options)
    if complaints and options.validation is verbs.Validation.STRICT:
        raise api_errors.bad_request(
            field_validation.strict_message(kind.name, kind.version, list(complaints))
        )
    found = {key: decoded.body[key] for key in _STATUS_PARTS if key in decoded.body}
    rest = {key: value for key, value in live.items() if key != "status"}
    return Read({**rest, **found}, complaints)


def read_patched(kind: kinds.Kind, body: object, shown: str, options: verbs.Options) -> Read:
    """Decode the result of a patch; a refusal by field validation says `shown`, as the server does.

    Raises:
        api_errors.StatusError: 400 or 422.
    """
    decoded = _decoded(kind, _identified(kind, body))
    complaints = _complaints(decoded, options)
    if complaints and options.validation is verbs.Validation.STRICT:
        text = f"strict decoding error: {', '.join(complaints)}"
        cause = causes.invalid("patch", shown, text)
        raise api_errors.invalid("", "", "", f' "" is invalid: {cause}', [cause.json])
    return Read(defaults.apply(kind.schema, decoded.body), complaints)


def settle(kind: kinds.Kind, body: json.JsonObject) -> json.JsonObject:
    """Make what server-side apply merged an object of the kind: canonical, with defaults."""
    return defaults.apply(kind.schema, _decoded(kind, body).body)


def check(
    kind: kinds.Kind,
    body: json.JsonObject,
    old: json.JsonObject | None,
    *,
    subresource: str = "",
) -> None:
    """Refuse an object that breaks the rules of its kind.

    Raises:
        api_errors.StatusError: 422 with all causes.
    """
    found = _new_finalizers(body, old)
    found += validator.check(kind.schema, body, old, subresource=subresource)
    if found:
        raise refuse(kind, str(body["metadata"].get("name", "")), found)


def _new_finalizers(body: json.JsonObject, old: json.JsonObject | None) -> list[causes.Cause]:
    """Refuse finalizers that come when the object is already on its way out."""
    before = (old or {}).get("metadata") or {}
    if not before.get("deletionTimestamp"):
        return []
    known = before.get("finalizers") or ()
    new = [each for each in body["metadata"].get("finalizers") or () if each not in known]
    if not new:
        return []
    shown = ", ".join(causes.show(each) for each in new)
    detail = (
        "no new finalizers can be added if the object is being deleted, "
        f"found new finalizers []string{{{shown}}}"
    )
    return [causes.forbidden("metadata.finalizers", detail)]


def refuse(kind: kinds.Kind, name: str, found: list[causes.Cause]) -> api_errors.StatusError:
    """Build the 422 for some causes."""
    message = causes.message(kind.group, kind.name, name, found)
    return api_errors.invalid(kind.group, kind.name, name, message, [each.json for each in found])


def _complaints(decoded: decoding.Decoded, options: verbs.Options) -> tuple[str, ...]:
    if options.validation is verbs.Validation.IGNORE:
        return ()
    strict = options.validation is verbs.Validation.STRICT
    faults = options.faults.refusals if strict else options.faults.sentences
    return tuple(field_validation.complaints(decoded, faults))


def _decoded(kind: kinds.Kind, body: json.JsonObject) -> decoding.Decoded:
    try:
        return decoding.decode(kind.schema, body)
    except decoding.DecodeError as problem:
        raise _unusable(kind, kind.name, kind.version, str(problem)) from problem


def _unusable(kind: kinds.Kind, name: str, version: str, why: str) -> api_errors.StatusError:
    return api_errors.bad_request(
        f'{name} in version "{version}" cannot be handled as a {kind.name}: {why}'
    )


def _identified(kind: kinds.Kind, body: object) -> json.JsonObject:
    if not isinstance(body, dict):
        shown = "array" if isinstance(body, list) else type(body).__name__
        raise _unusable(
            kind,
            kind.name,
            kind.version,
            f"json: cannot unmarshal {shown} into Go value of type {kind.name}",
        )
    _same_kind(kind, body)
    found = {**body, "apiVersion": kind.api_version, "kind": kind.name}
    if found.get("metadata") is None:
        found["metadata"] = {}
    if not isinstance(found["metadata"], dict):
        where = f"Go struct field {kind.name}.metadata of type v1.ObjectMeta"
        why = f"json: cannot unmarshal into {where}"
        raise _unusable(kind, kind.name, kind.version, why)
    return found


def _same_kind(kind: kinds.Kind, body: json.JsonObject) -> None:
    """Refuse objects of another kind than the path is for; what is missing is taken from it."""
    api_version, name = body.get("apiVersion"), body.get("kind")
    if name not in (None, "", kind.name):
        version = str(api_version or kind.api_version).rpartition("/")[2]
        package = kind.group.partition(".")[0] or _GO_CORE
        raise _unusable(
            kind,
            str(name),
            version,
            f"converting ({version}.{name}) to ({package}.{kind.name}): unknown conversion",
        )
    if api_version not in (None, "", kind.api_version):
        raise api_errors.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({kind.api_version})"
        )
