"""The stages of a pipeline as they are listed; `stage_sections` has what stands under `with`."""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from volary.config.decoding import base_sections, readings
from volary.config.text import yaml
from volary.model import options
from volary.model.pipeline import pipelines


class StageEntry(base_sections.Section):
    """One step of the pipeline."""

    misplaced: ClassVar[Mapping[str, str]] = {"id": "stages are known by their position"}

    name: base_sections.Text = Field(
        description="Name of the stage; `K8S_MULTI_*` means the same as `K8S_*`."
    )
    desc: str = options.option("Shown beside the stage.", "")
    timeout: timedelta = options.option(
        "Limit of the stage, on all clusters of its wave together.", timedelta(hours=6)
    )
    with_: dict[str, object] = options.option("Options of the stage.", {}, key="with")
    skip_on: pipelines.SkipOn = options.option(
        "Commits for which the stage is left out.", pipelines.SkipOn()
    )
    analysis: dict[str, object] | None = options.option(
        "Metrics and requests that are measured while the stage is carried out; a failed verdict "
        "stops the stage and fails it. As in `ANALYSIS`, without `duration`.",
        None,
    )


class Pipeline(base_sections.Section):
    """Steps that are taken one after another, each on all targets in parallel."""

    stages: list[StageEntry] = options.option("The stages in order; empty: no pipeline.", [])


def check_duration(reading: readings.Reading, read: timedelta, path: yaml.Path) -> None:
    """Note a duration of nothing, and numbers, which are nanoseconds in PipeCD."""
    written = reading.written(path)
    if isinstance(written, int | float) and 0 < written < 1_000_000_000:
        message = f"{written} means {written} nanoseconds"
        reading.lenient(path, message, f"write a unit: {written}s")
    elif read <= timedelta(0):
        reading.error(path, "must be more than 0")
