"""The context of a stage without any cluster, for what needs none."""

import asyncio
import os
import types
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from volary.clusters.client import clients
from volary.engine import executor
from volary.engine.runs import state
from volary.model import applications, json
from volary.model.objects import manifest
from volary.model.pipeline import pipelines
from volary.model.pipeline.stage_kinds import waiting_stages
from volary.stages.runtime import contexts, execution

#: Of runs in tests. Scripts are told apart by it on the whole machine, also from those of another
#: run of the tests that goes on beside this one.
RUN_ID = f"run-{os.getpid()}"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
_CONTEXT = {field.name for field in fields(contexts.StageContext)}
_OF_TASK = {field.name for field in fields(executor.TaskContext)} - _CONTEXT


class LoopClock:
    """The time of the event loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time())


@dataclass
class Report:
    """Keeps what a task said, warnings by themselves."""

    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    progress_said: list[state.Progress] = field(default_factory=list)
    findings: list[tuple[str, str, json.JsonObject]] = field(default_factory=list)
    taken: list[tuple[str, str]] = field(default_factory=list)

    def log(self, line: str, *, level: executor.LogLevel = executor.LogLevel.INFO) -> None:
        (self.warnings if level is executor.LogLevel.WARNING else self.lines).append(line)

    def progress(self, progress: state.Progress) -> None:
        self.progress_said.append(progress)

    def found(self, kind: str, metric: str, document: json.JsonObject) -> None:
        self.findings.append((kind, metric, document))

    def took_over(self, title: str, claimant: str) -> None:
        self.taken.append((title, claimant))


async def no_manifests() -> list[manifest.Manifest]:
    return []


def context(**given: Any) -> contexts.StageContext:
    """A stage of the application shop on the cluster us; its client only knows a namespace.

    What is given is of the context or of its task.
    """
    client = types.SimpleNamespace(namespace="default", name="us")
    wait = pipelines.Stage(
        waiting_stages.WAIT.name, waiting_stages.WaitOptions(timedelta(seconds=1))
    )
    target = given.pop("target", "us")
    of_task: dict[str, Any] = {
        "run_id": RUN_ID,
        "application": "shop",
        "commit": "new",
        "running_commit": "",
        "stage_id": "1-WAIT",
        "stage": wait,
        "target": target,
        "attempt": 1,
        "deadline": START + timedelta(hours=6),
        **{name: given.pop(name) for name in _OF_TASK & given.keys()},
    }
    known: dict[str, Any] = {
        "application": applications.Application(name="shop"),
        "target": target,
        "client": cast("clients.Client", client),
        "target_source": no_manifests,
        "report": Report(),
        "clock": LoopClock(),
        "task": executor.TaskContext(**of_task),
    }
    return contexts.StageContext(**{**known, **given})


def work(seconds: float = 100, **given: Any) -> execution.Work:
    """A stage on its way that may take some seconds; what is given is of its context."""
    return execution.Work(context(**given), asyncio.get_running_loop().time() + seconds)


def said(made: execution.Work) -> Report:
    """What a stage on its way has said until now."""
    return cast("Report", made.context.report)
