"""The fields of ``placement`` about how many clusters an application is on, and when it moves."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from volary.config import section, values
from volary.model import failover, spreading

_Count = Annotated[int, Field(ge=0, strict=True)]


class SpreadConstraint(section.Section):
    """How many clusters, or groups of clusters, the application is on."""

    by: spreading.Field | None = Field(
        default=None, description="`cluster`, `region`, `zone` or `provider`."
    )
    by_label: str = Field(default="", description="Instead of `by`: a label of the clusters.")
    min_groups: _Count = Field(default=1, description="Fewer are an error.")
    max_groups: _Count = Field(default=0, description="No more than these; 0: any number.")


class Behaviour(section.Section):
    """What is done once there is a reason to move."""

    toleration: values.Duration = Field(
        default=timedelta(minutes=5),
        validate_default=True,
        description="How long the reason has to last. For a cluster: how long marks with "
        "`NoExecute` are put up with that none of `placement.tolerations` is about.",
    )
    purge: failover.Purge = Field(
        default=failover.Purge.GRACEFULLY,
        description="What becomes of the old copy. `Gracefully`: it goes when the replacement is "
        "healthy; `Directly`: it goes first; `Never`: it stays until a rebalance.",
    )
    grace_period: values.Duration = Field(
        default=timedelta(minutes=10),
        validate_default=True,
        description="How long `Gracefully` waits for a healthy replacement.",
    )


class Witness(section.Section):
    """An address that tells whether users of a cluster are still served, asked with GET."""

    url: section.Text = Field(
        description="A status below 400 says that users are served, a higher one that they are "
        "not; no answer says nothing. So name something outside of the cluster: a load balancer, "
        "a monitor. May hold `${cluster.name}`, `${cluster.region}`, `${cluster.labels.KEY}`."
    )
    timeout: values.Duration = Field(
        default=timedelta(seconds=5),
        validate_default=True,
        description="Longest wait; at most 30s.",
    )


class Failover(section.Section):
    """When the application is moved away from a cluster; without it: never by itself."""

    cluster: Behaviour | None = Field(
        default=None, description="When a cluster carries a mark with `NoExecute`."
    )
    application: Behaviour | None = Field(
        default=None,
        description="When the application is ill without a break on a cluster that answers.",
    )
    witness: Witness | None = Field(
        default=None,
        description="The second evidence for a cluster that does not answer: without it such a "
        "cluster is left only when a person marks it.",
    )
    patience: values.Duration = Field(
        default=timedelta(minutes=5),
        validate_default=True,
        description="How long a run under way is waited for before it is interrupted; a paused "
        "one is never interrupted.",
    )
