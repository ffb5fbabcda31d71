"""``ANALYSIS``: the new version is measured for a while and judged (PipeCD).

Each cluster carries it out; what decides, a cluster's own numbers or those of all clusters, is
each metric's `scope`. A process that comes back goes on in the middle: when the analysis began
is remembered, and what was measured before is read again.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from volary.analysis.verdicts import rule_verdicts
from volary.model import analysis, phrases
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.judgement import analysis_runs, cluster_judges
from volary.stages.runtime import contexts, execution, stage_runners

_STARTED, _ERROR = "started", analysis.Reading.ERROR


async def run(work: execution.Work, options: waiting_stages.AnalysisOptions) -> str:
    """Carry out the stage."""
    context = work.context
    if context.target in options.without_canary:
        return "no canary here: nothing is measured on this cluster"
    now = context.clock.now()
    period = await _frame(work, options, now)
    judge = await cluster_judges.open_judge(context, period, options)
    judge.restore(await context.task_state.found())
    analysis_run = analysis_runs.AnalysisRun(judge, context.clock)
    analysis_run.on_verdict = lambda _: _progress(context, analysis_run)
    context.progress(f"measuring {_names(judge.rules)} for {phrases.duration(options.duration)}")
    failed = await work.unless_stopped(analysis_run.follow())
    return await _conclude(work, analysis_run, failed)


async def _frame(
    work: execution.Work, options: waiting_stages.AnalysisOptions, now: datetime
) -> cluster_judges.AnalysisPeriod:
    """Return when the analysis takes place; the same after a restart."""
    task_state = work.context.task_state
    remembered = (await task_state.load()).get(_STARTED)
    if isinstance(remembered, str):
        # By a clock that was set back, or another one, it may be later than now.
        started = min(datetime.fromisoformat(remembered), now.astimezone(UTC))
        work.context.log(f"going on with the analysis that began at {started:%H:%M:%S} UTC")
    else:
        started = now.astimezone(UTC)
    if started.isoformat() != remembered:
        await task_state.save({_STARTED: started.isoformat()})
    ends = started + options.duration
    limit = now + work.remaining
    if ends > limit:
        raise execution.StageFailedError(
            f"an analysis of {phrases.duration(options.duration)} does not fit"
            " into what is left of the stage"
        )
    return cluster_judges.AnalysisPeriod(started, ends, min(ends + options.hold_for, limit))


def _progress(context: contexts.StageContext, analysis_run: analysis_runs.AnalysisRun) -> None:
    """Say how it stands: the verdict that decides so far."""
    worst = analysis_run.score or rule_verdicts.worst(list(analysis_run.verdicts.values()))
    if worst is None:
        return
    left = max(analysis_run.judge.period.ends - context.clock.now(), timedelta(0))
    whole = timedelta(seconds=round(left.total_seconds()))
    rest = f"{phrases.duration(whole)} left" if left else "waiting for data"
    context.progress(f"{worst.sentence}; {rest}")


async def _conclude(
    work: execution.Work, analysis_run: analysis_runs.AnalysisRun, failed: analysis.Verdict | None
) -> str:
    """Return the sentence of a success.

    Raises:
        StageFailedError: A rule failed, or nobody can say that it passed.
    """
    verdicts = list(analysis_run.verdicts.values())
    judge = analysis_run.judge
    for rule_verdict in verdicts:
        note(work, rule_verdict, was_refused=judge.readings(rule_verdict.metric) == {_ERROR})
    for remark in judge.remarks:
        work.note(remark)
    score = analysis_run.score
    if score is not None:
        note(work, score)
    undecided = (
        verdict
        for verdict in ([score] if score is not None else verdicts)
        if verdict.result is not analysis.Result.PASS and not verdict.dry_run
    )
    failed = failed or next(undecided, None)
    if failed is not None:
        raise _failure(failed, judge.rules)
    name = cluster_judges.state_name(work.context)
    started = judge.period.started
    await work.context.task_state.keep(name, {_STARTED: started.isoformat()})
    if score is not None:
        return score.sentence
    seen = [rule for rule in judge.rules if analysis.Reading.VALUES in judge.readings(rule.name)]
    unseen = [rule for rule in judge.rules if rule not in seen]
    looks = sum(verdict.numbers.looks for verdict in verdicts)
    parts = [f"All analyses were successful: {_names(seen)}, {looks} looks"] if seen else []
    parts += [f"nothing was measured of {_names(unseen)}"] if unseen else []
    return "; ".join(parts)


def _failure(
    failed: analysis.Verdict, rules: Iterable[analysis.Rule]
) -> execution.StageFailedError:
    """Return what fails the stage: a verdict over all clusters is not one cluster's failure."""
    deciders = (rule.decider for rule in rules if rule.name == failed.metric)
    pooled = not failed.target or next(deciders, None) is analysis.Decider.POOLED
    return (execution.RefusedError if pooled else execution.StageFailedError)(failed.sentence)


def note(work: execution.Work, verdict: analysis.Verdict, *, was_refused: bool = False) -> None:
    """Remember a verdict for the outcome; one that nobody answered for is to be looked at."""
    suffix = " (dry run, decides nothing)" if verdict.dry_run else ""
    line = f"{verdict.result.value}: {verdict.sentence}{suffix}"
    if verdict.result is analysis.Result.PASS and not was_refused:
        work.note(line)
    else:
        work.caution(line)


def _names(rules: Iterable[analysis.Rule]) -> str:
    return ", ".join(rule.name for rule in rules)


RUNNER = stage_runners.StageRunner(kind=waiting_stages.ANALYSIS, run=run)
