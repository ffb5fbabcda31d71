"""Which requests a division chooses, and the cookies by which it knows them again."""

import re
from datetime import timedelta

import pytest

from volary.model.pipeline import traffic, variant
from volary.stages.traffic import division
from volary.stages.traffic.routers import chosen_requests

V, Kind = variant.Variant, traffic.MatchKind
STAY = traffic.SessionAffinity("shop", primary_cookie_name="shop-primary", max_age=600)
EVERYTHING = traffic.SessionAffinity(
    "shop",
    max_age=600,
    domain="example.org",
    path="/cart",
    http_only=True,
    secure=True,
    partitioned=True,
    same_site=traffic.SameSite.LAX,
)


def wanted(affinity: traffic.SessionAffinity, canary: int = 10) -> division.Division:
    return division.Division(
        100 - canary, canary, affinity=affinity, interval=timedelta(seconds=30), token="abc"
    )


def test_canarys_cookie_lives_as_long_as_it_is_told_and_primarys_for_an_interval() -> None:
    assert chosen_requests.cookies(wanted(STAY)) == {
        V.CANARY: "shop=volary-abc; Max-Age=600; Path=/",
        V.PRIMARY: "shop-primary=volary-abc; Max-Age=30; Path=/",
    }
    assert chosen_requests.cookies(wanted(STAY, canary=0)) == {}
    assert chosen_requests.cookies(division.Division(50, 50)) == {}


def test_a_cookie_has_the_attributes_that_are_asked_for() -> None:
    assert chosen_requests.cookies(wanted(EVERYTHING)) == {
        V.CANARY: "shop=volary-abc; Max-Age=600; Domain=example.org; Path=/cart; HttpOnly; Secure;"
        " Partitioned; SameSite=Lax"
    }


def test_users_with_a_cookie_stay_until_canary_gets_nothing() -> None:
    stay = chosen_requests.of(wanted(STAY))
    (back,) = chosen_requests.of(wanted(STAY, canary=0))

    assert [(chosen.variant, chosen.cookie) for chosen in stay] == [(V.CANARY, ""), (V.PRIMARY, "")]
    assert (back.variant, back.cookie) == (V.PRIMARY, "shop=volary-abc; Max-Age=-1; Path=/")
    assert [chosen.variant for chosen in chosen_requests.of(wanted(EVERYTHING))] == [V.CANARY]


@pytest.mark.parametrize(
    ("header", "fits"),
    [
        ("shop=volary-abc", True),
        ("a=b; shop=volary-abc; c=d", True),
        ("shop=volary-abcd", False),
        ("myshop=volary-abc", False),
        ("shop=volary-xyz", False),
    ],
)
def test_a_cookie_is_found_among_others(header: str, fits: bool) -> None:
    (chosen, _) = chosen_requests.of(wanted(STAY))
    pattern = chosen.headers[chosen_requests.HEADER]

    assert pattern.kind is Kind.REGEX
    assert (re.fullmatch(pattern.value, header) is not None) is fits


def test_matches_are_numbered_and_cookies_of_theirs_are_a_header() -> None:
    match = traffic.RequestMatch(
        {"x": traffic.TextMatch("1")},
        {"team": traffic.TextMatch("w.b")},
        {"beta": traffic.TextMatch("2")},
    )
    asked = division.Division(match=(match, traffic.RequestMatch({"y": traffic.TextMatch("3")})))

    first, second = chosen_requests.of(asked)

    assert (first.name, second.name) == ("match-1", "match-2")
    assert set(first.headers) == {"x", "Cookie"}
    assert re.fullmatch(first.headers["Cookie"].value, "team=w.b")
    assert not re.fullmatch(first.headers["Cookie"].value, "team=wxb")
    assert first.query == {"beta": traffic.TextMatch("2")}
    assert set(second.headers) == {"y"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Kind.EXACT, r"a\.b"),
        (Kind.PREFIX, r"a\.b.*"),
        (Kind.SUFFIX, r".*a\.b"),
        (Kind.REGEX, "(a.b)"),
    ],
)
def test_each_kind_of_match_as_a_regular_expression(kind: Kind, expected: str) -> None:
    assert chosen_requests.regex(traffic.TextMatch("a.b", kind), any_text=".*") == expected


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        ("shop=volary-abc; Max-Age=1", True),
        ("shop=volary-", True),
        ("shop=abc", False),
        ("", False),
    ],
)
def test_a_cookie_of_ours_has_a_mark(value: str, ours: bool) -> None:
    assert chosen_requests.is_ours(value) is ours
