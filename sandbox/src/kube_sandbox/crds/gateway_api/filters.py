"""Backends of routes, and the filters on the way to them."""

from kube_sandbox import json
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import fields


def backend(*, weight: bool = True, filters: json.JsonObject | None = None) -> json.JsonObject:
    """Return what a route leads to."""
    more: dict[str, json.JsonObject] = {}
    if weight:
        more["weight"] = schemas.number(0, 1_000_000, default=1)
    if filters is not None:
        more["filters"] = filters
    return schemas.structure(
        ("name",),
        (fields.NEEDS_PORT,),
        group=fields.group(""),
        kind=fields.kind("Service"),
        name=fields.NAME,
        namespace=fields.NAMESPACE,
        port=fields.PORT,
        **more,
    )


def compared(most: int, values: int) -> json.JsonObject:
    """Headers or query fields that are compared."""
    item = schemas.structure(
        ("name", "value"),
        name=schemas.text(fields.HEADER_NAME, least=1, most=256),
        value=schemas.text(least=1, most=values),
        type=schemas.text(default="Exact", one_of=("Exact", "RegularExpression")),
    )
    return schemas.sequence(item, most=most, keys=("name",))


def _headers() -> json.JsonObject:
    """What a filter does to headers."""
    pair = schemas.structure(
        ("name", "value"),
        name=schemas.text(fields.HEADER_NAME, least=1, most=256),
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


def filter_list(**more: tuple[str, json.JsonObject]) -> json.JsonObject:
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
        backendRef=backend(weight=False),
        percent=schemas.number(0, 100),
        fraction=fraction,
    )
    extension = schemas.structure(
        ("group", "kind", "name"), group=fields.group(), kind=fields.kind(), name=fields.NAME
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


def http_filters() -> json.JsonObject:
    """Return the filters of the rules of an HTTPRoute."""
    redirect = schemas.structure(
        scheme=schemas.text(one_of=("http", "https")),
        hostname=fields.PRECISE_HOSTNAME,
        path=_new_path(),
        port=fields.PORT,
        statusCode={
            **schemas.number(default=302),
            "enum": [301, 302, 303, 307, 308],
        },
    )
    rewrite = schemas.structure(hostname=fields.PRECISE_HOSTNAME, path=_new_path())
    filters = filter_list(
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
