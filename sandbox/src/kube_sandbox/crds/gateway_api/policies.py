"""Grants across namespaces, and policies for TLS to backends."""

from kube_sandbox import json
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import fields


def reference_grant() -> json.JsonObject:
    """Return the spec of a ReferenceGrant."""
    giver = schemas.structure(
        ("group", "kind", "namespace"),
        group=fields.group(),
        kind=fields.kind(),
        namespace=fields.NAMESPACE,
    )
    taken = schemas.structure(
        ("group", "kind"), group=fields.group(), kind=fields.kind(), name=fields.NAME
    )
    return schemas.structure(
        ("from", "to"),
        **{"from": schemas.sequence(giver, least=1, most=16)},
        to=schemas.sequence(taken, least=1, most=16),
    )


def backend_tls_policy() -> json.JsonObject:
    """Return the spec of a BackendTLSPolicy."""
    target = schemas.structure(
        ("group", "kind", "name"),
        group=fields.group(),
        kind=fields.kind(),
        name=fields.NAME,
        sectionName=fields.SECTION,
    )
    authority = schemas.structure(
        ("group", "kind", "name"), group=fields.group(), kind=fields.kind(), name=fields.NAME
    )
    alternative = schemas.structure(
        ("type",),
        type=schemas.text(one_of=("Hostname", "URI")),
        hostname=fields.HOSTNAME,
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
        hostname=fields.PRECISE_HOSTNAME,
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
