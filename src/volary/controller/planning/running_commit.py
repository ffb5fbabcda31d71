"""Which commit runs at the moment: passed by the user, or said by the clusters.

Each cluster's inventory says which commit was rolled out there completely; where there is none yet,
the annotations of the live workloads do. What a process remembers counts only for clusters that
cannot be asked, and where clusters differ to say which of them are the exceptions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from volary.clusters.api import api_errors
from volary.clusters.apply import live_objects
from volary.clusters.client import client_pool, clients, resource_mapping
from volary.concurrency import fan_out
from volary.controller.planning import cluster_questions, recognition
from volary.manifests.ownership import tracking
from volary.manifests.workloads import workloads
from volary.model import applications, errors, json
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
    #: What single clusters run instead, since a release did not reach all of them; empty: what
    #: was there before the application, and to that they go back.
    others: Mapping[str, str] = field(default_factory=dict)

    def of(self, target: str) -> str:
        """Return what a cluster runs, or would, as a new one; empty: none of ours yet."""
        return self.others.get(target, self.commit)


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

    @property
    def is_before_us(self) -> bool:
        """Whether what runs, or is kept to go back to, is not of the application's making."""
        return not self.commits and (self.unmarked or bool(self.unfinished))


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
    live = await live_objects.read(client, placement.mapped)
    # What others made may be without the labels that it was listed by.
    missing = [mapped for mapped in placement.mapped if mapped.key not in live]
    asked = await fan_out.attempt_all(missing, lambda one: live_objects.get(client, one))
    for body in (*live.values(), *_readable(asked)):
        whose = tracking.owner_of(body)
        commit = tracking.commit_of(body) if whose in (None, owner) else ""
        commits |= {commit} - {""}
        unmarked = unmarked or not commit
    return ObservedCommits(client.name, frozenset(commits), unmarked)


def _readable(
    answers: Sequence[json.JsonObject | errors.VolaryError | None],
) -> Iterator[json.JsonObject]:
    for answer in answers:
        if isinstance(answer, errors.VolaryError):
            if not isinstance(answer, api_errors.Forbidden):
                raise answer
        elif answer is not None:
            yield answer


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
    before_us = {observation.target: "" for observation in seen if observation.is_before_us}
    silent = [observation.target for observation in seen if observation.trouble]
    if not commits:
        if remembered and silent:
            reason = "the last commit that succeeded from here; no cluster says which it runs"
            others = {name: exceptions[name] for name in silent if name in exceptions}
            reason = f"{reason}{_but(others)}{_without_us(seen)}"
            return RunningCommits(remembered, reason, {**others, **before_us})
        return RunningCommits("", f"no cluster says which commit it runs{_without_us(seen)}")
    is_clear = all(len(one) == 1 for one in said.values())
    if len(commits) > 1 and not (is_clear and remembered in commits):
        raise _disagreement(said)
    commit = remembered if len(commits) > 1 else commits[0]
    others = {name: one for name, (one,) in said.items() if one != commit}
    others |= {name: exceptions[name] for name in silent if exceptions.get(name, commit) != commit}
    agreeing = [name for name, (one,) in said.items() if one == commit]
    verb = "runs" if len(agreeing) == 1 else "run"
    reason = f"{', '.join(agreeing)} {verb} it{_but(others)}{_without_us(seen)}"
    return RunningCommits(commit, reason, {**others, **before_us})


def _but(others: Mapping[str, str]) -> str:
    exceptions = [
        f"{other[:7]} on {', '.join(name for name, one in others.items() if one == other)}"
        for other in dict.fromkeys(others.values())
    ]
    return f"; but {'; '.join(exceptions)}" if exceptions else ""


def _without_us(seen: Sequence[ObservedCommits]) -> str:
    before_us = [observation for observation in seen if observation.is_before_us]
    unmarked = [observation.target for observation in before_us if observation.unmarked]
    verb = "runs" if len(unmarked) == 1 else "run"
    said = f"; {', '.join(unmarked)} {verb} what was there before Volary" if unmarked else ""
    unfinished = [observation for observation in before_us if observation.unfinished]
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
