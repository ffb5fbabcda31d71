from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.model.runs import run_plans
from volary.planner import plans


def skip(changed: list[str] | None, subject: str = "Fix it", **options: tuple[str, ...]) -> str:
    return plans.reason_to_skip(pipelines.SkipOn(**options), subject=subject, changed=changed)


def test_a_stage_is_skipped_when_all_changes_are_among_the_paths() -> None:
    """PipeCD: 10.5."""
    assert skip(["dir1/f.yaml", "dir1/s/t/f.yaml"], paths=("dir1/**/*.yaml",))
    assert not skip(["file1", "file3"], paths=("file1", "file2"))


def test_nothing_changed_skips_where_there_are_paths_only() -> None:
    assert skip([], paths=("docs",))
    assert not skip([])


def test_a_first_deployment_is_never_skipped_by_paths() -> None:
    assert not skip(None, paths=("docs",))


def test_prefixes_of_the_commit_message_skip() -> None:
    assert "[skip]" in skip(["a"], "[skip] Fix it", commit_message_prefixes=("[skip]",))
    assert not skip(["a"], "Fix [skip]", commit_message_prefixes=("[skip]",))


def test_a_plan_loses_the_stages_that_are_skipped_and_says_why() -> None:
    docs = pipelines.SkipOn(paths=("docs",))
    wait = pipelines.Stage(
        rollout_stages.CANARY_CLEAN.name, stage_kind.NoOptions(), 0, skip_on=docs
    )
    kept = pipelines.Stage(rollout_stages.BASELINE_CLEAN.name, stage_kind.NoOptions(), 1)
    made = run_plans.Plan(run_plans.Strategy.PIPELINE, "", (wait, kept), ("us",))

    skipped = plans.skip_stages(made, subject="Fix it", changed=["docs/a.md"])

    assert skipped.stages == (kept,)
    assert [(each.name, each.index) for each in skipped.skipped] == [(wait.name, 0)]
    assert "among the paths" in skipped.skipped[0].reason
