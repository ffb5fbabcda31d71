"""Schemas of Istio's VirtualService and DestinationRule, with the checks of its webhook as rules.

Written after Istio's reference. What only concerns how a proxy connects (TLS, pools, load
balancing) is kept and not checked.
"""

from kube_sandbox import json
from kube_sandbox.crds import schemas

_TEXT = schemas.text()
_TEXTS = schemas.sequence(_TEXT)
_LABELS = schemas.mapping(_TEXT)
_PORT = schemas.number(0, 65535)
_DURATION = _TEXT


def virtual_service() -> json.JsonObject:
    """The spec of a VirtualService."""
    some = " || ".join(f"(has(self.{name}) && size(self.{name}) > 0)" for name in _PROTOCOLS)
    return schemas.structure(
        (),
        ((some, "http, tcp or tls must be provided in virtual service"),),
        hosts=_TEXTS,
        gateways=_TEXTS,
        exportTo=_TEXTS,
        http=schemas.sequence(_http_route()),
        tls=schemas.sequence(_tls_route()),
        tcp=schemas.sequence(_tcp_route()),
    )


_PROTOCOLS = ("http", "tls", "tcp")


def destination_rule() -> json.JsonObject:
    """The spec of a DestinationRule."""
    subset = schemas.structure(
        ("name",),
        name=schemas.text(least=1),
        labels=_LABELS,
        trafficPolicy=schemas.OPEN,
    )
    return schemas.structure(
        ("host",),
        host=schemas.text(least=1),
        subsets=schemas.sequence(
            subset,
            ("self.all(a, self.exists_one(b, a.name == b.name))", "subset names must be unique"),
        ),
        trafficPolicy=schemas.OPEN,
        exportTo=_TEXTS,
        workloadSelector=schemas.structure(matchLabels=_LABELS),
    )


def _destination() -> json.JsonObject:
    return schemas.structure(
        ("host",),
        host=schemas.text(least=1),
        subset=_TEXT,
        port=schemas.structure(number=_PORT),
    )


def _weighted(**more: json.JsonObject) -> json.JsonObject:
    """Destinations and their weights."""
    destination = schemas.structure(
        ("destination",), destination=_destination(), weight=schemas.number(0), **more
    )
    return schemas.sequence(
        destination,
        (
            "size(self) < 2 || self.exists(d, has(d.weight) && d.weight > 0)",
            "total destination weight = 0",
        ),
    )


def _changed_headers() -> json.JsonObject:
    change = schemas.structure(set=_LABELS, add=_LABELS, remove=_TEXTS)
    return schemas.structure(request=change, response=change)


def _text_match() -> json.JsonObject:
    names = ("exact", "prefix", "regex")
    chosen = " + ".join(f"(has(self.{name}) ? 1 : 0)" for name in names)
    return schemas.structure(
        (),
        ((f"{chosen} <= 1", "exactly one of exact, prefix or regex may be set"),),
        exact=_TEXT,
        prefix=_TEXT,
        regex=_TEXT,
    )


def _http_match() -> json.JsonObject:
    text = _text_match()
    return schemas.structure(
        name=_TEXT,
        uri=text,
        scheme=text,
        method=text,
        authority=text,
        headers=schemas.mapping(text),
        withoutHeaders=schemas.mapping(text),
        queryParams=schemas.mapping(text),
        port=_PORT,
        sourceLabels=_LABELS,
        sourceNamespace=_TEXT,
        gateways=_TEXTS,
        ignoreUriCase=schemas.BOOLEAN,
        statPrefix=_TEXT,
    )


def _http_route() -> json.JsonObject:
    percent = schemas.structure(value={"type": "number", "minimum": 0, "maximum": 100})
    mirror = schemas.structure(("destination",), destination=_destination(), percentage=percent)
    delegate = schemas.structure(name=_TEXT, namespace=_TEXT)
    retries = schemas.structure(
        attempts=schemas.number(0),
        perTryTimeout=_DURATION,
        retryOn=_TEXT,
        retryRemoteLocalities=schemas.BOOLEAN,
        retryIgnorePreviousHosts=schemas.BOOLEAN,
        backoff=_DURATION,
    )
    leads = ("route", "redirect", "directResponse", "delegate")
    answers = " || ".join(f"has(self.{name})" for name in leads)
    return schemas.structure(
        (),
        (
            (answers, "HTTP route, redirect or direct_response is required"),
            (
                "!(has(self.route) && size(self.route) > 0 && has(self.redirect))",
                "HTTP route cannot contain both route and redirect",
            ),
        ),
        name=_TEXT,
        match=schemas.sequence(_http_match()),
        route=_weighted(headers=_changed_headers()),
        redirect=schemas.OPEN,
        directResponse=schemas.structure(
            ("status",), status=schemas.number(200, 599), body=schemas.OPEN
        ),
        delegate=delegate,
        rewrite=schemas.OPEN,
        timeout=_DURATION,
        retries=retries,
        fault=schemas.OPEN,
        mirror=_destination(),
        mirrors=schemas.sequence(mirror),
        mirrorPercent=schemas.number(0, 100),
        mirror_percent=schemas.number(0, 100),
        mirrorPercentage=percent,
        corsPolicy=schemas.OPEN,
        headers=_changed_headers(),
    )


def _tls_route() -> json.JsonObject:
    match = schemas.structure(
        ("sniHosts",),
        sniHosts=_TEXTS,
        destinationSubnets=_TEXTS,
        port=_PORT,
        sourceLabels=_LABELS,
        sourceNamespace=_TEXT,
        gateways=_TEXTS,
    )
    return schemas.structure(("match",), match=schemas.sequence(match), route=_weighted())


def _tcp_route() -> json.JsonObject:
    match = schemas.structure(
        destinationSubnets=_TEXTS,
        port=_PORT,
        sourceSubnet=_TEXT,
        sourceLabels=_LABELS,
        sourceNamespace=_TEXT,
        gateways=_TEXTS,
    )
    return schemas.structure(match=schemas.sequence(match), route=_weighted())
