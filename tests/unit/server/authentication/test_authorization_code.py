"""What a login at an issuer is made of."""

from datetime import UTC, datetime, timedelta

import pytest

from volary.server.authentication import authorization_code

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "wanted",
    [
        "/",
        "/fleet",
        "/runs/run-web?tab=log&cluster=us",
        "/applications/a%2Fb",
        "/apiary",
        "/?a=b#c",
    ],
)
def test_a_page_of_ours_is_gone_to(wanted: str) -> None:
    assert authorization_code.page(wanted) == wanted


@pytest.mark.parametrize(
    "wanted",
    [
        *("", "fleet", "https://evil.example/", "//evil.example", "///evil.example"),
        *("/\\evil.example", "\\\\evil.example", "/%5cevil.example", "/%2Fevil.example"),
        *("javascript:alert(1)", "/\tevil", "/ evil", "/fleet\r\nset-cookie: a=b", "/\u2028x"),
        *("/api/v1/runs", "/auth/login?next=/", "/auth", "/%61uth/logout", "/" + "a" * 1000),
    ],
)
def test_nothing_but_a_page_of_ours_is_gone_to(wanted: str) -> None:
    assert authorization_code.page(wanted) == "/"


def test_the_cookie_is_all_that_is_remembered() -> None:
    begun = authorization_code.begin(NOW, "/fleet?region=eu")

    read = authorization_code.read(authorization_code.write(begun), NOW + timedelta(minutes=9))

    assert read == begun
    assert len({begun.secret, begun.state, begun.nonce, begun.verifier, begun.challenge}) == 5
    assert len(begun.verifier) >= 43, "as RFC 7636 wants it"


@pytest.mark.parametrize("minutes", [-1, 10, 600])
def test_an_attempt_lasts_ten_minutes(minutes: int) -> None:
    cookie = authorization_code.write(authorization_code.begin(NOW, "/"))

    assert authorization_code.read(cookie, NOW + timedelta(minutes=minutes)) is None


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        ".",
        "..",
        "a.1.b",
        f"{'s' * 43}.x.Lw",
        f"{'s' * 43}.{9**30}.Lw",
        f"{'s' * 43}.1.é",
        "é.1.Lw",
    ],
)
def test_what_is_no_attempt_is_none(cookie: str) -> None:
    assert authorization_code.read(cookie, NOW) is None


def test_a_page_in_a_cookie_is_looked_at_again() -> None:
    attempt = authorization_code.Attempt("s" * 43, NOW, "//evil.example")

    read = authorization_code.read(authorization_code.write(attempt), NOW)

    assert read is not None
    assert read.next == "/"
