"""The rules of HTTPRoutes."""

from kube_sandbox import json
from kube_sandbox.crds import schemas
from kube_sandbox.crds.gateway_api import fields, filters

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


UNIQUE_NAMES = (
    "self.all(a, !has(a.name) || self.exists_one(b, has(b.name) && a.name == b.name))",
    "Rule name must be unique within the route",
)


def http_rules() -> json.JsonObject:
    """Return the rules of an HTTPRoute."""
    everything = {"type": "PathPrefix", "value": "/"}
    match = schemas.structure(
        path=schemas.with_default(_path(), everything),
        headers=filters.compared(16, 4096),
        queryParams=filters.compared(16, 1024),
        method=schemas.text(one_of=fields.METHODS),
    )
    duration = schemas.text(fields.DURATION)
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
        name=fields.SECTION,
        matches=schemas.with_default(schemas.sequence(match, most=64), [{"path": everything}]),
        filters=filters.http_filters(),
        backendRefs=schemas.sequence(filters.backend(filters=filters.http_filters()), most=16),
        timeouts=timeouts,
    )
    rules = schemas.sequence(
        rule,
        UNIQUE_NAMES,
        (
            "self.map(r, has(r.matches) ? size(r.matches) : 0).sum() <= 128",
            "While 16 rules and 64 matches per rule are allowed, the total number of matches "
            "across all rules in a route must be less than 128",
        ),
        least=1,
        most=16,
    )
    return schemas.with_default(rules, [{"matches": [{"path": everything}]}])
