"""Definitions of the Gateway API's kinds, standard channel: defaults, bounds and rules.

Written after the API's documentation. A controller such as Traefik reads an HTTPRoute as it is
stored: without the group, kind and weight that the definitions fill in, it would ignore the
route. Statuses are kept and not checked.
"""

from kube_sandbox import json
from kube_sandbox.crds import schemas

GROUP = "gateway.networking.k8s.io"
_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"^{_DNS}(\.{_DNS})*$"
_HOST = rf"^(\*\.)?{_DNS}(\.{_DNS})*$"
_GROUP_NAME = rf"^$|{_SUBDOMAIN}"
_KIND_NAME = r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$"
_HEADER_NAME = r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$"
_DURATION = r"^([0-9]{1,5}(h|m|s|ms)){1,4}$"
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
_PORT = schemas.number(1, 65535)
_HOSTNAME = schemas.text(_HOST, least=1, most=253)
_PRECISE_HOSTNAME = schemas.text(_SUBDOMAIN, least=1, most=253)
_SECTION = schemas.text(_SUBDOMAIN, least=1, most=253)
_NAMESPACE = schemas.text(rf"^{_DNS}$", least=1, most=63)
_NAME = schemas.text(least=1, most=253)
_LABELS = {
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
_NEEDS_PORT = (
    "(size(self.group) == 0 && self.kind == 'Service') ? has(self.port) : true",
    "Must have port for Service reference",
)


def gateway_api() -> tuple[json.JsonObject, ...]:
    """The standard channel: classes, Gateways, routes for HTTP, gRPC and TLS, and grants."""
    return (
        _definition("GatewayClass", "gatewayclasses", ("v1",), _class(), short="gc", cluster=True),
        _definition("Gateway", "gateways", ("v1",), _gateway(), short="gtw"),
        _definition("HTTPRoute", "httproutes", ("v1", "v1beta1"), _route(_http_rules())),
        _definition("GRPCRoute", "grpcroutes", ("v1",), _route(_grpc_rules())),
        _definition("TLSRoute", "tlsroutes", ("v1",), _tls_route()),
        _definition("ReferenceGrant", "referencegrants", ("v1beta1",), _grant(), short="refgrant"),
        _definition(
            "BackendTLSPolicy", "backendtlspolicies", ("v1",), _policy(), short="btlspolicy"
        ),
    )


def _definition(
    kind: str,
    plural: str,
    versions: tuple[str, ...],
    spec: json.JsonObject,
    *,
    short: str = "",
    cluster: bool = False,
) -> json.JsonObject:
    names: json.JsonObject = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        "categories": ["gateway-api"],
    }
    if short:
        names["shortNames"] = [short]
    required = () if kind == "ReferenceGrant" else ("spec",)
    schema = schemas.structure(required, spec=spec, status=schemas.OPEN)
    columns = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    if kind.endswith("Route"):
        hosts = {"name": "Hostnames", "type": "string", "jsonPath": ".spec.hostnames"}
        columns.insert(0, hosts)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "annotations": {
                "api-approved.kubernetes.io": (
                    "https://github.com/kubernetes-sigs/gateway-api/pull/3328"
                ),
                "gateway.networking.k8s.io/bundle-version": "v1.5.0",
                "gateway.networking.k8s.io/channel": "standard",
            },
        },
        "spec": {
            "group": GROUP,
            "scope": "Cluster" if cluster else "Namespaced",
            "names": names,
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[0],
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in versions
            ],
        },
    }


def _group(default: str | None = None) -> json.JsonObject:
    return schemas.text(_GROUP_NAME, most=253, default=default)


def _kind(default: str | None = None) -> json.JsonObject:
    return schemas.text(_KIND_NAME, least=1, most=63, default=default)


# Classes and Gateways


def _class() -> json.JsonObject:
    controller = schemas.text(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$",
        least=1,
        most=253,
    )
    parameters = schemas.structure(
        ("group", "kind", "name"), group=_group(), kind=_kind(), name=_NAME, namespace=_NAMESPACE
    )
    return schemas.structure(
        ("controllerName",),
        controllerName=schemas.with_rules(controller, ("self == oldSelf", "Value is immutable")),
        description=schemas.text(most=64),
        parametersRef=parameters,
    )


def _gateway() -> json.JsonObject:
    address = schemas.structure(
        type=schemas.text(default="IPAddress"), value=schemas.text(most=253)
    )
    parameters = schemas.structure(
        ("group", "kind", "name"), group=_group(), kind=_kind(), name=_NAME
    )
    infrastructure = schemas.structure(
        annotations=schemas.mapping(schemas.text(most=4096), most=8),
        labels=schemas.mapping(schemas.text(most=63), most=8),
        parametersRef=parameters,
    )
    listeners = schemas.sequence(
        _listener(),
        (
            "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)",
            "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']",
        ),
        (
            "self.all(l, (l.protocol == 'HTTPS' && has(l.tls)) ? "
            "(l.tls.mode == '' || l.tls.mode == 'Terminate') : true)",
            "tls mode must be Terminate for protocol HTTPS",
        ),
        (
            "self.all(l, l.protocol in ['TCP', 'UDP'] ? (!has(l.hostname) || l.hostname == '') : "
            "true)",
            "hostname must not be specified for protocols ['TCP', 'UDP']",
        ),
        (
            "self.all(a, self.exists_one(b, a.name == b.name))",
            "Listener name must be unique within the Gateway",
        ),
        (
            "self.all(a, self.exists_one(b, a.port == b.port && a.protocol == b.protocol && "
            "(has(a.hostname) && has(b.hostname) ? a.hostname == b.hostname : "
            "!has(a.hostname) && !has(b.hostname))))",
            "Combination of port, protocol and hostname must be unique for each listener",
        ),
        least=1,
        most=64,
        keys=("name",),
    )
    return schemas.structure(
        ("gatewayClassName", "listeners"),
        gatewayClassName=_NAME,
        listeners=listeners,
        addresses=schemas.sequence(address, most=16),
        infrastructure=infrastructure,
        allowedListeners=schemas.OPEN,
        tls=schemas.OPEN,
    )


def _listener() -> json.JsonObject:
    certificate = schemas.structure(
        ("name",), group=_group(""), kind=_kind("Secret"), name=_NAME, namespace=_NAMESPACE
    )
    tls = schemas.structure(
        (),
        (
            (
                "self.mode == 'Terminate' ? "
                "size(self.certificateRefs) > 0 || size(self.options) > 0 : true",
                "certificateRefs or options must be specified when mode is Terminate",
            ),
        ),
        mode=schemas.text(default="Terminate", one_of=("Terminate", "Passthrough")),
        certificateRefs=schemas.sequence(certificate, most=64),
        options=schemas.mapping(schemas.text(most=4096), most=16),
    )
    chosen = schemas.structure(
        **{"from": schemas.text(default="Same", one_of=("All", "Selector", "Same"))},
        selector=schemas.structure(**_LABELS),
    )
    allowed = schemas.structure(
        namespaces=schemas.with_default(chosen, {"from": "Same"}),
        kinds=schemas.sequence(
            schemas.structure(("kind",), group=_group(GROUP), kind=_kind()), most=8
        ),
    )
    protocol = rf"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|{_DNS}(\.{_DNS})*\/[A-Za-z0-9]+$"
    return schemas.structure(
        ("name", "port", "protocol"),
        name=_SECTION,
        hostname=_HOSTNAME,
        port=_PORT,
        protocol=schemas.text(protocol, least=1, most=255),
        tls=tls,
        allowedRoutes=schemas.with_default(allowed, {"namespaces": {"from": "Same"}}),
    )


# Routes


_SAME_PARENT = (
    "a.group == b.group && a.kind == b.kind && a.name == b.name && "
    "(has(a.__namespace__) ? a.__namespace__ : '') == (has(b.__namespace__) ? b.__namespace__ : '')"
)
_SECTION_OF = "(has({0}.sectionName) ? {0}.sectionName : '')"
_PORT_OF = "(has({0}.port) ? {0}.port : 0)"


def _parents() -> json.JsonObject:
    parent = schemas.structure(
        ("name",),
        group=_group(GROUP),
        kind=_kind("Gateway"),
        name=_NAME,
        namespace=_NAMESPACE,
        port=_PORT,
        sectionName=_SECTION,
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


def _route(rules: json.JsonObject) -> json.JsonObject:
    return schemas.structure(
        parentRefs=_parents(),
        hostnames=schemas.sequence(_HOSTNAME, most=16),
        rules=rules,
        useDefaultGateways=schemas.text(),
    )


def _backend(*, weight: bool = True, filters: json.JsonObject | None = None) -> json.JsonObject:
    more: dict[str, json.JsonObject] = {}
    if weight:
        more["weight"] = schemas.number(0, 1_000_000, default=1)
    if filters is not None:
        more["filters"] = filters
    return schemas.structure(
        ("name",),
        (_NEEDS_PORT,),
        group=_group(""),
        kind=_kind("Service"),
        name=_NAME,
        namespace=_NAMESPACE,
        port=_PORT,
        **more,
    )


def _named(most: int, values: int) -> json.JsonObject:
    """Headers or query fields that are compared."""
    named = schemas.structure(
        ("name", "value"),
        name=schemas.text(_HEADER_NAME, least=1, most=256),
        value=schemas.text(least=1, most=values),
        type=schemas.text(default="Exact", one_of=("Exact", "RegularExpression")),
    )
    return schemas.sequence(named, most=most, keys=("name",))


def _headers() -> json.JsonObject:
    """What a filter does to headers."""
    pair = schemas.structure(
        ("name", "value"),
        name=schemas.text(_HEADER_NAME, least=1, most=256),
        value=schemas.text(least=1, most=4096),
    )
    pairs = schemas.sequence(pair, most=16, keys=("name",))
    removed = {**schemas.sequence(schemas.text(), most=16), "x-kubernetes-list-type": "set"}
    return schemas.structure(add=pairs, set=pairs, remove=removed)


def _new_path() -> json.JsonObject:
    full, prefix = "ReplaceFullPath", "ReplacePrefixMatch"
    return schemas.structure(
        ("type",),
        (
            *_goes_with("type", full, "replaceFullPath", "type"),
            *_goes_with("type", prefix, "replacePrefixMatch", "type"),
        ),
        type=schemas.text(one_of=(full, prefix)),
        replaceFullPath=schemas.text(most=1024),
        replacePrefixMatch=schemas.text(most=1024),
    )


def _goes_with(
    name: str, value: str, field: str, shown: str
) -> tuple[tuple[str, str], tuple[str, str]]:
    """A field that is there if, and only if, a type is chosen."""
    return (
        (
            f"!(has(self.{field}) && self.{name} != '{value}')",
            f"{field} must be nil if the {shown} is not {value}",
        ),
        (
            f"!(!has(self.{field}) && self.{name} == '{value}')",
            f"{field} must be specified for {value} {shown}",
        ),
    )


def _filters(**more: tuple[str, json.JsonObject]) -> json.JsonObject:
    """Filters of a route; `more` are fields with the type that goes with each."""
    fraction = schemas.structure(
        ("numerator",),
        (
            (
                "self.numerator <= self.denominator",
                "numerator must be less than or equal to denominator",
            ),
        ),
        numerator=schemas.number(0),
        denominator=schemas.number(1, default=100),
    )
    mirror = schemas.structure(
        ("backendRef",),
        (
            (
                "!(has(self.percent) && has(self.fraction))",
                "Only one of percent or fraction may be specified in HTTPRequestMirrorFilter",
            ),
        ),
        backendRef=_backend(weight=False),
        percent=schemas.number(0, 100),
        fraction=fraction,
    )
    extension = schemas.structure(
        ("group", "kind", "name"), group=_group(), kind=_kind(), name=_NAME
    )
    known = {
        "requestHeaderModifier": ("RequestHeaderModifier", _headers()),
        "responseHeaderModifier": ("ResponseHeaderModifier", _headers()),
        "requestMirror": ("RequestMirror", mirror),
        "extensionRef": ("ExtensionRef", extension),
        **more,
    }
    rules = [
        rule
        for field, (kind, _) in known.items()
        for rule in _goes_with("type", kind, field, "filter.type")
    ]
    item = schemas.structure(
        ("type",),
        tuple((expression, f"filter.{message}") for expression, message in rules),
        type=schemas.text(one_of=tuple(kind for kind, _ in known.values())),
        **{field: schema for field, (_, schema) in known.items()},
    )
    once = [kind for kind, _ in known.values() if kind not in ("RequestMirror", "ExtensionRef")]
    repeated = tuple(
        (
            f"self.filter(f, f.type == '{kind}').size() <= 1",
            f"{kind} filter cannot be repeated",
        )
        for kind in once
    )
    return schemas.sequence(item, *repeated, most=16)


def _http_filters() -> json.JsonObject:
    redirect = schemas.structure(
        scheme=schemas.text(one_of=("http", "https")),
        hostname=_PRECISE_HOSTNAME,
        path=_new_path(),
        port=_PORT,
        statusCode={
            **schemas.number(default=302),
            "enum": [301, 302, 303, 307, 308],
        },
    )
    rewrite = schemas.structure(hostname=_PRECISE_HOSTNAME, path=_new_path())
    filters = _filters(
        requestRedirect=("RequestRedirect", redirect),
        urlRewrite=("URLRewrite", rewrite),
        cors=("CORS", schemas.OPEN),
    )
    both = (
        "!(self.exists(f, f.type == 'RequestRedirect') && self.exists(f, f.type == 'URLRewrite'))"
    )
    message = "May specify either httpRouteFilterRequestRedirect or httpRouteFilterRequestRewrite"
    filters["x-kubernetes-validations"].append(
        {"rule": both, "message": f"{message}, but not both"}
    )
    return filters


_LITERAL = "self.type in ['Exact', 'PathPrefix']"
_LITERALLY = "when type one of ['Exact', 'PathPrefix']"


def _path() -> json.JsonObject:
    rules = [
        (
            f"({_LITERAL}) ? self.value.startsWith('/') : true",
            f"value must be an absolute path and start with '/' {_LITERALLY}",
        ),
    ]
    rules += [
        (
            f"({_LITERAL}) ? !self.value.contains('{part}') : true",
            f"must not contain '{part}' {_LITERALLY}",
        )
        for part in ("//", "/./", "/../", "%2f", "%2F", "#")
    ]
    rules += [
        (
            f"({_LITERAL}) ? !self.value.endsWith('{part}') : true",
            f"must not end with '{part}' {_LITERALLY}",
        )
        for part in ("/..", "/.")
    ]
    signs = r"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$"
    rules.append(
        (
            f'({_LITERAL}) ? self.value.matches(r"""{signs}""") : true',
            f"must only contain valid characters (matching {signs}) "
            "for types ['Exact', 'PathPrefix']",
        )
    )
    kinds = ("Exact", "PathPrefix", "RegularExpression")
    return schemas.structure(
        (),
        tuple(rules),
        type=schemas.text(default="PathPrefix", one_of=kinds),
        value=schemas.text(most=1024, default="/"),
    )


_UNIQUE_NAMES = (
    "self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && a.name == b.name))",
    "Rule name must be unique within the route",
)


def _http_rules() -> json.JsonObject:
    everything = {"type": "PathPrefix", "value": "/"}
    match = schemas.structure(
        path=schemas.with_default(_path(), everything),
        headers=_named(16, 4096),
        queryParams=_named(16, 1024),
        method=schemas.text(one_of=_METHODS),
    )
    duration = schemas.text(_DURATION)
    timeouts = schemas.structure(
        (),
        (
            (
                "!(has(self.request) && has(self.backendRequest) && "
                "duration(self.request) != duration('0s') && "
                "duration(self.backendRequest) > duration(self.request))",
                "backendRequest timeout cannot be longer than request timeout",
            ),
        ),
        request=duration,
        backendRequest=duration,
    )
    rule = schemas.structure(
        (),
        (
            (
                "(has(self.backendRefs) && size(self.backendRefs) > 0) ? "
                "(!has(self.filters) || self.filters.all(f, !has(f.requestRedirect))) : true",
                "RequestRedirect filter must not be used together with backendRefs",
            ),
            (
                "(has(self.filters) && self.filters.exists(f, has(f.urlRewrite) && "
                "has(f.urlRewrite.path) && f.urlRewrite.path.type == 'ReplacePrefixMatch')) ? "
                "size(self.matches) == 1 && self.matches[0].path.type == 'PathPrefix' : true",
                "When using URLRewrite filter with path.replacePrefixMatch, exactly one "
                "PathPrefix match must be specified",
            ),
            (
                "(has(self.filters) && self.filters.exists(f, has(f.requestRedirect) && "
                "has(f.requestRedirect.path) && "
                "f.requestRedirect.path.type == 'ReplacePrefixMatch')) ? "
                "size(self.matches) == 1 && self.matches[0].path.type == 'PathPrefix' : true",
                "When using RequestRedirect filter with path.replacePrefixMatch, exactly one "
                "PathPrefix match must be specified",
            ),
        ),
        name=_SECTION,
        matches=schemas.with_default(schemas.sequence(match, most=64), [{"path": everything}]),
        filters=_http_filters(),
        backendRefs=schemas.sequence(_backend(filters=_http_filters()), most=16),
        timeouts=timeouts,
    )
    rules = schemas.sequence(
        rule,
        _UNIQUE_NAMES,
        (
            "self.map(r, has(r.matches) ? size(r.matches) : 0).sum() <= 128",
            "While 16 rules and 64 matches per rule are allowed, the total number of matches "
            "across all rules in a route must be less than 128",
        ),
        least=1,
        most=16,
    )
    return schemas.with_default(rules, [{"matches": [{"path": everything}]}])


def _grpc_rules() -> json.JsonObject:
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
        name=_SECTION,
        matches=schemas.sequence(
            schemas.structure(method=method, headers=_named(16, 4096)), most=64
        ),
        filters=_filters(),
        backendRefs=schemas.sequence(_backend(filters=_filters()), most=16),
    )
    return schemas.sequence(rule, _UNIQUE_NAMES, most=16)


def _tls_route() -> json.JsonObject:
    rule = schemas.structure(
        ("backendRefs",),
        name=_SECTION,
        backendRefs=schemas.sequence(_backend(), least=1, most=16),
    )
    return schemas.structure(
        ("hostnames", "rules"),
        parentRefs=_parents(),
        hostnames=schemas.sequence(_HOSTNAME, least=1, most=16),
        rules=schemas.sequence(rule, least=1, most=1),
        useDefaultGateways=schemas.text(),
    )


# Grants and policies


def _grant() -> json.JsonObject:
    giver = schemas.structure(
        ("group", "kind", "namespace"), group=_group(), kind=_kind(), namespace=_NAMESPACE
    )
    taken = schemas.structure(("group", "kind"), group=_group(), kind=_kind(), name=_NAME)
    return schemas.structure(
        ("from", "to"),
        **{"from": schemas.sequence(giver, least=1, most=16)},
        to=schemas.sequence(taken, least=1, most=16),
    )


def _policy() -> json.JsonObject:
    target = schemas.structure(
        ("group", "kind", "name"), group=_group(), kind=_kind(), name=_NAME, sectionName=_SECTION
    )
    authority = schemas.structure(
        ("group", "kind", "name"), group=_group(), kind=_kind(), name=_NAME
    )
    alternative = schemas.structure(
        ("type",),
        type=schemas.text(one_of=("Hostname", "URI")),
        hostname=_HOSTNAME,
        uri=schemas.text(most=253),
    )
    own = "(has(self.caCertificateRefs) && size(self.caCertificateRefs) > 0)"
    known = "(has(self.wellKnownCACertificates) && self.wellKnownCACertificates != '')"
    validation = schemas.structure(
        ("hostname",),
        (
            (
                f"!({own} && {known})",
                "must not contain both CACertificateRefs and WellKnownCACertificates",
            ),
            (
                f"{own} || {known}",
                "must specify either CACertificateRefs or WellKnownCACertificates",
            ),
        ),
        hostname=_PRECISE_HOSTNAME,
        caCertificateRefs=schemas.sequence(authority, most=8),
        wellKnownCACertificates=schemas.text(least=1, most=253),
        subjectAltNames=schemas.sequence(alternative, most=5),
    )
    return schemas.structure(
        ("targetRefs", "validation"),
        targetRefs=schemas.sequence(target, least=1, most=16),
        validation=validation,
        options=schemas.mapping(schemas.text(most=4096), most=16),
    )
