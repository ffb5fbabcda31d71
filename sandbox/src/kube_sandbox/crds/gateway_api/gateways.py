"""GatewayClasses and Gateways."""

from kube_sandbox import json
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import fields


def gateway_class() -> json.JsonObject:
    """Return the spec of a GatewayClass."""
    controller = schemas.text(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$",
        least=1,
        most=253,
    )
    parameters = schemas.structure(
        ("group", "kind", "name"),
        group=fields.group(),
        kind=fields.kind(),
        name=fields.NAME,
        namespace=fields.NAMESPACE,
    )
    return schemas.structure(
        ("controllerName",),
        controllerName=schemas.with_rules(controller, ("self == oldSelf", "Value is immutable")),
        description=schemas.text(most=64),
        parametersRef=parameters,
    )


def gateway() -> json.JsonObject:
    """Return the spec of a Gateway."""
    address = schemas.structure(
        type=schemas.text(default="IPAddress"), value=schemas.text(most=253)
    )
    parameters = schemas.structure(
        ("group", "kind", "name"), group=fields.group(), kind=fields.kind(), name=fields.NAME
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
        gatewayClassName=fields.NAME,
        listeners=listeners,
        addresses=schemas.sequence(address, most=16),
        infrastructure=infrastructure,
        allowedListeners=schemas.OPEN,
        tls=schemas.OPEN,
    )


def _listener() -> json.JsonObject:
    certificate = schemas.structure(
        ("name",),
        group=fields.group(""),
        kind=fields.kind("Secret"),
        name=fields.NAME,
        namespace=fields.NAMESPACE,
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
        selector=schemas.structure(**fields.LABELS),
    )
    allowed = schemas.structure(
        namespaces=schemas.with_default(chosen, {"from": "Same"}),
        kinds=schemas.sequence(
            schemas.structure(("kind",), group=fields.group(fields.GROUP), kind=fields.kind()),
            most=8,
        ),
    )
    protocol = (
        rf"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|{fields.DNS}(\.{fields.DNS})*\/[A-Za-z0-9]+$"
    )
    return schemas.structure(
        ("name", "port", "protocol"),
        name=fields.SECTION,
        hostname=fields.HOSTNAME,
        port=fields.PORT,
        protocol=schemas.text(protocol, least=1, most=255),
        tls=tls,
        allowedRoutes=schemas.with_default(allowed, {"namespaces": {"from": "Same"}}),
    )
