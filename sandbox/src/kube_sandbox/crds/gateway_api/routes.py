"""Routes: what they are attached to, and the rules of those for gRPC and TLS."""

from kube_sandbox import json
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import fields, filters, http_routes

_SAME_PARENT = (
    "a.group == b.group && a.kind == b.kind && a.name == b.name && "
    "(has(a.__namespace__) ? a.__namespace__ : '') == (has(b.__namespace__) ? b.__namespace__ : '')"
)
_SECTION_OF = "(has({0}.sectionName) ? {0}.sectionName : '')"
_PORT_OF = "(has({0}.port) ? {0}.port : 0)"


def _parents() -> json.JsonObject:
    parent = schemas.structure(
        ("name",),
        group=fields.group(fields.GROUP),
        kind=fields.kind("Gateway"),
        name=fields.NAME,
        namespace=fields.NAMESPACE,
        port=fields.PORT,
        sectionName=fields.SECTION,
    )
    a_section, b_section = _SECTION_OF.format("a"), _SECTION_OF.format("b")
    return schemas.sequence(
        parent,
        (
            f"self.all(a, self.all(b, ({_SAME_PARENT}) ? "
            f"({a_section} == '') == ({b_section} == '') || "
            f"{_PORT_OF.format('a')} != {_PORT_OF.format('b')} : true))",
            "sectionName must be specified when parentRefs includes 2 or more references to the "
            "same parent",
        ),
        (
            f"self.all(a, self.exists_one(b, ({_SAME_PARENT}) && {a_section} == {b_section} && "
            f"{_PORT_OF.format('a')} == {_PORT_OF.format('b')}))",
            "sectionName must be unique when parentRefs includes 2 or more references to the same "
            "parent",
        ),
        most=32,
    )


def route(rules: json.JsonObject) -> json.JsonObject:
    """Return the spec of a route with the schema of its rules."""
    return schemas.structure(
        parentRefs=_parents(),
        hostnames=schemas.sequence(fields.HOSTNAME, most=16),
        rules=rules,
        useDefaultGateways=schemas.text(),
    )


def grpc_rules() -> json.JsonObject:
    """Return the rules of a GRPCRoute."""
    word = r"^[A-Za-z_][A-Za-z_0-9]*$"
    method = schemas.structure(
        (),
        (
            (
                "has(self.service) || has(self.method)",
                "One or both of 'service' or 'method' must be specified",
            ),
            (
                f"(self.type == 'Exact' && has(self.method)) ? self.method.matches(r'{word}') "
                ": true",
                f"method must only contain valid characters (matching {word})",
            ),
        ),
        type=schemas.text(default="Exact", one_of=("Exact", "RegularExpression")),
        service=schemas.text(most=1024),
        method=schemas.text(most=1024),
    )
    rule = schemas.structure(
        name=fields.SECTION,
        matches=schemas.sequence(
            schemas.structure(method=method, headers=filters.compared(16, 4096)), most=64
        ),
        filters=filters.filter_list(),
        backendRefs=schemas.sequence(filters.backend(filters=filters.filter_list()), most=16),
    )
    return schemas.sequence(rule, http_routes.UNIQUE_NAMES, most=16)


def tls_route() -> json.JsonObject:
    """Return the spec of a TLSRoute."""
    rule = schemas.structure(
        ("backendRefs",),
        name=fields.SECTION,
        backendRefs=schemas.sequence(filters.backend(), least=1, most=16),
    )
    return schemas.structure(
        ("hostnames", "rules"),
        parentRefs=_parents(),
        hostnames=schemas.sequence(fields.HOSTNAME, least=1, most=16),
        rules=schemas.sequence(rule, least=1, most=1),
        useDefaultGateways=schemas.text(),
    )
