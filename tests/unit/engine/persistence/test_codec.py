"""What was stored once stays readable for ever."""

import json
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from volary.engine.persistence import codec, transitions
from volary.engine.runs import policies
from volary.engine.state_machine import commands, events
from volary.model import analysis, errors
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.model.runs import run_records

CASES = Path(__file__).parents[3] / "cases" / "codec"
FORMATS = sorted(path.name for path in CASES.iterdir())


def stored(name: str) -> run_records.StoredRun:
    text = (CASES / name / "stored.json").read_bytes()
    return msgspec.json.decode(text, type=run_records.StoredRun)


@pytest.fixture
def first_stored() -> run_records.StoredRun:
    return stored("schema-1")


def test_each_format_has_a_run_that_was_stored_in_it() -> None:
    assert [f"schema-{number}" for number in range(1, codec.SCHEMA + 1)] == FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_a_stored_run_is_read(name: str) -> None:
    """The case file is never written again: it is what a released version left behind."""
    run = codec.read_run(stored(name))

    expected = (CASES / name / "run.txt").read_text()
    assert described(run) + "\n" == expected


def described(value: object, indent: str = "") -> str:
    """Every field of a value, a line each; those with their default too."""
    if hasattr(value, "__dataclass_fields__"):
        lines = [f"{indent}{type(value).__name__}"]
        lines += [
            f"{indent}  {each.name}:\n{described(getattr(value, each.name), indent + '    ')}"
            for each in fields(value)  # type: ignore[arg-type]
        ]
        return "\n".join(lines)
    if isinstance(value, tuple):
        return "\n".join(described(each, indent) for each in value) or f"{indent}()"
    return f"{indent}{value!s}"


def test_a_stored_run_is_written_as_it_was(first_stored: run_records.StoredRun) -> None:
    """A field that was renamed, retyped or left out shows here; a new one may be added."""
    run = codec.read_run(first_stored)
    again = transitions.first_transition(run, first_stored.origin, first_stored.head.created)
    written = json.loads(msgspec.json.encode(again))
    before = json.loads(msgspec.json.encode(first_stored))
    written["commands"].sort(key=lambda each: each["key"])
    pieces = ("head", "document", "stages", "tasks", "commands")

    assert [name for name in pieces if not holds(written[name], before[name])] == []


def holds(after: object, before: object) -> bool:
    """Say whether everything of `before` is in `after`."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            key in after and holds(after[key], value) for key, value in before.items()
        )
    if isinstance(before, list):
        return (
            isinstance(after, list) and len(after) == len(before) and all(map(holds, after, before))
        )
    return after == before and type(after) is type(before)


def test_what_is_not_known_is_ignored(first_stored: run_records.StoredRun) -> None:
    """A newer version wrote more than we know."""

    def grown(value: object) -> object:
        if isinstance(value, list):
            return [grown(each) for each in value]
        if isinstance(value, dict) and value.keys() != {"canary"}:  # those are weights
            return {key: grown(each) for key, each in value.items()} | {"newer": {"a": [1]}}
        return value

    plain = json.loads(msgspec.json.encode(first_stored))
    for piece in (plain, *plain["stages"], *plain["tasks"]):
        piece["document"] = grown(piece["document"])
    newer = msgspec.convert(plain, run_records.StoredRun)

    assert codec.read_run(newer) == codec.read_run(first_stored)


def test_what_is_missing_has_its_default(first_stored: run_records.StoredRun) -> None:
    """An older version wrote less than we know."""
    document = {
        key: value
        for key, value in first_stored.document.items()
        if key in ("id", "application", "commit", "running_commit", "clusters")
    }
    tasks = tuple(
        replace(task, document={"target": task.target, "group": task.document["group"]})
        for task in first_stored.tasks
    )
    run = codec.read_run(replace(first_stored, document=document, tasks=tasks))

    assert run.policy == policies.Policy()
    assert {task.attempt for stage in run.stages for task in stage.tasks} == {0}


def test_a_newer_format_is_refused(first_stored: run_records.StoredRun) -> None:
    newer = replace(first_stored, document=first_stored.document | {"schema": codec.SCHEMA + 1})
    with pytest.raises(errors.PermanentError, match=r"run-1 was stored by a newer version"):
        codec.read_run(newer)


@pytest.mark.parametrize(
    "change",
    [
        {"clusters": 7},
        {"status": "melted"},
        {"policy": {"timeout": "soon"}},
        {"created": "yesterday"},
        {"schema": "x"},
    ],
)
def test_a_damaged_head_is_an_error_not_a_crash(
    first_stored: run_records.StoredRun, change: dict[str, object]
) -> None:
    with pytest.raises(errors.PermanentError):
        codec.read_run(replace(first_stored, document=first_stored.document | change))


def test_damaged_pieces_are_an_error_not_a_crash(first_stored: run_records.StoredRun) -> None:
    stage, task = first_stored.stages[0], first_stored.tasks[0]
    no_groups = replace(stage, document={"id": "x"})
    far_group = replace(task, document=task.document | {"group": 9})
    strange = stage.document | {"stage": {"name": "DANCE", "options": {}}}
    for damaged in (
        replace(first_stored, stages=(no_groups, *first_stored.stages[1:])),
        replace(first_stored, tasks=(far_group, *first_stored.tasks[1:])),
        replace(first_stored, stages=(replace(stage, document=strange), *first_stored.stages[1:])),
        replace(first_stored, stages=first_stored.stages[1:]),
        replace(first_stored, document={}),
    ):
        with pytest.raises(errors.PermanentError, match="stored"):
            codec.read_run(damaged)


def test_every_kind_of_event_and_command_can_be_stored() -> None:
    """A new kind has to be entered in the codec."""
    assert set(codec.EVENTS.values()) == set(get_args(events.Event))
    assert set(codec.COMMANDS.values()) == set(get_args(commands.Command))


@pytest.mark.parametrize("document", [{}, {"event": "Dance"}, {"event": 7}, {"event": "Start"}])
def test_an_unknown_event_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(errors.PermanentError, match="stored"):
        codec.read_event(document)


def test_an_analysis_comes_back_as_it_was(first_stored: run_records.StoredRun) -> None:
    """Rules, requests, and what is measured beside another stage; a restart judges by them."""
    rule = analysis.Rule(
        "errors",
        "prom",
        "q",
        total_query="t",
        kind=analysis.Kind.PROPORTION,
        interval=timedelta(seconds=90),
        strategy=analysis.Strategy.CANARY_BASELINE,
        ratio_limit=1.1,
        judgement=analysis.Judgement.SEQUENTIAL,
        no_data=analysis.NoData.FAIL,
        decider=analysis.Decider.BOTH,
        arguments={"job": "shop"},
    )
    bounds = replace(rule, name="up", expected=analysis.Range(200.0, 200.0))
    check = analysis.HttpCheck(bounds, "https://shop.example/", headers=(("a", "b"), ("a", "c")))
    options = waiting_stages.AnalysisOptions(timedelta(minutes=5), (rule,), (check,))
    run = codec.read_run(first_stored)
    first = replace(run.stages[0].stage, name=waiting_stages.ANALYSIS.name, options=options)
    beside = replace(run.stages[1].stage, beside=options)
    changed = replace(
        run,
        stages=(
            replace(run.stages[0], stage=first),
            replace(run.stages[1], stage=beside),
            *run.stages[2:],
        ),
    )
    stages_of = {each.id: codec.write_stage(each) for each in changed.stages}
    again = replace(
        first_stored,
        stages=tuple(
            replace(each, document=json.loads(msgspec.json.encode(stages_of[each.id])))
            for each in first_stored.stages
            if each.id in stages_of
        ),
    )

    found = codec.read_run(again)

    assert found.stages[0].stage.options == options
    assert found.stages[1].stage.beside == options
