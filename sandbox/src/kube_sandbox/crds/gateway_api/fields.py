"""Fields that many kinds of the Gateway API share: names, hosts, ports, references."""

from kube_sandbox import json
from kube_sandbox.crds import schemas

GROUP = "gateway.networking.k8s.io"
DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"^{DNS}(\.{DNS})*$"
_HOST = rf"^(\*\.)?{DNS}(\.{DNS})*$"
_GROUP_NAME = rf"^$|{_SUBDOMAIN}"
_KIND_NAME = r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"
HEADER_NAME = r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$"
DURATION = r"^([0-9]{1,5}(h|m|s|ms)){1,4}$"
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
PORT = schemas.number(1, 65535)
HOSTNAME = schemas.text(_HOST, least=1, most=253)
PRECISE_HOSTNAME = schemas.text(_SUBDOMAIN, least=1, most=253)
SECTION = schemas.text(_SUBDOMAIN, least=1, most=253)
NAMESPACE = schemas.text(rf"^{DNS}$", least=1, most=63)
NAME = schemas.text(least=1, most=253)
LABELS = {
    "matchLabels": schemas.mapping(schemas.text()),
    "matchExpressions": schemas.sequence(
        schemas.structure(
            ("key", "operator"),
            key=schemas.text(),
            operator=schemas.text(),
            values=schemas.sequence(schemas.text()),
        )
    ),
}
NEEDS_PORT = (
    "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
    "Must have port for Service reference",
)


def group(default: str | None = None) -> json.JsonObject:
    """Return the group of a reference."""
    return schemas.text(_GROUP_NAME, most=253, default=default)


def kind(default: str | None = None) -> json.JsonObject:
    """Return the kind of a reference."""
    return schemas.text(_KIND_NAME, least=1, most=63, default=default)
