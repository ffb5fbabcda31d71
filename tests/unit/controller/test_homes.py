"""What is evidently the same application in a repository of another name, and what is not."""

from dataclasses import replace

import pytest

from volary.controller import claims, homes, origins, standings
from volary.gitops import names, seen
from volary.model import application
from volary.store import records

HERE = "https://git.example.com/team/infra.git"
ADDRESSES = {"platform": HERE}
WHOLE = application.Application("shop")
FOUND = seen.FoundApplication("shop", "platform", "shop/app.yaml", "abc", WHOLE)
SEEN = seen.RepositorySeen("platform", "main", None, (FOUND,))
KNOWN = records.ApplicationRecord(
    "shop",
    "infra",
    "shop/app.yaml",
    "main",
    document=standings.to_document(standings.Standing(address=HERE)),
)


def at(address: str) -> records.ApplicationRecord:
    document = standings.to_document(standings.Standing(address=address))
    return replace(KNOWN, document=document)


@pytest.mark.parametrize(
    ("known", "found", "branch", "same"),
    [
        (KNOWN, FOUND, "main", True),
        (at("https://GIT.example.com/team/infra/"), FOUND, "main", True),
        # It cannot be read, so nobody knows what it calls itself.
        (KNOWN, replace(FOUND, name="directory", application=None), "main", True),
        (KNOWN, replace(FOUND, name="cart"), "main", False),
        (KNOWN, replace(FOUND, path="cart/app.yaml"), "main", False),
        (KNOWN, FOUND, "staging", False),
        (at("https://git.example.com/ana/infra.git"), FOUND, "main", False),
        (at("https://git.example.com/team/Infra.git"), FOUND, "main", False),
        # Kept by a release that did not write addresses down.
        (at(""), FOUND, "main", False),
    ],
)
def test_only_the_same_file_on_the_same_branch_at_the_same_address_is_the_same(
    known: records.ApplicationRecord, found: seen.FoundApplication, branch: str, same: bool
) -> None:
    looked = replace(SEEN, branch=branch)

    assert homes.is_same(known, found, looked, ADDRESSES) is same


def test_nothing_is_missing_where_nobody_knows_which_repositories_there_are() -> None:
    assert homes.why_gone({}, "infra") == ""
    assert homes.why_gone(ADDRESSES, "") == ""
    assert homes.why_gone(ADDRESSES, "platform") == ""
    assert homes.why_gone(ADDRESSES, "infra") == "its repository infra is no longer in the settings"


def test_an_older_runs_commits_are_looked_for_where_the_application_is_now() -> None:
    moved = replace(KNOWN, repository="platform")
    addresses = {**ADDRESSES, "old": "https://git.example.com/team/old.git"}

    kept = homes.at_home(origins.Origin("old", "shop/app.yaml"), moved, addresses)
    mapped = homes.at_home(origins.Origin("infra", "shop/app.yaml"), moved, addresses)

    assert (kept.repository, mapped.repository) == ("old", "platform")


def test_a_file_that_goes_on_with_an_application_has_its_name_also_while_it_is_broken() -> None:
    broken = replace(FOUND, name="directory", application=None)
    held = claims.Claims({"shop": names.Place("infra", "shop/app.yaml")})

    first = held.of_seen(replace(SEEN, applications=(broken,)), lambda _: "shop")
    later = held.of_seen(replace(SEEN, applications=(broken,)))

    assert (set(first), set(later)) == ({"shop"}, {"shop"})


def test_a_name_stays_with_its_file_and_another_one_gets_a_stand_in() -> None:
    held = claims.Claims({"shop": names.Place("infra", "shop/app.yaml")})

    refused = held.of_seen(SEEN)
    del held.places["shop"]
    taken = held.of_seen(SEEN)

    assert (set(refused), set(taken)) == ({"shop@platform/shop/app.yaml"}, {"shop"})
    assert claims.is_stand_in(next(iter(refused)))
    assert not claims.is_stand_in("shop")
