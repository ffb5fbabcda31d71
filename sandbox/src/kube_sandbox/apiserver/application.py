"""From any request to an answer: who asks, what for, and how refusals look."""

from aiohttp import web

from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import openapi, openapi_v2
from kube_sandbox.apiserver.access import (
    authentication,
    authorization,
    impersonation,
    request_info,
    reviews,
    tokens,
    users,
)
from kube_sandbox.apiserver.endpoints import discovery, encoding, resources, routes, watching
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs

_HEALTH = ("/healthz", "/livez", "/readyz")
_OPENAPI = "/openapi/v3"
_OPENAPI_V2 = "/openapi/v2"


class Application:
    """Answers the requests of one cluster."""

    def __init__(self, cluster: registry.Registry, accounts: tuple[users.Account, ...]) -> None:
        self._registry = cluster
        issuer = tokens.Issuer(cluster.cluster)
        self._authenticator = authentication.Authenticator(accounts, issuer)
        self._streams: set[watching.Stream] = set()
        self._library = discovery.OpenApiDocuments(cluster.cluster.served)
        reviewer = reviews.Reviewer(cluster.cluster, self._authenticator)
        self._service = resources.Service(cluster, reviewer, issuer, self._streams)

    def end_watches(self) -> None:
        """Let all watches end."""
        for stream in list(self._streams):
            stream.end()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request; refusals become Statuses."""
        try:
            return await self._route(request)
        except api_errors.StatusError as problem:
            return encoding.refused(problem)

    async def _route(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        line = request_info.read(request.method, path, request.query)
        user = self._user(request)
        authorization.require(self._registry.cluster, user, line)
        if line.resource:
            served = self._registry.cluster.served
            if not served.versions(line.group):
                return missing_page()
            route = routes.find(served, line, path)
            return await resources.handle(resources.Exchange(self._service, request, route, user))
        return self._about(request, path.rstrip("/"))

    def _user(self, request: web.Request) -> verbs.User:
        """Return in whose name the request is made."""
        user = self._authenticator.identify(request.headers.get("Authorization", ""))
        headers: dict[str, list[str]] = {}
        for name, value in request.headers.items():
            if (lowered := name.lower()).startswith(impersonation.PREFIX):
                headers.setdefault(lowered, []).append(value)
        wanted = impersonation.read(headers)
        if wanted is None:
            return user
        impersonation.require(self._registry.cluster, user, wanted, headers)
        return wanted

    def _about(self, request: web.Request, path: str) -> web.Response:
        """Answer what is no resource."""
        if request.method not in ("GET", "HEAD"):
            raise api_errors.method_not_allowed()
        if path == "/version":
            return _json(discovery.VERSION)
        if path.startswith(_HEALTH):
            return web.Response(text="ok")
        if path == _OPENAPI_V2:
            return self._openapi_v2(request)
        if path.startswith(_OPENAPI):
            return self._openapi(request, path)
        if not path:
            return _json({"paths": discovery.paths(self._registry.cluster.served)})
        return self._discovery(request, path)

    def _discovery(self, request: web.Request, path: str) -> web.Response:
        served = self._registry.cluster.served
        version = discovery.wants_aggregated(request.headers.get("Accept", ""))
        if path in ("/api", "/apis") and version:
            told = discovery.aggregated(served, version, core=path == "/api")
            answer = _json(told)
            parameters = f"g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            answer.headers["Content-Type"] = f"application/json;{parameters}"
            return answer
        if path == "/api":
            return _json(discovery.core_versions(request.host))
        if path == "/apis":
            return _json(discovery.groups(served))
        parts = path.split("/")[1:]
        found = None
        if parts[0] == "api" and len(parts) == 2:
            found = discovery.resources(served, "", parts[1])
        elif parts[0] == "apis" and len(parts) == 2:
            found = discovery.group(served, parts[1])
        elif parts[0] == "apis" and len(parts) == 3:
            found = discovery.resources(served, parts[1], parts[2])
        return missing_page() if found is None else _json(found)

    def _openapi_v2(self, request: web.Request) -> web.Response:
        found = self._library.whole()
        if openapi_v2.MEDIA_TYPE not in request.headers.get("Accept", ""):
            return _json(found)
        answer = web.Response(body=openapi_v2.encode(found))
        answer.headers["Content-Type"] = openapi_v2.ANSWERED
        return answer

    def _openapi(self, request: web.Request, path: str) -> web.Response:
        found = self._library.all()
        if path == _OPENAPI:
            # A real server leaves it to its HTTP library to guess what this is.
            return web.Response(
                body=encoding.encode(openapi.index(found)), content_type="text/plain"
            )
        wanted = path.removeprefix(f"{_OPENAPI}/")
        for (group, version), document in found.items():
            if openapi.path(group, version) == wanted:
                answer = web.Response(body=document.content, content_type="application/json")
                answer.headers["ETag"] = f'"{document.hash}"'
                return answer
        return missing_page()


def _json(body: object) -> web.Response:
    return encoding.response(encoding.encode(body), encoding.PLAIN)


def missing_page() -> web.Response:
    """Answer for a path nobody serves, as the API's own mux does."""
    return web.Response(text="404 page not found\n", status=404)
