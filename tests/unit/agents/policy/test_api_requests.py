"""What a request asks for: read strictly, and put together anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.agents.policy import api_requests
from volary.agents.policy.api_requests import Verb

WEB = "/apis/apps/v1/namespaces/shop/deployments/web"


@pytest.mark.parametrize(
    ("method", "target", "verb", "what"),
    [
        ("GET", "/readyz", Verb.DISCOVER, "discover /readyz"),
        ("GET", "/readyz/etcd?verbose=", Verb.DISCOVER, "discover /readyz/etcd"),
        ("GET", "/apis", Verb.DISCOVER, "discover /apis"),
        ("GET", "/api/v1", Verb.DISCOVER, "discover /api/v1"),
        ("GET", "/apis/apps/v1?timeout=5s", Verb.DISCOVER, "discover /apis/apps/v1"),
        ("GET", WEB, Verb.READ, "read deployments.apps shop/web"),
        ("GET", f"{WEB}/status", Verb.READ, "read deployments.apps shop/web/status"),
        ("GET", "/api/v1/pods?watch=1&limit=5", Verb.READ, "read pods"),
        ("GET", "/api/v1/namespaces", Verb.READ, "read namespaces"),
        ("GET", "/api/v1/namespaces/shop", Verb.READ, "read namespaces shop/shop"),
        ("GET", "/api/v1/nodes/n1", Verb.READ, "read nodes n1"),
        (
            "GET",
            "/api/v1/namespaces/shop/pods/web-1/log?follow=true",
            Verb.LOG,
            "log pods shop/web-1/log",
        ),
        (
            "PATCH",
            f"{WEB}?dryRun=All&force=true",
            Verb.DRY_RUN,
            "dry run deployments.apps shop/web",
        ),
        (
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            Verb.REVIEW,
            "review selfsubjectaccessreviews.authorization.k8s.io",
        ),
        (
            "GET",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
            Verb.READ,
            "read clusterroles.rbac.authorization.k8s.io system:node",
        ),
    ],
)
def test_what_is_asked_for(method: str, target: str, verb: Verb, what: str) -> None:
    read = api_requests.read(method, target)

    assert (read.verb, read.what) == (verb, what)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        # Writes.
        ("PATCH", WEB),
        ("PATCH", f"{WEB}?dryRun=None"),
        ("PATCH", f"{WEB}?dryRun=All&dryRun="),
        ("PATCH", f"{WEB}?dryRun=all"),
        ("PATCH", f"{WEB}?dryrun=All"),
        ("POST", "/api/v1/namespaces/shop/configmaps"),
        ("DELETE", f"{WEB}?dryRun=All"),
        ("DELETE", "/api/v1/namespaces/shop/pods"),
        ("HEAD", WEB),
        ("CONNECT", "cluster:443"),
        ("OPTIONS", "*"),
        # What is no REST.
        ("GET", "/api/v1/namespaces/shop/pods/web/exec?command=sh"),
        ("POST", "/api/v1/namespaces/shop/pods/web/exec?dryRun=All"),
        ("GET", "/api/v1/namespaces/shop/pods/web/attach"),
        ("GET", "/api/v1/namespaces/shop/pods/web/portforward"),
        ("GET", "/api/v1/namespaces/shop/services/web/proxy"),
        ("GET", "/api/v1/namespaces/shop/services/web/proxy/admin"),
        ("GET", "/api/v1/nodes/n1/proxy"),
        ("GET", "/api/v1/proxy/nodes/n1"),
        ("GET", "/api/v1/watch/pods"),
        ("POST", "/api/v1/namespaces/shop/serviceaccounts/web/token?dryRun=All"),
        ("POST", "/api/v1/namespaces/shop/pods/web/eviction?dryRun=All"),
        ("POST", "/api/v1/namespaces/shop/pods/web/binding?dryRun=All"),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
        # Paths that could be read in two ways.
        ("GET", "/api/v1/namespaces/a/../b/secrets"),
        ("GET", "/api/v1/namespaces/a/%2e%2e/b"),
        ("GET", "/api/v1/namespaces/a/%2E%2E/b"),
        ("GET", "/api/v1/namespaces/a%2fsecrets"),
        ("GET", "/api/v1/namespaces/a%252e%252e/pods"),
        ("GET", "/api/v1//secrets"),
        ("GET", "//api/v1/secrets"),
        ("GET", "/api/v1/secrets/"),
        ("GET", "/api/v1/./secrets"),
        ("GET", "/api/v1/pods;x=/secrets"),
        ("GET", "/api/v1/pods\\..\\secrets"),
        ("GET", "/api/v1/pods%00"),
        ("GET", "/api/v1/pods%0d%0aHost:x"),
        ("GET", "/api/v1/pods%zz"),
        ("GET", "/api/v1/pods%ff"),
        ("GET", "/api/v1/pods?limit=\udcff"),
        ("GET", "/api/v1/pöds"),
        ("GET", "http://evil.example/api/v1/pods"),
        ("GET", "/api/v1/pods#/secrets"),
        ("GET", "api/v1/pods"),
        ("GET", ""),
        ("GET", "/"),
        ("GET", "/metrics"),
        ("GET", "/debug/pprof/heap"),
        ("GET", "/logs/kubelet.log"),
        ("GET", "/api/v2/pods"),
        ("GET", "/api/v1/pods?unknown=1"),
        ("GET", "/api/v1/pods?limit"),
        ("GET", "/api/v1/pods?limit=1&limit=2"),
        ("GET", "/api/v1/pods?" + "a=1&" * 50 + "b=1"),
        ("GET", "/api/v1/" + "x" * 3000),
        ("GET", "/api/v1/namespaces/a/pods/b/log/c"),
    ],
)
def test_what_is_never_sent(method: str, target: str) -> None:
    with pytest.raises(api_requests.RefusedError) as refused:
        api_requests.read(method, target)

    assert str(refused.value).isprintable()


def test_a_path_is_sent_as_it_was_understood() -> None:
    read = api_requests.read(
        "GET", "/apis/apps/v1/namespaces/%73hop/deployments?labelSelector=a%3Db%2Cc&limit=5"
    )

    assert read.namespace == "shop"
    assert read.target == (
        "/apis/apps/v1/namespaces/shop/deployments?labelSelector=a%3Db%2Cc&limit=5"
    )


@given(st.sampled_from(("GET", "POST", "PATCH", "PUT", "DELETE")), st.text(max_size=80))
def test_whatever_is_read_is_read_the_same_again(method: str, target: str) -> None:
    try:
        read = api_requests.read(method, target)
    except api_requests.RefusedError:
        return

    assert api_requests.read(read.method, read.target) == read
    assert ".." not in read.path
    assert read.path.isascii()
