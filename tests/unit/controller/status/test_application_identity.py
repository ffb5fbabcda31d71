"""What is evidently the same application in a repository of another name, and what is not."""

from dataclasses import replace

import pytest

from volary.controller.status import application_identity, application_statuses, run_origins
from volary.gitops import repository_state
from volary.model import applications
from volary.store import records

HERE = "https://git.example.com/team/infra.git"
ADDRESSES = {"platform": HERE}
WHOLE = applications.Application("shop")
FOUND = repository_state.DiscoveredApplication("shop", "platform", "shop/app.yaml", "abc", WHOLE)
SEEN = repository_state.RepositoryState("platform", "main", None, (FOUND,))
KNOWN = records.ApplicationRecord(
    "shop",
    "infra",
    "shop/app.yaml",
    "main",
    document=application_statuses.to_document(application_statuses.ApplicationStatus(address=HERE)),
)


def at(address: str) -> records.ApplicationRecord:
    document = application_statuses.to_document(
        application_statuses.ApplicationStatus(address=address)
    )
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
    known: records.ApplicationRecord,
    found: repository_state.DiscoveredApplication,
    branch: str,
    same: bool,
) -> None:
    looked = replace(SEEN, branch=branch)

    assert application_identity.is_same_application(known, found, looked, ADDRESSES) is same


def test_nothing_is_missing_where_nobody_knows_which_repositories_there_are() -> None:
    assert application_identity.why_orphaned({}, "infra") == ""
    assert application_identity.why_orphaned(ADDRESSES, "") == ""
    assert application_identity.why_orphaned(ADDRESSES, "platform") == ""
    assert (
        application_identity.why_orphaned(ADDRESSES, "infra")
        == "its repository infra is no longer in the settings"
    )


def test_an_older_runs_commits_are_looked_for_where_the_application_is_now() -> None:
    moved = replace(KNOWN, repository="platform")
    addresses = {**ADDRESSES, "old": "https://git.example.com/team/old.git"}

    kept = application_identity.with_current_repository(
        run_origins.Origin("old", "shop/app.yaml"), moved, addresses
    )
    mapped = application_identity.with_current_repository(
        run_origins.Origin("infra", "shop/app.yaml"), moved, addresses
    )

    assert (kept.repository, mapped.repository) == ("old", "platform")


def holding(name: str, repository: str = "infra") -> application_identity.Names:
    return {name: application_identity.ApplicationLocation(repository, "shop/app.yaml")}


def test_a_file_that_goes_on_with_an_application_has_its_name_also_while_it_is_broken() -> None:
    broken, held = replace(FOUND, name="directory", application=None), holding("shop")

    first = application_identity.names_of_seen(
        held, replace(SEEN, applications=(broken,)), lambda _: "shop"
    )
    later = application_identity.names_of_seen(held, replace(SEEN, applications=(broken,)))

    assert (set(first), set(later)) == ({"shop"}, {"shop"})


def test_a_name_stays_with_its_file_and_another_one_is_told_apart_for_good() -> None:
    held = holding("shop")

    beside = application_identity.names_of_seen(held, SEEN)
    del held["shop"]
    alone = application_identity.names_of_seen(held, SEEN)

    assert (set(beside), set(alone)) == ({"shop.platform-shop"}, {"shop.platform-shop"})


def test_a_name_that_is_told_apart_may_be_taken_too() -> None:
    held = {**holding("shop"), **holding("shop.platform-shop", "elsewhere")}

    [name] = application_identity.names_of_seen(held, SEEN)

    assert name.startswith("shop.platform-shop-")
    assert held[name] == application_identity.ApplicationLocation("platform", FOUND.path)


def test_what_is_called_as_an_orphan_waits_for_a_person() -> None:
    held = holding("shop")

    refused = application_identity.names_of_seen(held, SEEN, is_orphaned=lambda name: True)

    assert set(refused) == {"shop@platform/shop/app.yaml"}
    assert application_identity.is_placeholder(next(iter(refused)))
    assert held == holding("shop")


def test_a_renamed_file_is_called_as_it_says_now() -> None:
    held = holding("old", "platform")

    assert set(application_identity.names_of_seen(held, SEEN)) == {"shop"}


def test_names_of_many_take_as_long_for_each_as_those_of_a_few() -> None:
    """Counted is how often places are compared, not how long that takes."""

    class Counted(application_identity.ApplicationLocation):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return super().__eq__(other)

        __hash__ = application_identity.ApplicationLocation.__hash__

    def comparisons(number: int) -> int:
        held: application_identity.Names = {
            f"other-{n}": Counted("other", f"{n}/app.yaml") for n in range(number)
        }
        found = tuple(
            replace(FOUND, name=f"app-{n}", path=f"app-{n}/app.yaml") for n in range(number)
        )
        Counted.compared = 0
        names = application_identity.names_of_seen(held, replace(SEEN, applications=found))
        assert list(names) == [f"app-{n}" for n in range(number)]
        return Counted.compared

    assert comparisons(800) <= 8 * comparisons(100) + 100
