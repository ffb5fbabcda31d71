"""Kubernetes' libraries for CEL and the syntax of its later versions, by expressions that hold."""

from typing import Any

import pytest

from kube_sandbox.apimachinery.scheme import structural_schemas
from kube_sandbox.apimachinery.validation import rule_definitions, rule_syntax, rules

SELF = {
    "name": "web",
    "labels": {"app": "web", "tier": "front"},
    "sizes": [3, 1, 2],
    "nested": {"list": [{"a": 1}]},
    "cpu": "1500m",
}


def told(text: str, *, message: str = "") -> list[str]:
    """Return what a rule says of `SELF`."""
    rule = {"rule": text, **({"messageExpression": message} if message else {})}
    schema = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        rules.RULES: [rule],
    }
    whole = {"type": "object", "properties": {"spec": schema}}
    found = rules.check(structural_schemas.build(whole), {"spec": SELF}, None, [])
    return [cause.message for cause in found]


@pytest.mark.parametrize(
    "text",
    [
        # optional types
        "self.?name.orValue('x') == 'web'",
        "self.?missing.orValue('x') == 'x'",
        "!self.?missing.hasValue()",
        "self.?missing.deeper.orValue('x') == 'x'",
        "self.labels[?'app'].orValue('') == 'web'",
        "self.sizes[?9].orValue(7) == 7",
        "self.?nested.list[0].a.orValue(0) == 1",
        "self.?nested.?list.hasValue()",
        "self.?name.optMap(n, n + '!').orValue('') == 'web!'",
        "self.?missing.optMap(n, n + '!').orValue('none') == 'none'",
        "self.?labels.optFlatMap(l, l[?'tier']).orValue('') == 'front'",
        "optional.of(1).value() == 1",
        "optional.none().or(optional.of(2)).value() == 2",
        # variables and comprehensions with two of them
        "cel.bind(n, self.name, n + n == 'webweb')",
        "self.labels.all(key, value, key.size() > 2 && value != '')",
        "self.sizes.exists(index, size, index == 1 && size == 1)",
        "self.labels.existsOne(key, value, value == 'web')",
        "self.sizes.transformList(index, size, size * index) == [0, 1, 4]",
        "self.sizes.transformList(index, size, index > 0, size) == [1, 2]",
        "self.labels.transformMap(key, value, value + '!')['app'] == 'web!'",
        "self.labels.transformMap(key, value, key == 'app', value) == {'app': 'web'}",
        "self.labels.transformMapEntry(key, value, {value: key})['front'] == 'tier'",
        "self.labels.all(key, key in ['app', 'tier'])",
        # lists and sets
        "self.sizes.min() == 1 && self.sizes.max() == 3 && self.sizes.sum() == 6",
        "!self.sizes.isSorted() && self.sizes.indexOf(2) == 2",
        "sets.contains(self.sizes, [1, 2]) && !sets.contains([1], [2])",
        "sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])",
        # texts
        "'%s has %d, %.2f and %x'.format([self.name, 2, 1.5, 255]) == 'web has 2, 1.50 and ff'",
        "'%s'.format([self.sizes]) == '[3, 1, 2]'",
        "'abc 123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "'a,b'.split(',').join('-') == 'a-b' && ' A '.trim().lowerAscii() == 'a'",
        # quantities
        "isQuantity('1.5Gi') && !isQuantity('x')",
        "quantity(self.cpu) == quantity('1.5')",
        "quantity('1Mi').isGreaterThan(quantity('1Ki')) && quantity('1').isLessThan(quantity('2'))",
        "quantity('1k').compareTo(quantity('1000')) == 0",
        "quantity('-1').sign() == -1 && quantity('2k').isInteger() && !quantity('1m').isInteger()",
        "quantity('2k').asInteger() == 2000 && quantity('500m').asApproximateFloat() == 0.5",
        "quantity('1').add(quantity('500m')).sub(1) == quantity('500m')",
        # addresses and networks
        "isIP('10.0.0.1') && !isIP('10.0.0') && !isIP('fe80::1%eth0') && isIP('::1')",
        "ip('10.0.0.1').family() == 4 && ip('::1').family() == 6",
        "ip('127.0.0.1').isLoopback() && ip('::').isUnspecified()",
        "ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
        "ip('8.8.8.8').isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast()",
        "ip.isCanonical('::1') && !ip.isCanonical('0:0::1')",
        "ip('::1') == ip('0:0::1') && string(ip('0:0::1')) == '::1'",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
        "cidr('10.1.2.3/8').prefixLength() == 8 && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
        "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        # URLs
        "isURL('https://a.example/x') && isURL('/x') && !isURL('a b')",
        "url('https://a.example:80/x?k=v&k=w').getScheme() == 'https'",
        "url('https://a.example:80/').getHost() == 'a.example:80'",
        "url('https://[::1]:80/').getHostname() == '::1' && url('https://a:80/').getPort() == '80'",
        "url('https://a/x%20y').getEscapedPath() == '/x%20y'",
        "url('https://a/?k=v&k=w').getQuery()['k'] == ['v', 'w']",
        # formats and versions
        "!format.dns1123Label().validate('web').hasValue()",
        "format.dns1123Label().validate('Web').value()[0].startsWith('a lowercase RFC 1123')",
        "format.named('uuid').hasValue() && !format.named('nope').hasValue()",
        "!format.named('date').value().validate('2026-01-02').hasValue()",
        "!format.dns1123LabelPrefix().validate('web-').hasValue()",
        "isSemver('1.2.3-rc.1+b') && !isSemver('1.2') && isSemver('v1.2', true)",
        "semver('1.10.0').isGreaterThan(semver('1.9.9'))",
        "semver('1.0.0-a').isLessThan(semver('1.0.0'))",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2",
        "semver('1.2.3').patch() == 3",
        "semver('1.0.0+a').compareTo(semver('1.0.0+b')) == 0",
    ],
)
def test_it_holds(text: str) -> None:
    assert told(text) == []
    assert told(f"!({text})") == [f"Invalid value: failed rule: !({text})"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("quantity('x').sign() == 0", "quantities must match the regular expression"),
        ("ip('x').family() == 4", "'x' does not appear to be an IPv4 or IPv6 address"),
        ("self.?missing.value() == 1", "optional.none() dereference"),
        ("'%d'.format([]) == ''", "index out of range"),
    ],
)
def test_what_has_no_value_is_a_fault_of_the_rule(text: str, expected: str) -> None:
    (found,) = told(text)

    assert expected in found
    assert found.endswith(f"evaluating rule: {text}")


def test_messages_may_use_all_of_it() -> None:
    message = "self.?missing.orValue('nothing') + ' of ' + '%s'.format([self.name])"

    assert told("false", message=message) == ["Invalid value: nothing of web"]


@pytest.mark.parametrize(
    "text",
    [
        "self.a > 0 ? self.b : self.c",
        "self.exists(x, x.y == '.?') // a.?b",
        "self.map(x, x > 1, x * 2)",
        "r'a.?b' == self",
        "{'a': [1, 2]}['a'][0] in [1]",
    ],
)
def test_what_needs_no_change_stays_as_it_is(text: str) -> None:
    assert rule_syntax.rewritten(text) == text


@pytest.mark.parametrize("text", ["self.?", "self.(", "self.a[?", ")", "'open", ""])
def test_what_is_no_expression_is_left_to_the_evaluator(text: str) -> None:
    assert rule_syntax.rewritten(text) == text


def test_rules_that_ask_the_authorizer_are_left_out() -> None:
    rule = "authorizer.path('/healthz').check('get').allowed()"

    assert rule_definitions.left_out({rules.RULES: [{"rule": rule}]}) == [
        "it calls allowed, check, path"
    ]


def test_unknown_functions_are_no_rules() -> None:
    schema: dict[str, Any] = {rules.RULES: [{"rule": "self.?a.unheardOf()"}]}

    (fault,) = rule_definitions.faults("x", schema)

    assert "undeclared reference to 'unheardOf'" in fault.message
