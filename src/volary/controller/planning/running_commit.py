"""Which commit runs at the moment: told by the user, remembered, or read from live objects."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from volary.clusters.apply import live_objects
from volary.clusters.client import client_pool, clients, resource_mapping
from volary.concurrency import fan_out
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import applications, errors
from volary.model.objects import manifest

#: What a user passes to say that nothing was deployed before.
NONE = "none"
#: How long a cluster may take to tell what runs there.
PATIENCE = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class RunningCommits:
    """The running commit and where the knowledge comes from."""

    #: Empty: this is a first deployment.
    commit: str
    #: One sentence.
    reason: str
    #: What single clusters run instead, since a release did not reach all of them.
    others: Mapping[str, str] = field(default_factory=dict)

    def of(self, target: str) -> str:
        """Return what a cluster runs; empty: nothing yet."""
        return self.others.get(target) or self.commit


@dataclass(frozen=True, slots=True)
class ObservedCommits:
    """What one cluster's workloads say about their commit."""

    target: str
    commits: frozenset[str] = frozenset()
    #: A workload of the application exists without the commit's annotation.
    unmarked: bool = False
    #: Why nothing could be read; empty: it could.
    trouble: str = ""


async def observe(
    clusters: client_pool.ClientPool,
    application: applications.Application,
    manifests: Mapping[str, Sequence[manifest.Manifest]],
    *,
    patience: timedelta = PATIENCE,
) -> list[ObservedCommits]:
    """Read the live counterparts of the application's workloads in every target at once.

    A cluster that has not told within `patience` is in trouble.
    """

    async def look(target: str) -> ObservedCommits:
        client = await clusters.client(target)
        if isinstance(client, client_pool.Unavailable):
            return ObservedCommits(target, trouble=client.reason)
        try:
            async with asyncio.timeout(patience.total_seconds()):
                return await _look(client, application, manifests[target])
        except TimeoutError:
            return ObservedCommits(
                target, trouble=f"no answer within {patience.total_seconds():g} s"
            )
        except errors.VolaryError as error:
            return ObservedCommits(target, trouble=str(error))

    return await fan_out.run_all(manifests, look)


async def _look(
    client: clients.Client,
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
) -> ObservedCommits:
    wanted = workloads.find(manifests, application.workloads) or list(manifests)
    placement = await resource_mapping.map_manifests(client, wanted)
    bodies = (await live_objects.read(client, placement.mapped)).values()
    commits = frozenset(commit for body in bodies if (commit := tracking.commit_of(body)))
    return ObservedCommits(
        client.name, commits, any(not tracking.commit_of(body) for body in bodies)
    )


def with_known_exceptions(
    running: RunningCommits, seen: Sequence[ObservedCommits], kept: Mapping[str, str]
) -> RunningCommits:
    """Add what single clusters are known to have kept, where their workloads say the same."""
    said = {observation.target: observation.commits for observation in seen}
    others = {
        name: commit
        for name, commit in kept.items()
        if commit != running.commit and said.get(name) == frozenset({commit})
    }
    if not others:
        return running
    told = [
        f"{commit[:7]} on {', '.join(_of(others, commit))}"
        for commit in dict.fromkeys(others.values())
    ]
    return replace(running, reason=f"{running.reason}; but {'; '.join(told)}", others=others)


def _of(others: Mapping[str, str], commit: str) -> list[str]:
    return [name for name, other_commit in others.items() if other_commit == commit]


def decide(seen: Sequence[ObservedCommits], *, remembered: str) -> RunningCommits:
    """Say which commit runs, from what is remembered and what the clusters say.

    What is remembered counts unless no cluster has the application any more. Clusters
    that have none of its workloads, or cannot be reached, do not disagree.

    Raises:
        errors.UserError: The clusters disagree; says what to pass.
    """
    commits = sorted({commit for observation in seen for commit in observation.commits})
    present = [
        observation.target for observation in seen if observation.commits or observation.unmarked
    ]
    silent = all(observation.trouble for observation in seen)
    if remembered and (present or silent):
        return RunningCommits(remembered, "the last commit that succeeded from here")
    if not commits:
        unmarked = [observation.target for observation in seen if observation.unmarked]
        verb = "runs" if len(unmarked) == 1 else "run"
        note = f"; {', '.join(unmarked)} {verb} it without Volary so far" if unmarked else ""
        return RunningCommits("", f"no cluster says which commit it runs{note}")
    if len(commits) == 1:
        verb = "runs" if len(present) == 1 else "run"
        return RunningCommits(commits[0], f"{', '.join(present)} {verb} it")
    lines = [
        f"{observation.target}: {', '.join(sorted(commit[:12] for commit in observation.commits))}"
        for observation in seen
        if observation.commits
    ]
    raise errors.UserError(
        errors.Problem(
            f"the clusters do not agree on the commit that runs ({'; '.join(lines)})",
            hint=f"pass the commit to compare with and to go back to: --running COMMIT"
            f" (or --running {NONE} for a first deployment)",
        )
    )
