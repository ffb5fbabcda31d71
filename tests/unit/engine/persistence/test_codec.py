"""The form in which a run is stored."""

import json
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from volary.engine.persistence import codec, transitions
from volary.model import analysis, errors
from volary.model import json as documents
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.model.runs import run_records

CASES = Path(__file__).parents[3] / "cases" / "codec"


@pytest.fixture
def first_stored() -> run_records.StoredRun:
    return msgspec.json.decode((CASES / "stored.json").read_bytes(), type=run_records.StoredRun)


def test_a_stored_run_is_read(first_stored: run_records.StoredRun) -> None:
    expected = (CASES / "run.txt").read_text()
    assert described(codec.read_run(first_stored)) + "\n" == expected


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
    run = codec.read_run(first_stored)
    again = transitions.first_transition(run, first_stored.origin, first_stored.head.created)
    written = json.loads(msgspec.json.encode(again))
    before = json.loads(msgspec.json.encode(first_stored))
    pieces = ("head", "document", "stages", "tasks")

    assert [name for name in pieces if written[name] != before[name]] == []


def test_what_is_not_known_is_ignored(first_stored: run_records.StoredRun) -> None:
    """A newer version wrote more than we know."""

    def grown(value: object) -> object:
        if isinstance(value, list):
            return [grown(each) for each in value]
        if isinstance(value, dict) and value and value.keys() != {"canary"}:  # not of mappings
            return {key: grown(each) for key, each in value.items()} | {"newer": {"a": [1]}}
        return value

    plain = json.loads(msgspec.json.encode(first_stored))
    for piece in (plain, *plain["stages"], *plain["tasks"]):
        piece["document"] = grown(piece["document"])
    newer = documents.convert(plain, run_records.StoredRun)

    assert codec.read_run(newer) == codec.read_run(first_stored)


def test_a_newer_format_is_refused(first_stored: run_records.StoredRun) -> None:
    newer = replace(first_stored, document=first_stored.document | {"schema": codec.SCHEMA + 1})
    with pytest.raises(errors.PermanentError, match=r"run-1 was stored by a newer version"):
        codec.read_run(newer)


@pytest.mark.parametrize(
    "change",
    [
        {"clusters": 7},
        {"policy": {"timeout": "soon"}},
        {"deadline": "yesterday"},
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
    written = transitions.first_transition(changed, {}, run.created).stages
    plain = msgspec.json.decode(
        msgspec.json.encode(written), type=tuple[run_records.StageRecord, ...]
    )
    found = codec.read_run(replace(first_stored, stages=plain))

    assert found.stages[0].stage.options == options
    assert found.stages[1].stage.beside == options
