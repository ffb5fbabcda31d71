"""Which commit runs at the moment: passed by the user, or said by the clusters.

Each cluster's inventory says which commit was rolled out there completely; where there is none yet,
the annotations of the live workloads do. What a process remembers counts only for clusters that
cannot be asked, and where clusters differ to say which of them are the exceptions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from volary.clusters.apply import live_objects
from volary.clusters.client import client_pool, clients, resource_mapping
from volary.controller.planning import cluster_questions, recognition
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import applications, errors
from volary.model.objects import manifest, ownership

#: What a user passes to say that nothing was deployed before.
NONE = "none"


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
    #: A workload of the application exists that does not say its commit, or is another's.
    unmarked: bool = False
    #: What the first run there began with: it has adopted objects and has not succeeded.
    unfinished: str = ""
    #: Why nothing could be read; empty: it could.
    trouble: str = ""


async def observe(
    questions: cluster_questions.ClusterQuestions,
    application: applications.Application,
    manifests: Mapping[str, Sequence[manifest.Manifest]],
    recognised: Mapping[str, recognition.Recognised],
) -> list[ObservedCommits]:
    """Find out what runs in every target at once.

    A cluster whose inventory does not say it is asked for the live counterparts of the
    application's workloads. Where a first run has not succeeded, though, they are of that run's
    making, and what ran before is what was kept of the objects that it adopted.
    """
    said = {
        target: (
            ObservedCommits(target, frozenset({known.stored.commit}))
            if known.stored.commit
            else ObservedCommits(target, unfinished=known.stored.begun)
        )
        for target, known in recognised.items()
        if known.stored is not None and (known.stored.commit or known.stored.has_snapshot)
    }

    async def look(client: clients.Client) -> ObservedCommits:
        target = client.name
        return await _look(client, application, manifests[target], recognised[target].owner)

    asked = (target for target in manifests if target not in said)
    for target, answer in (await questions.ask_all(asked, look)).items():
        if isinstance(answer, client_pool.Unavailable):
            said[target] = ObservedCommits(target, trouble=answer.reason)
        else:
            said[target] = answer
    return [said[target] for target in manifests]


async def _look(
    client: clients.Client,
    application: applications.Application,
    manifests: Sequence[manifest.Manifest],
    owner: ownership.Owner,
) -> ObservedCommits:
    wanted = workloads.find(manifests, application.workloads) or list(manifests)
    placement = await resource_mapping.map_manifests(client, wanted)
    commits: set[str] = set()
    unmarked = False
    for body in (await live_objects.read(client, placement.mapped)).values():
        whose = tracking.owner_of(body)
        commit = tracking.commit_of(body) if whose in (None, owner) else ""
        commits |= {commit} - {""}
        unmarked = unmarked or not commit
    return ObservedCommits(client.name, frozenset(commits), unmarked)


def decide(
    seen: Sequence[ObservedCommits], *, remembered: str, exceptions: Mapping[str, str]
) -> RunningCommits:
    """Say which commit runs, from what the clusters say.

    Args:
        seen: What every cluster says.
        remembered: The last commit that succeeded, as the caller remembers it; empty: none.
        exceptions: What single clusters run instead, likewise.

    Raises:
        errors.UserError: The clusters disagree, and none says what is remembered; says what to
            pass.
    """
    said = {observation.target: observation.commits for observation in seen if observation.commits}
    commits = sorted({commit for one in said.values() for commit in one})
    silent = [observation.target for observation in seen if observation.trouble]
    if not commits:
        if remembered and silent:
            return _with_others(
                remembered,
                "the last commit that succeeded from here; no cluster says which it runs",
                {name: exceptions[name] for name in silent if name in exceptions},
            )
        return RunningCommits("", f"no cluster says which commit it runs{_without_us(seen)}")
    is_clear = all(len(one) == 1 for one in said.values())
    if len(commits) > 1 and not (is_clear and remembered in commits):
        raise _disagreement(said)
    commit = remembered if len(commits) > 1 else commits[0]
    others = {name: one for name, (one,) in said.items() if one != commit}
    others |= {name: exceptions[name] for name in silent if exceptions.get(name, commit) != commit}
    agreeing = [name for name, (one,) in said.items() if one == commit]
    verb = "runs" if len(agreeing) == 1 else "run"
    return _with_others(commit, f"{', '.join(agreeing)} {verb} it", others)


def _with_others(commit: str, reason: str, others: Mapping[str, str]) -> RunningCommits:
    if not others:
        return RunningCommits(commit, reason)
    exceptions = [
        f"{other[:7]} on {', '.join(name for name, one in others.items() if one == other)}"
        for other in dict.fromkeys(others.values())
    ]
    return RunningCommits(commit, f"{reason}; but {'; '.join(exceptions)}", others)


def _without_us(seen: Sequence[ObservedCommits]) -> str:
    unmarked = [observation.target for observation in seen if observation.unmarked]
    verb = "runs" if len(unmarked) == 1 else "run"
    said = f"; {', '.join(unmarked)} {verb} it without Volary so far" if unmarked else ""
    unfinished = [observation for observation in seen if observation.unfinished]
    for begun in dict.fromkeys(observation.unfinished for observation in unfinished):
        where = ", ".join(one.target for one in unfinished if one.unfinished == begun)
        said += f"; the first release, of {begun[:7]}, has not succeeded on {where}"
    return said


def _disagreement(said: Mapping[str, frozenset[str]]) -> errors.UserError:
    lines = [
        f"{target}: {', '.join(sorted(commit[:12] for commit in commits))}"
        for target, commits in said.items()
    ]
    return errors.user_error(
        f"the clusters do not agree on the commit that runs ({'; '.join(lines)})",
        hint=f"pass the commit to compare with and to go back to: --running COMMIT"
        f" (or --running {NONE} for a first deployment)",
    )
