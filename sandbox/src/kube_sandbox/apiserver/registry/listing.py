"""Lists: selectors, pages, and which state they show."""

import base64
import binascii
from dataclasses import dataclass

import msgspec

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import conversions, kinds
from kube_sandbox.apiserver.storage import cluster_state, selection, storage, verbs

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter."
)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Which revision a list shows, and behind which key it goes on."""

    revision: int
    after: storage.Key | None = None
    #: The revision has to be exactly that one.
    exact: bool = False


class _Token(msgspec.Struct):
    v: str
    rv: int
    ns: str
    start: str


def matcher(kind: kinds.Kind, label_selector: str, field_selector: str) -> selection.Predicate:
    """Return whether a stored object of a kind is selected.

    Raises:
        api_errors.StatusError: 400.
    """
    tests = [
        each
        for each in (selection.labels(label_selector), selection.fields(field_selector, kind))
        if each is not None
    ]
    if kind.convert is kinds.Convert.NONE:
        return lambda body: all(test(body) for test in tests)
    return lambda body: all(test(conversions.outward(kind, body)) for test in tests)


def read(
    state: cluster_state.ClusterState, kind: kinds.Kind, namespace: str, query: verbs.Query
) -> verbs.Listing:
    """Return a page of objects.

    Raises:
        api_errors.StatusError: 400, 410, 504.
    """
    snapshot = _snapshot(state, query)
    store = state.storage
    try:
        if snapshot.exact and snapshot.revision != store.revision:
            items = store.list_at(kind.bucket, namespace, snapshot.revision, after=snapshot.after)
        else:
            items = store.list(kind.bucket, namespace, after=snapshot.after)
    except storage.ExpiredError as problem:
        raise api_errors.expired(_TOO_OLD if query.continue_token else str(problem)) from problem
    selective = bool(query.label_selector or query.field_selector)
    if selective:
        selected = matcher(kind, query.label_selector, query.field_selector)
        items = [each for each in items if selected(each.body)]
    revision = snapshot.revision if snapshot.exact else store.revision
    if not 0 < query.limit < len(items):
        return verbs.Listing(items, revision)
    page = items[: query.limit]
    rest = None if selective else len(items) - query.limit
    return verbs.Listing(page, revision, _token(revision, page[-1].key), rest)


def _token(revision: int, key: storage.Key) -> str:
    text = msgspec.json.encode(_Token("meta.k8s.io/v1", revision, *key))
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _snapshot(state: cluster_state.ClusterState, query: verbs.Query) -> _Snapshot:
    current = state.storage.revision
    if query.continue_token:
        if query.resource_version not in ("", "0"):
            raise api_errors.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        found = _decode(query.continue_token)
        return _Snapshot(found.rv, (found.ns, found.start), exact=True)
    if query.match and not query.resource_version:
        raise _forbidden_match(
            "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    if query.match not in ("", "Exact", "NotOlderThan"):
        raise _forbidden_match(f'"{query.match}" is not supported')
    wanted = parse_version(query.resource_version)
    if wanted > current:
        raise too_large(wanted, current)
    if query.match == "Exact" and wanted == 0:
        raise _forbidden_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    exact = query.match == "Exact" or (not query.match and query.limit > 0 and wanted > 0)
    return _Snapshot(wanted if exact else current, exact=exact)


def _forbidden_match(why: str) -> api_errors.StatusError:
    cause = {
        "reason": "FieldValueForbidden",
        "message": f"Forbidden: {why}",
        "field": "resourceVersionMatch",
    }
    message = f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: {why}'
    return api_errors.invalid("meta.k8s.io", "ListOptions", "", message, [cause])


def _decode(token: str) -> _Token:
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as problem:
        raise _no_token("illegal base64 data") from problem
    try:
        return msgspec.json.decode(text, type=_Token)
    except (msgspec.DecodeError, UnicodeError) as problem:
        first = text[:1].decode("latin-1")
        why = f"invalid character '{first}' looking for beginning of value" if first else "no data"
        raise _no_token(why) from problem


def _no_token(why: str) -> api_errors.StatusError:
    return api_errors.bad_request(f"invalid continue token: continue key is not valid: {why}")


def parse_version(text: str) -> int:
    """Read a resourceVersion from a query; empty is 0.

    Raises:
        api_errors.StatusError: 400.
    """
    if not text:
        return 0
    if not text.isdecimal():
        raise api_errors.bad_request(
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def too_large(wanted: int, current: int) -> api_errors.StatusError:
    """Build the 504 for a resourceVersion the cluster has not reached."""
    details = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Too large resource version: {wanted}, current: {current}"
    return api_errors.StatusError(504, message, details=details)
