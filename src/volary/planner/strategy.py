"""Chooses between quick sync and pipeline, in PipeCD's order (PipeCD: 5.3)."""

import json
import re
from collections.abc import Mapping

from volary.model import applications, errors
from volary.model.runs import run_plans
from volary.planner import comparison
from volary.planner.comparison import Decision, Manifests

#: A commit subject is somebody else's text; expressions look at this much of it.
_SUBJECT_LENGTH = 500


def decide(
    app: applications.Application,
    *,
    running: Mapping[str, Manifests | None],
    target: Mapping[str, Manifests],
    subject: str = "",
    forced: run_plans.Strategy | None = None,
) -> Decision:
    """Return the strategy with the sentence that says why; the first rule that applies wins.

    Args:
        app: The application at the new commit.
        running: Manifests of the last successful commit by target name; None, or no
            entry, where nothing was deployed yet.
        target: Manifests of the new commit by target name, in the order to look at them.
        subject: The commit message; only its first line counts.
        forced: What the user asked for.

    Raises:
        UserError: The pipeline was asked for and there is none.
    """
    if forced is not None:
        return _forced(app, forced)
    if not app.pipeline:
        return _quick("Quick sync due to the pipeline was not configured")
    if app.planner.always_use_pipeline:
        return _pipeline("Sync with the specified pipeline (alwaysUsePipeline was set)")
    matched = _matched(app.commit_matcher, subject)
    if matched is not None:
        return matched
    if all(running.get(name) is None for name in target):
        return _quick("Quick sync, it seems this is the first deployment of the application")
    return _compared(app, running, target)


def _forced(app: applications.Application, forced: run_plans.Strategy) -> Decision:
    if forced is run_plans.Strategy.QUICK_SYNC:
        return _quick("Quick sync because it was asked for")
    if not app.pipeline:
        raise errors.user_error(
            f"the pipeline was asked for, but {app.name} has none",
            hint="add pipeline.stages to the application file, or run a quick sync",
        )
    return _pipeline("Sync with the specified pipeline because it was asked for")


def _matched(matcher: applications.CommitMatcher, message: str) -> Decision | None:
    subject = message.split("\n", 1)[0][:_SUBJECT_LENGTH]
    if _matches(matcher.pipeline, subject):
        quoted = _quote(matcher.pipeline)
        return _pipeline(f"Sync progressively because the commit message was matching {quoted}")
    if _matches(matcher.quick_sync, subject):
        quoted = _quote(matcher.quick_sync)
        return _quick(f"Quick sync because the commit message was matching {quoted}")
    return None


def _matches(pattern: str, subject: str) -> bool:
    """An invalid expression never matches (PipeCD); `config` has warned about it."""
    try:
        return bool(pattern) and re.search(pattern, subject) is not None
    except re.error:
        return False


def _quote(pattern: str) -> str:
    return json.dumps(pattern, ensure_ascii=False)


def _compared(
    app: applications.Application,
    running: Mapping[str, Manifests | None],
    target: Mapping[str, Manifests],
) -> Decision:
    """Compare cluster by cluster; the first that needs the pipeline decides for all.

    A cluster without running manifests is new and needs nothing of its own. Clusters
    that share their manifests are compared once. PipeCD forgets which cluster scales
    when there are several; here the first particular reason is kept.
    """
    chosen: Decision | None = None
    seen: set[tuple[int, int]] = set()
    for name, new in target.items():
        old = running.get(name)
        if old is None or (id(old), id(new)) in seen:
            continue
        seen.add((id(old), id(new)))
        decision = comparison.compare(old, new, app.workloads)
        if decision.strategy is run_plans.Strategy.PIPELINE:
            return decision
        if chosen is None or chosen.summary == comparison.NOTHING_SPECIAL:
            chosen = decision
    return chosen or _quick(comparison.NOTHING_SPECIAL)


def _quick(summary: str) -> Decision:
    return Decision(run_plans.Strategy.QUICK_SYNC, summary)


def _pipeline(summary: str) -> Decision:
    return Decision(run_plans.Strategy.PIPELINE, summary)
