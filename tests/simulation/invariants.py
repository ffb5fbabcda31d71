"""What has to hold once a simulated world is quiet; `witnesses` has what holds at every step."""

from collections.abc import Sequence

from simulation import world
from volary.engine.runs import state
from volary.model import statuses

#: It is not known what a cluster has: a run left it as it was.
_UNKNOWN = "?"
_SUCCEEDED = (statuses.RunStatus.SUCCEEDED, statuses.RunStatus.SUCCEEDED_WITH_EXCEPTIONS)


async def check(given: world.World) -> None:
    """Say what does not hold."""
    given.check()
    runs = await given.runs()
    assert all(run.is_final for run in runs)
    for name in given.applications:
        of_application = [run for run in runs if run.application == name]
        _check_clusters(given, name, of_application)
        await _check_synced(given, name)
    _check_notices(given)
    _check_cancels(given, runs)
    _check_approvals(given, runs)
    _check_requests(given, runs)


def _check_clusters(given: world.World, name: str, runs: Sequence[state.Run]) -> None:
    """The clusters have what the store says that they have."""
    expected = dict.fromkeys(given.members, "")
    for run in runs:
        for cluster in run.clusters:
            if (commit := _left_behind(run, cluster)) is not None:
                expected[cluster.name] = commit
    for cluster, commit in expected.items():
        if commit == _UNKNOWN:
            continue
        said = given.members[cluster].versions(name)
        version = {given.version_of(commit)} if commit else set()
        what = [(run.id, str(run.status), run.reason) for run in runs]
        assert said == version, f"{cluster} has {said} of {name}, not {version}: {what}"


def _left_behind(run: state.Run, cluster: state.ClusterState) -> str | None:
    """Return the commit that a cluster has after a run; None: the one it had before."""
    task = run.rollback.task(cluster.name) if run.rollback else None
    went_back = task is not None and task.status in (
        statuses.TaskStatus.SUCCEEDED,
        statuses.TaskStatus.ROLLED_BACK,
    )
    if run.status in _SUCCEEDED and not cluster.left_out:
        # One that only rolls another back brings nothing itself.
        return run.running_commit_of(cluster.name) if run.rollback_of else run.commit
    if run.status is statuses.RunStatus.ROLLED_BACK or went_back:
        return run.running_commit_of(cluster.name) if cluster.touched else None
    return _UNKNOWN if cluster.touched else None


async def _check_synced(given: world.World, name: str) -> None:
    """What is said to be as Git has it is."""
    known = await given.store.applications.get(name)
    if known is not None and known.status == "synced":
        # Who joined again gets what it missed with the next release, or from the backfill.
        said = {
            cluster: member.versions(name)
            for cluster, member in given.members.items()
            if cluster not in given.left
        }
        head = {given.version_of(given.feed.head)}
        assert all(versions == head for versions in said.values()), f"{name} is synced with {said}"


def _check_notices(given: world.World) -> None:
    """People have heard of everything that they are to hear of."""
    wanted = {name for run in given.witness.runs.values() for name in run.messages}
    missing = sorted(wanted - given.chat.delivered.keys())
    assert not missing, f"nobody was notified: {missing}"


def _check_cancels(given: world.World, runs: Sequence[state.Run]) -> None:
    """A run that was cancelled has not gone on to its end."""
    cancelled = {
        request.run_id
        for request in given.witness.requests.values()
        if request.kind == "cancel" and given.witness.answers.get(request.id) == ""
    }
    for run in runs:
        # One that only rolls another back has no other way to go.
        if run.id in cancelled and not run.rollback_of:
            assert run.status not in _SUCCEEDED, f"run {run.id} was cancelled, and is {run.status}"


def _check_approvals(given: world.World, runs: Sequence[state.Run]) -> None:
    """Each yes that was taken is still there."""
    told = {
        approval.comment
        for run in runs
        for stage in run.all_stages
        for group in stage.groups
        for approval in group.approvals
    }
    for name, refusal in given.witness.answers.items():
        request = given.witness.requests[name]
        if request.kind == "approve" and not refusal:
            assert request.document["comment"] in told, f"{request} is forgotten"


def _check_requests(given: world.World, runs: Sequence[state.Run]) -> None:
    """Each yes counted once, none that was refused, and each that was taken."""
    told: list[str] = []
    # One that takes another back has that one's stages, with what was said there.
    for run in (run for run in runs if not run.rollback_of):
        for stage in run.all_stages:
            for group in stage.groups:
                for approval in group.approvals:
                    told.append(approval.comment)
                    seen = given.people.asked[approval.comment]
                    assert seen == stage.id, (
                        f"{approval.comment} was said to {seen}, not {stage.id}"
                    )
    assert len(told) == len(set(told)), f"one yes counted twice: {sorted(told)}"
    assert not set(told) & given.people.refused, "a yes that was refused is counted"
    for name, refusal in given.witness.answers.items():
        request = given.witness.requests[name]
        if request.kind == "approve":
            is_counted = request.document["comment"] in told
            assert is_counted == (not refusal), f"{request} was answered {refusal!r}"
