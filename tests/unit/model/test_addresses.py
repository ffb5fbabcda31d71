import pytest

from volary.model import addresses


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("127.9.8.7", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("::ffff:192.0.2.1", False),
        ("127.0.0.1.evil.example", False),
        ("127.evil.example", False),
        ("localhost.evil.example", False),
        ("", False),
        ("127.1", False),
    ],
)
def test_only_this_machine_is_loopback(host: str, is_loopback: bool) -> None:
    assert addresses.is_loopback(host) is is_loopback


@pytest.mark.parametrize(
    ("address", "holder"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("127.0.0.2", "127.0.0.2"),
        ("unknown", "unknown"),
    ],
)
def test_who_holds_an_address(address: str, holder: str) -> None:
    assert addresses.holder_of(address) == holder


def test_networks_are_of_one_family() -> None:
    networks = ("10.0.0.0/8", "2001:db8::/32")

    assert addresses.is_within("10.1.2.3", networks)
    assert addresses.is_within("::ffff:10.1.2.3", networks)
    assert addresses.is_within("2001:db8::1", networks)
    assert not addresses.is_within("11.1.2.3", networks)
    assert not addresses.is_within("unknown", networks)


@pytest.mark.parametrize(
    ("url", "is_secure"),
    [
        ("https://volary.example.org", True),
        ("http://127.0.0.1:8080", True),
        ("http://localhost:8080", True),
        ("http://127.0.0.1.example.org", False),
        ("http://volary.example.org", False),
        ("volary.example.org", False),
        ("https://[::1", False),
    ],
)
def test_what_is_sent_to_an_address_is_encrypted_or_stays_here(url: str, is_secure: bool) -> None:
    assert addresses.is_secure(url) is is_secure
