"""The environment's proxy, and what is not sent through it."""

import pytest

from volary.clusters.kubeconfig import connections, environment_proxies
from volary.model import errors


def through(server: str, **environment: str) -> str:
    return environment_proxies.with_proxy(
        connections.Connection("us", server), environment
    ).proxy_url


def test_https_and_http_have_their_own_variables() -> None:
    variables = {"HTTPS_PROXY": "http://secure", "http_proxy": "plain:3128"}

    assert through("https://api.example", **variables) == "http://secure"
    assert through("http://api.example", **variables) == "http://plain:3128"


def test_a_port_of_plain_http_is_80() -> None:
    proxy = {"HTTP_PROXY": "http://p"}

    assert through("http://api.example", NO_PROXY="api.example:80", **proxy) == ""
    assert through("http://api.example", NO_PROXY="api.example:443", **proxy) == "http://p"


def test_upper_case_counts_before_lower_case() -> None:
    variables = {"HTTPS_PROXY": "http://a", "https_proxy": "http://b", "no_proxy": "x.example"}

    assert through("https://api.example", **variables) == "http://a"
    assert through("https://x.example", **variables) == ""
    assert through("https://api.example", HTTPS_PROXY="", https_proxy="http://b") == "http://b"
    assert through("https://api.example") == ""


@pytest.mark.parametrize(
    ("server", "exceptions", "excepted"),
    [
        ("https://api.example", "", False),
        ("https://api.example", "*", True),
        ("https://api.example", "other.example, api.example", True),
        ("https://api.example", ".example", True),
        ("https://api.example", "*.example", True),
        ("https://API.example", "api.EXAMPLE", True),
        ("https://api.example", "pi.example", False),
        ("https://api.example:6443", "api.example:6443", True),
        ("https://api.example:6443", "api.example:443", False),
        ("https://api.example:6443", "10.0.0.0/8, .example", True),
        ("https://api.example:443", "10.0.0.0/8", False),
        ("https://api.example", "api.example:443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:443", False),
        ("https://api.example", " , ,", False),
        ("https://10.1.2.3", "10.1.0.0/16, 10.1.2.3/40", True),
        ("https://10.1.2.3", "10.1.2.9/24", True),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "192.168.0.0/16,bad/net", False),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3", "2.3", False),
        ("https://[fd00::1]:6443", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://localhost", "", True),
        ("https://127.0.0.5", "", True),
        ("https://[::1]", "", True),
    ],
)
def test_exceptions(server: str, exceptions: str, excepted: bool) -> None:
    found = through(server, HTTPS_PROXY="http://p", NO_PROXY=exceptions)

    assert found == ("" if excepted else "http://p")


def test_the_kubeconfigs_proxy_stays() -> None:
    connection = connections.Connection("us", "https://x", proxy_url="http://mine")

    assert environment_proxies.with_proxy(connection, {"HTTPS_PROXY": "http://p"}) == connection


def test_a_kind_that_is_not_supported() -> None:
    with pytest.raises(errors.UserError, match="HTTPS_PROXY names a proxy of the form socks5://"):
        through("https://x", HTTPS_PROXY="socks5://p")
