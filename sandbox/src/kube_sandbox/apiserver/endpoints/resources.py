"""``pods/log``: emulated pods run no process, and the log says so instead of making lines up."""

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import api_errors, causes, parameters
from kube_sandbox.apimachinery.scheme import catalog, kinds, types
from kube_sandbox.apiserver.access import reviews, tokens
from kube_sandbox.apiserver.endpoints import bodies, encoding, negotiation, routes, watching
from kube_sandbox.apiserver.registry import listing, resource_metrics
from kube_sandbox.apiserver.registry import registry as registry_registry
from kube_sandbox.apiserver.storage import verbs


def read_log(pod: json.JsonObject, container: str, *, previous: bool = False) -> str:
    """Return the log of a container, with `previous` that of its run before the last restart.

    Raises:
        api_errors.StatusError: 400, there is no such container or it has not (re)started.
    """
    name = pod["metadata"]["name"]
    containers = [each["name"] for each in pod["spec"]["containers"]]
    if not container:
        if len(containers) > 1:
            choices = " ".join(containers)
            raise api_errors.bad_request(
                f"a container name must be specified for pod {name}, choose one of: [{choices}]"
            )
        container = containers[0]
    known = [*containers, *(each["name"] for each in pod["spec"].get("initContainers") or ())]
    if container not in known:
        raise api_errors.bad_request(f"container {container} is not valid for pod {name}")
    told = _container_status(pod, container)
    last = told.get("lastState") or {}
    if previous and "terminated" not in last:
        raise api_errors.bad_request(
            f'previous terminated container "{container}" in pod "{name}" not found'
        )
    state = last if previous or "terminated" in last else told.get("state") or {}
    if "waiting" in state or not state:
        reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
        raise api_errors.bad_request(
            f'container "{container}" in pod "{name}" is waiting to start: {reason}'
        )
    return f"kube-sandbox: pod {name} is emulated; container {container} writes no log\n"


def _container_status(pod: json.JsonObject, container: str) -> json.JsonObject:
    told = pod.get("status") or {}
    for listed in ("containerStatuses", "initContainerStatuses"):
        for each in told.get(listed) or ():
            if each.get("name") == container:
                found: json.JsonObject = each
                return found
    return {}


#: Kinds whose deletion answers with the object instead of a Status (Kubernetes: their storage).
_RETURNED = frozenset(
    (
        ("", "Pod"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "PodTemplate"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("", "ServiceAccount"),
    )
)


@dataclass(frozen=True, slots=True)
class Service:
    """What handlers need of a server."""

    registry: registry_registry.Registry
    reviewer: reviews.Reviewer
    issuer: tokens.Issuer
    #: Watches that are open, to be ended with the server.
    streams: set[watching.Stream]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what is known about it."""

    service: Service
    request: web.Request
    route: routes.Route
    user: verbs.User

    @property
    def kind(self) -> kinds.Kind:
        """The kind it is about."""
        return self.route.kind

    @property
    def registry(self) -> registry_registry.Registry:
        """The cluster's verbs."""
        return self.service.registry

    @property
    def form(self) -> negotiation.Form:
        """The form of the answer; raises 406."""
        return negotiation.choose(self.request.headers.get("Accept", ""))

    def options(self, text: bytes) -> verbs.Options:
        """How a write is meant that brought `text`; raises 400 and 422."""
        return dataclasses.replace(bodies.options(self.request, text), user=self.user)

    async def deletion(self) -> verbs.Deletion:
        """How a deletion is meant; raises 400, 413 and 422."""
        text = await bodies.read(self.request)
        return dataclasses.replace(bodies.deletion(self.request, text), user=self.user)


Handler = Callable[[Exchange], Awaitable[web.StreamResponse]]


async def handle(exchange: Exchange) -> web.StreamResponse:
    """Answer a request for a resource; what the kind is warned of stands in refusals, too.

    Raises:
        api_errors.StatusError: Any refusal.
    """
    deprecation = exchange.kind.deprecation
    if not deprecation:
        return await _handle(exchange)
    try:
        answer = await _handle(exchange)
    except api_errors.StatusError as problem:
        answer = encoding.refused(problem)
    if not answer.prepared:
        others = answer.headers.popall("Warning", [])
        for text in (encoding.warning(deprecation), *others):
            answer.headers.add("Warning", text)
    return answer


async def _handle(exchange: Exchange) -> web.StreamResponse:
    route = exchange.route
    verb = route.line.verb
    if route.subresource:
        part = route.kind.subresource(route.subresource)
        if part is None or verb not in part.verbs:
            raise api_errors.method_not_allowed()
        return await _PARTS.get(route.subresource, _part)(exchange)
    if verb not in route.kind.verbs:
        raise api_errors.method_not_allowed()
    told = exchange.registry.metrics
    if told is not None and route.kind in (resource_metrics.NODES, resource_metrics.PODS):
        if verb == "get":
            return _show(exchange, told.get(route.kind, route.namespace, route.name))
        page = told.list(route.kind, route.namespace, _query(exchange.request))
        return _show_list(exchange, page)
    return await _VERBS[verb](exchange)


def _answer(exchange: Exchange, written: verbs.Written) -> web.Response:
    code = 201 if written.created else 200
    return _show(exchange, written.body, code=code, warnings=written.warnings)


def _show(
    exchange: Exchange,
    body: json.JsonObject,
    *,
    code: int = 200,
    warnings: tuple[str, ...] = (),
) -> web.Response:
    form = exchange.form
    if form.partial:
        text = encoding.encode(encoding.partial(body))
    elif form.shape is negotiation.Shape.TABLE:
        told = encoding.as_table(
            exchange.kind,
            [body],
            now=exchange.registry.time.now(),
            include=exchange.request.query.get("includeObject", ""),
            metadata={"resourceVersion": body["metadata"].get("resourceVersion", "")},
        )
        text = encoding.encode(told)
    else:
        text = encoding.body(exchange.kind, body)
    return encoding.response(text, form, code=code, warnings=warnings)


async def _get(exchange: Exchange) -> web.StreamResponse:
    kind, route = exchange.kind, exchange.route
    wanted = listing.parse_version(exchange.request.query.get("resourceVersion", ""))
    storage = exchange.registry.storage
    if wanted > storage.revision:
        raise listing.too_large(wanted, storage.revision)
    item = storage.get(kind.bucket, route.namespace, route.name)
    if item is None:
        raise api_errors.not_found(kind.group, kind.plural, route.name)
    form = exchange.form
    if form.shape is negotiation.Shape.OBJECT:
        return encoding.response(encoding.item(kind, item), form)
    return _show(exchange, item.body)


def _query(request: web.Request) -> verbs.Query:
    query = request.query
    limit = query.get("limit", "")
    return verbs.Query(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=int(limit) if limit.isdecimal() else 0,
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
    )


async def _list(exchange: Exchange) -> web.StreamResponse:
    namespace, query = exchange.route.namespace, _query(exchange.request)
    return _show_list(exchange, exchange.registry.list(exchange.kind, namespace, query))


def _show_list(exchange: Exchange, page: verbs.Listing) -> web.Response:
    kind, form = exchange.kind, exchange.form
    if form.partial:
        text = encoding.encode(encoding.partial_list(page))
    elif form.shape is negotiation.Shape.TABLE:
        told = encoding.as_table(
            kind,
            [each.body for each in page.items],
            now=exchange.registry.time.now(),
            include=exchange.request.query.get("includeObject", ""),
            metadata=encoding.list_metadata(page),
        )
        text = encoding.encode(told)
    else:
        text = encoding.listed(kind, page)
    return encoding.response(text, form)


async def _watch(exchange: Exchange) -> web.StreamResponse:
    wish = watching.read_wish(exchange.route, exchange.request, exchange.form)
    state = exchange.registry.cluster
    return await watching.serve(exchange.request, state, wish, exchange.service.streams)


async def _create(exchange: Exchange) -> web.StreamResponse:
    request, kind, route = exchange.request, exchange.kind, exchange.route
    if route.name:
        raise api_errors.method_not_allowed()
    text = await bodies.read(request)
    body = bodies.parse_object(request, text, kind.name, _declared(kind))
    if kind.verbs == ("create",):
        reviewer = exchange.service.reviewer
        told = reviewer.answer(kind.name, body, exchange.user, route.namespace)
        return encoding.response(encoding.encode(told), encoding.PLAIN, code=201)
    if kind.namespaced and not route.namespace:
        raise api_errors.bad_request("namespace may not be empty when an object is created")
    options = exchange.options(text)
    written = exchange.registry.create(kind, route.namespace, body, options)
    return _answer(exchange, written)


def _declared(kind: kinds.Kind) -> types.Type | None:
    """The type of a built-in kind; custom resources have no protobuf."""
    return None if kind.custom else kind.schema.type


async def _update(exchange: Exchange) -> web.StreamResponse:
    request, route = exchange.request, exchange.route
    text = await bodies.read(request)
    body = bodies.parse_object(request, text, exchange.kind.name, _declared(exchange.kind))
    written = exchange.registry.update(
        exchange.kind,
        route.namespace,
        route.name,
        body,
        exchange.options(text),
        subresource=route.subresource,
    )
    return _answer(exchange, written)


async def _patch(exchange: Exchange) -> web.StreamResponse:
    request, route, kind = exchange.request, exchange.route, exchange.kind
    patch_type = bodies.patch_type(request, custom=kind.custom)
    text = await bodies.read(request)
    options = exchange.options(text)
    if patch_type is None:
        written = _apply(exchange, text, options)
    else:
        written = exchange.registry.patch(
            kind,
            route.namespace,
            route.name,
            bodies.parse_patch(text),
            patch_type,
            options,
            subresource=route.subresource,
        )
    return _answer(exchange, written)


def _apply(exchange: Exchange, text: bytes, options: verbs.Options) -> verbs.Written:
    route = exchange.route
    if not options.manager:
        cause = causes.required("fieldManager", "is required for apply patch")
        message = causes.message("meta.k8s.io", "PatchOptions", "", [cause])
        raise api_errors.invalid("meta.k8s.io", "PatchOptions", "", message, [cause.json])
    body = bodies.parse_yaml(text)
    if not isinstance(body, dict):
        raise api_errors.bad_request("error decoding YAML: an object is expected")
    if options.faults.refusals and options.validation is verbs.Validation.STRICT:
        reason = f"error converting YAML to JSON: {options.faults.refusals[0]}"
        raise api_errors.bad_request(f"error strict decoding YAML: {reason}")
    return exchange.registry.apply(
        exchange.kind, route.namespace, route.name, body, options, subresource=route.subresource
    )


async def _delete(exchange: Exchange) -> web.StreamResponse:
    route, kind = exchange.route, exchange.kind
    deletion = await exchange.deletion()
    deleted = exchange.registry.delete(kind, route.namespace, route.name, deletion)
    if not deleted.gone or (kind.group, kind.name) in _RETURNED:
        return _show(exchange, deleted.body)
    uid = deleted.body["metadata"]["uid"]
    details = api_errors.details(kind.group, kind.plural, route.name, uid=uid)
    return encoding.response(encoding.encode(api_errors.success(details)), encoding.PLAIN)


async def _delete_collection(exchange: Exchange) -> web.StreamResponse:
    request, kind = exchange.request, exchange.kind
    deletion = await exchange.deletion()
    query = _query(request)
    cluster = exchange.registry
    page = cluster.list(kind, exchange.route.namespace, query)
    cluster.delete_collection(kind, exchange.route.namespace, query, deletion)
    return encoding.response(encoding.listed(kind, page), exchange.form)


async def _part(exchange: Exchange) -> web.StreamResponse:
    """``status`` and the like: read as the object, written as a part of it."""
    return await _VERBS[exchange.route.line.verb](exchange)


async def _scale(exchange: Exchange) -> web.StreamResponse:
    route, cluster, request = exchange.route, exchange.registry, exchange.request
    if route.line.verb == "get":
        told = cluster.scale(exchange.kind, route.namespace, route.name)
        return encoding.response(encoding.encode(told), exchange.form)
    text = await bodies.read(request)
    options = exchange.options(text)
    if route.line.verb == "update":
        body = bodies.parse_object(request, text, "Scale")
        written = cluster.update(
            exchange.kind, route.namespace, route.name, body, options, subresource="scale"
        )
    else:
        patch_type = bodies.patch_type(request, custom=False)
        if patch_type is None:
            written = _apply(exchange, text, options)
        else:
            change = bodies.parse_patch(text)
            written = cluster.patch(
                exchange.kind,
                route.namespace,
                route.name,
                change,
                patch_type,
                options,
                subresource="scale",
            )
    return encoding.response(encoding.encode(written.body), exchange.form)


async def _log(exchange: Exchange) -> web.StreamResponse:
    route, query = exchange.route, exchange.request.query
    pod = exchange.registry.get(exchange.kind, route.namespace, route.name)
    previous = parameters.flag(query, "previous")
    text = read_log(pod, query.get("container", ""), previous=previous)
    return web.Response(text=text)


async def _evict(exchange: Exchange) -> web.StreamResponse:
    request, route = exchange.request, exchange.route
    declared = catalog.find("policy", "v1", "Eviction")
    body = bodies.parse_object(request, await bodies.read(request), "Eviction", declared)
    options = (body.get("deleteOptions") or {}) if isinstance(body, dict) else {}
    grace = options.get("gracePeriodSeconds")
    asked = options.get("preconditions") or {}
    deletion = verbs.Deletion(
        grace_seconds=grace if isinstance(grace, int) else None,
        preconditions=verbs.Preconditions(
            asked.get("uid") or "", asked.get("resourceVersion") or ""
        ),
        dry_run=bodies.dry_run(
            [*(options.get("dryRun") or ()), *request.query.getall("dryRun", [])]
        ),
        user=exchange.user,
    )
    exchange.registry.evict(route.namespace, route.name, deletion)
    done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return encoding.response(encoding.encode({**done, "code": 201}), encoding.PLAIN, code=201)


async def _bind(exchange: Exchange) -> web.StreamResponse:
    request, route = exchange.request, exchange.route
    body = bodies.parse_object(request, await bodies.read(request), "Binding")
    node = ((body.get("target") or {}) if isinstance(body, dict) else {}).get("name", "")
    if not node:
        cause = causes.required("target.name")
        message = causes.message("", "Binding", route.name, [cause])
        raise api_errors.invalid("", "Binding", route.name, message, [cause.json])
    exchange.registry.bind(route.namespace, route.name, str(node))
    done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return encoding.response(encoding.encode({**done, "code": 201}), encoding.PLAIN, code=201)


async def _token(exchange: Exchange) -> web.StreamResponse:
    request, route = exchange.request, exchange.route
    declared = catalog.find("authentication.k8s.io", "v1", "TokenRequest")
    body = bodies.parse_object(request, await bodies.read(request), "TokenRequest", declared)
    told = exchange.service.issuer.issue(route.namespace, route.name, body)
    return encoding.response(encoding.encode(told), encoding.PLAIN, code=201)


async def _finalize(exchange: Exchange) -> web.StreamResponse:
    request, route = exchange.request, exchange.route
    body = bodies.parse_object(request, await bodies.read(request), "Namespace")
    if not isinstance(body, dict):
        raise api_errors.bad_request("Namespace must be an object")
    body = {**body, "metadata": body.get("metadata") or {}}
    return _answer(exchange, exchange.registry.finalize(route.name, body))


_VERBS: dict[str, Handler] = {
    "get": _get,
    "list": _list,
    "watch": _watch,
    "create": _create,
    "update": _update,
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _delete_collection,
}
_PARTS: dict[str, Handler] = {
    "scale": _scale,
    "log": _log,
    "eviction": _evict,
    "binding": _bind,
    "finalize": _finalize,
    "token": _token,
}
