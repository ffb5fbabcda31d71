"""What is missing is said only when the cluster says so."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

import pytest

from memory_client import DEPLOYMENTS, NAMESPACES
from volary.clusters.api import api_errors
from volary.clusters.client import clients
from volary.clusters.observe import permissions
from volary.model import json

WATCH = permissions.Permission("watch", DEPLOYMENTS, "web")
DELETE = permissions.Permission("delete", DEPLOYMENTS, "web")


@dataclass(eq=False)
class Reviewer:
    """Answers reviews out of rules and of what else is allowed."""

    rules: list[json.JsonObject] | None = None
    #: Verbs that another authorizer allows, of which rules say nothing; None: it refuses to say.
    allowed: tuple[str, ...] | None = ()
    asked: list[str] = field(default_factory=list)

    async def review(self, kind: str, spec: json.JsonObject) -> json.JsonObject:
        self.asked.append(kind)
        if kind == "SelfSubjectRulesReview":
            if self.rules is None:
                raise api_errors.Forbidden("no rules", status=403)
            return {"resourceRules": self.rules, "incomplete": True}
        if self.allowed is None:
            raise api_errors.Forbidden("no answer", status=403)
        return {"allowed": spec["resourceAttributes"]["verb"] in self.allowed}


async def missing(reviewer: Reviewer, *wanted: permissions.Permission) -> list[str]:
    client = cast("clients.Client", reviewer)
    return [permission.sentence for permission in await permissions.missing(client, wanted)]


def rule(verbs: str, group: str = "apps", **more: object) -> json.JsonObject:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": ["deployments"], **more}


async def test_what_rules_allow_costs_one_request() -> None:
    reviewer = Reviewer([rule("watch"), rule("*", "*")])

    assert await missing(reviewer, WATCH, DELETE, WATCH) == []
    assert reviewer.asked == ["SelfSubjectRulesReview"]


@pytest.mark.looptime
async def test_what_is_allowed_is_believed_for_minutes_and_what_is_not_is_asked_again() -> None:
    reviewer = Reviewer([rule("watch")])

    assert await missing(reviewer, WATCH) == []
    assert await missing(reviewer, WATCH) == []
    assert reviewer.asked == ["SelfSubjectRulesReview"]
    assert len(await missing(reviewer, WATCH, DELETE)) == 1
    reviewer.rules = [rule("watch delete")]
    assert await missing(reviewer, WATCH, DELETE) == []
    await asyncio.sleep(301)
    reviewer.rules = []
    assert len(await missing(reviewer, WATCH, DELETE)) == 2


async def test_what_neither_rules_nor_others_allow_is_missing() -> None:
    reviewer = Reviewer([rule("watch"), rule("delete", "extensions")])

    assert await missing(reviewer, WATCH, DELETE) == [
        "the user may not delete deployments.apps in namespace web"
    ]


async def test_rules_for_single_names_are_not_rules_for_all() -> None:
    reviewer = Reviewer([rule("watch", resourceNames=["other"])])

    assert await missing(reviewer, WATCH) != []


async def test_other_authorizers_are_asked() -> None:
    assert await missing(Reviewer([], allowed=("watch", "delete")), WATCH, DELETE) == []
    assert await missing(Reviewer(None, allowed=("watch", "delete")), WATCH, DELETE) == []


async def test_a_cluster_that_does_not_say_is_believed() -> None:
    assert await missing(Reviewer(None, allowed=None), WATCH) == []


async def test_the_whole_cluster_is_asked_about_without_rules() -> None:
    reviewer = Reviewer([rule("*", "*")])
    everywhere = permissions.Permission("watch", NAMESPACES, "")

    assert await missing(reviewer, everywhere) == [
        "the user may not watch namespaces of the whole cluster"
    ]
    assert reviewer.asked == ["SelfSubjectAccessReview"]
