"""A stage is added by two things: its descriptor with its options, and its runner."""

import sys
from dataclasses import dataclass
from typing import Annotated

import pytest

from stage_world import NEW, OLD, shop, world
from volary.config.application import application_files
from volary.config.generated import reference_pages, schemas
from volary.model import applications, options
from volary.model.pipeline.stage_kinds import catalog, stage_kind
from volary.model.runs import run_plans
from volary.planner import plans
from volary.stages import kinds
from volary.stages.runtime import execution, stage_runners

FILE = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  pipeline:
    stages:
      - name: K8S_MULTI_GREET
        with: {guests: 3, multiTargets: [us]}
"""


# First: the descriptor.
@dataclass(frozen=True, slots=True)
class GreetOptions(stage_kind.StageOptions):
    greeting: Annotated[options.Text, options.Option("What is said.")] = "hello"
    guests: Annotated[int, options.Option("To how many.", least=1)] = 1


GREET = stage_kind.StageKind(
    name="K8S_GREET",
    runner="greet",
    options=GreetOptions,
    description="Greet the guests",
    reference="Greet whoever is there.",
    changes_cluster=False,
    is_skippable=True,
)


# Second: the runner.
async def run(work: execution.Work, options: GreetOptions) -> str:
    await work.load(work.context.target_source)
    return f"{options.greeting} to {options.guests} at {work.context.target}"


RUNNER = stage_runners.StageRunner(kind=GREET, run=run)


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if both stood in files of their packages."""
    monkeypatch.setitem(catalog.KINDS, GREET.name, GREET)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, f"{kinds.__name__}.{GREET.runner}", sys.modules[__name__])


def application(text: str = FILE) -> applications.Application:
    return application_files.parse(text, file="volary.yaml", default_name="shop").require()


def test_it_is_read() -> None:
    (stage,) = application().pipeline

    assert stage.kind is GREET
    assert stage.options == GreetOptions(guests=3)
    assert stage.targets == ("us",)


def test_its_options_are_checked() -> None:
    found = application_files.parse(
        FILE.replace("guests: 3", "guests: 0, gests: 1"), file="volary.yaml", default_name="shop"
    )

    assert [(problem.message, problem.hint) for problem in found.problems] == [
        ("unknown field gests", "did you mean guests?"),
        ("must be 1 or more, not 0", ""),
    ]


def test_it_is_planned() -> None:
    plan = plans.make(
        application(),
        running={"us": shop("shop:v1")},
        target={"us": shop("shop:v2")},
        forced=run_plans.Strategy.PIPELINE,
    )

    assert [(stage.name, stage.description, stage.targets) for stage in plan.stages] == [
        ("K8S_GREET", "Greet the guests", ("us",))
    ]


async def test_it_runs_on_a_cluster() -> None:
    async with world("us") as given:
        await given.deployed()

        outcomes = await given.run(GREET.name, GreetOptions(guests=3), commit=NEW, running=OLD)

        assert outcomes["us"].status == "succeeded", outcomes["us"]
        assert outcomes["us"].reason == "hello to 3 at us"


def test_it_is_documented() -> None:
    page = reference_pages.application_page()
    schema = schemas.application_schema()["$defs"]

    assert "### K8S_GREET\n\nGreet whoever is there.\n" in page
    assert "| `guests` | number | `1` | To how many. |" in page
    assert "K8S_MULTI_GREET" in schema["StageEntry"]["properties"]["name"]["enum"]
    assert schema["Greet"]["properties"]["guests"]["minimum"] == 1
