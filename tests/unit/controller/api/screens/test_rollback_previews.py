"""What going back to a version would change, in counts and sentences."""

from typing import Any

from volary.controller.api import plan_representations
from volary.controller.api.screens import rollback_previews


def cluster(name: str, status: str, **more: Any) -> plan_representations.PlannedCluster:
    counts = dict.fromkeys(("created", "changed", "pruned", "kept", "unchanged"), 0)
    said = {"objects": (), "problems": (), "unreachable_reason": "", "warnings": ()}
    fields = {**counts, **said, "prune_refusal": "", **more}
    return plan_representations.PlannedCluster(name=name, status=status, **fields)


def preview(
    *clusters: plan_representations.PlannedCluster,
) -> rollback_previews.RollbackPreview:
    return rollback_previews.of_plan(
        plan_representations.Plan(
            application="shop",
            commit="old1111",
            subject="Smaller cart",
            running_commit="new7777",
            running_reason="",
            strategy="quick_sync",
            reason="",
            images=(),
            has_changes=True,
            failed=False,
            stages=(),
            clusters=clusters,
        )
    )


def test_it_says_what_changes_where_in_counts() -> None:
    made = preview(
        cluster("us", "changes", changed=2, pruned=1),
        cluster("eu", "changes", changed=2, pruned=1),
        cluster("asia", "unchanged", unchanged=3),
    )

    assert made.sentence == "2 of 3 clusters change: us and eu; asia stays as it is"
    assert made.is_known
    assert [(one.name, one.sentence) for one in made.clusters] == [
        ("us", "2 changed, 1 pruned"),
        ("eu", "2 changed, 1 pruned"),
        ("asia", "no changes"),
    ]


def test_what_cannot_be_asked_or_would_refuse_is_not_counted_as_calm() -> None:
    made = preview(
        cluster("us", "unreachable", unreachable_reason="no answer for 5 s"),
        cluster("eu", "refused", problems=("no such namespace", "and more")),
        cluster("asia", "changes", created=1),
    )

    assert made.sentence == (
        "1 of 3 clusters changes: asia; eu would refuse; what changes on us is not known"
    )
    assert not made.is_known
    assert [one.sentence for one in made.clusters] == [
        "not known: no answer for 5 s",
        "would refuse: no such namespace; and 1 more",
        "1 created",
    ]


def test_of_one_cluster_alone_and_of_none_that_changes() -> None:
    assert preview(cluster("us", "unchanged")).sentence == (
        "0 of 1 cluster change; us stays as it is"
    )
