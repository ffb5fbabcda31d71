"""From what somebody sent to an object of a kind: checked, decoded, with defaults."""

from dataclasses import dataclass

from volary.model import json
from volary.sandbox import kinds, status, verbs
from volary.sandbox.schemas import causes, decoding, defaults, fields, validation

_GO_CORE = "core"


@dataclass(frozen=True, slots=True)
class Read:
    """An object ready for the next step, and what field validation has to say."""

    body: json.JsonObject
    warnings: tuple[str, ...] = ()


def read(kind: kinds.Kind, body: object, options: verbs.Options) -> Read:
    """Decode what was sent as an object of `kind` and complete it.

    Raises:
        status.StatusError: 400, it is none or field validation refuses it.
    """
    checked = _identified(kind, body)
    decoded = _decoded(kind, checked)
    complaints = _complaints(decoded, options)
    if complaints and options.validation is verbs.Validation.STRICT:
        raise status.bad_request(fields.strict_message(kind.name, kind.version, list(complaints)))
    return Read(defaults.apply(kind.schema, decoded.body), complaints)


def read_patched(
    kind: kinds.Kind, body: json.JsonObject, patch: object, options: verbs.Options
) -> Read:
    """Decode the result of a patch; field validation names the patch, as the server does.

    Raises:
        status.StatusError: 400 or 422.
    """
    _same_kind(kind, body)
    decoded = _decoded(kind, body)
    complaints = _complaints(decoded, options)
    if complaints and options.validation is verbs.Validation.STRICT:
        text = f"strict decoding error: {', '.join(complaints)}"
        cause = causes.invalid("patch", causes.show(patch), text)
        raise status.invalid("", "", "", f' "" is invalid: {cause}', [cause.json])
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
        status.StatusError: 422 with all causes.
    """
    found = validation.check(kind.schema, body, old, subresource=subresource)
    if found:
        raise refuse(kind, str(body["metadata"].get("name", "")), found)


def refuse(kind: kinds.Kind, name: str, found: list[causes.Cause]) -> status.StatusError:
    """Build the 422 for some causes."""
    message = causes.message(kind.group, kind.name, name, found)
    return status.invalid(kind.group, kind.name, name, message, [each.json for each in found])


def _complaints(decoded: decoding.Decoded, options: verbs.Options) -> tuple[str, ...]:
    if options.validation is verbs.Validation.IGNORE:
        return ()
    return tuple(fields.complaints(decoded, list(options.duplicates)))


def _decoded(kind: kinds.Kind, body: json.JsonObject) -> decoding.Decoded:
    try:
        return decoding.decode(kind.schema, body)
    except decoding.DecodeError as problem:
        raise _unusable(kind, kind.name, kind.version, str(problem)) from problem


def _unusable(kind: kinds.Kind, name: str, version: str, why: str) -> status.StatusError:
    return status.bad_request(
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
    if not isinstance(found.get("metadata"), dict):
        found["metadata"] = {}
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
        raise status.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({kind.api_version})"
        )
