"""Given a sandbox whose API servers count; when something happens; then say what it asked for."""

import collections
from dataclasses import dataclass, field

from aiohttp import web

from kube_sandbox.apiserver import server
from kube_sandbox.apiserver.access import request_info

#: Shared by all applications of a cluster, and remembered.
_OF_THE_CLUSTER = ("discover", "review")


@dataclass
class RequestCounts:
    """The requests of whoever comes from outside, each as a line such as ``get deployments/a``."""

    lines: collections.Counter[str] = field(default_factory=collections.Counter)

    @property
    def middleware(self) -> server.Middleware:
        """What stands in front of the API servers."""

        @web.middleware
        async def count(request: web.Request, handler: server.Handler) -> web.StreamResponse:
            self.lines[_line(request)] += 1
            return await handler(request)

        return count

    def of(self, *verbs: str) -> list[str]:
        """The requests by one of `verbs`; all but those that are the cluster's without any."""
        return sorted(
            line
            for line in self.lines.elements()
            if (line.split()[0] in verbs if verbs else line.split()[0] not in _OF_THE_CLUSTER)
        )


def _line(request: web.Request) -> str:
    asked = request_info.read(request.method, request.path, request.query)
    if not asked.resource:
        return f"discover {request.path}"
    verb = "review" if asked.resource.startswith("selfsubject") else asked.verb
    verb = "try" if request.query.get("dryRun") else verb
    where = f" of {asked.namespace}" if asked.namespace else ""
    name = asked.name or request.query.get("labelSelector", "")
    field = request.query.get("fieldSelector", "")
    return f"{verb} {asked.resource} {name or field}{where}".replace("  ", " ")
