"""Tokens of ServiceAccounts: for whom, for how long, and when they end."""

from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.access import tokens
from kube_sandbox.apiserver.registry import registry


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def cluster(clock: FixedClock) -> registry.Registry:
    made = registry.Registry(clock)
    made.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    made.create(kinds.SERVICE_ACCOUNT, "a", {"metadata": {"name": "robot"}})
    return made


@pytest.fixture
def issuer(cluster: registry.Registry) -> tokens.Issuer:
    return tokens.Issuer(cluster.cluster)


def _issued(issuer: tokens.Issuer, **spec: Any) -> str:
    return str(issuer.issue("a", "robot", {"spec": spec})["status"]["token"])


def test_a_token_says_whose_it_is(issuer: tokens.Issuer) -> None:
    user = issuer.authenticate(_issued(issuer))

    assert user.name == "system:serviceaccount:a:robot"
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:a",
        "system:authenticated",
    )


def test_a_token_ends_with_its_time(issuer: tokens.Issuer, clock: FixedClock) -> None:
    token = _issued(issuer, expirationSeconds=600)
    clock.forward(seconds=599)
    issuer.authenticate(token)
    clock.forward(seconds=2)

    with pytest.raises(tokens.TokenError, match="expired"):
        issuer.authenticate(token)


def test_a_token_ends_with_its_account(issuer: tokens.Issuer, cluster: registry.Registry) -> None:
    token = _issued(issuer)
    cluster.delete(kinds.SERVICE_ACCOUNT, "a", "robot")
    cluster.create(kinds.SERVICE_ACCOUNT, "a", {"metadata": {"name": "robot"}})

    with pytest.raises(tokens.TokenError, match="deleted"):
        issuer.authenticate(token)


def test_a_token_ends_with_what_it_is_bound_to(
    issuer: tokens.Issuer, cluster: registry.Registry
) -> None:
    secret = cluster.kind("v1", "Secret")
    cluster.create(secret, "a", {"metadata": {"name": "s"}})
    token = _issued(issuer, boundObjectRef={"apiVersion": "v1", "kind": "Secret", "name": "s"})
    issuer.authenticate(token)
    cluster.delete(secret, "a", "s")

    with pytest.raises(tokens.TokenError, match="deleted"):
        issuer.authenticate(token)


def test_a_token_is_for_its_audience_only(issuer: tokens.Issuer) -> None:
    token = _issued(issuer, audiences=["vault"])

    assert issuer.authenticate(token, ("vault", "other")).name.endswith(":robot")
    with pytest.raises(tokens.TokenError, match="audience"):
        issuer.authenticate(token)


@pytest.mark.parametrize("change", ["x", "", "a.b.c", "ä.b.c"])
def test_what_was_not_issued_is_refused(
    issuer: tokens.Issuer, cluster: registry.Registry, change: str
) -> None:
    head, _, signature = _issued(issuer).rpartition(".")
    other = tokens.Issuer(cluster.cluster)

    for token in (change, f"{head}.{signature[:-2]}AA", f"{head}{change}x.{signature}"):
        with pytest.raises(tokens.TokenError, match="invalid bearer token"):
            issuer.authenticate(token)
    with pytest.raises(tokens.TokenError, match="invalid bearer token"):
        other.authenticate(f"{head}.{signature}")


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"expirationSeconds": 599}, 422),
        ({"expirationSeconds": 2**32 + 1}, 422),
        ({"expirationSeconds": "soon"}, 400),
        ({"boundObjectRef": {"kind": "Secret", "name": "nope"}}, 404),
        ({"boundObjectRef": {"kind": "Node", "name": "n"}}, 400),
    ],
)
def test_refused_requests(issuer: tokens.Issuer, spec: dict[str, Any], code: int) -> None:
    with pytest.raises(api_errors.StatusError) as refused:
        issuer.issue("a", "robot", {"spec": spec})

    assert refused.value.code == code


def test_an_account_must_be_there(issuer: tokens.Issuer) -> None:
    with pytest.raises(api_errors.StatusError) as refused:
        issuer.issue("a", "nobody", {})

    assert refused.value.code == 404
