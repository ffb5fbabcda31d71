"""The stages of a pipeline."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from volary.model import options
from volary.model.pipeline.stage_kinds import catalog, stage_kind, waiting_stages


@dataclass(frozen=True, slots=True)
class SkipOn:
    """When a stage is left out of a run; any hit leaves it out."""

    commit_message_prefixes: tuple[options.Text, ...] = options.option(
        "Beginnings of the commit message.", ()
    )
    paths: tuple[options.Text, ...] = options.option(
        "Globs relative to the root of the repository: the stage is left out when "
        "every file that changed since the running commit matches. `!` in front takes out again.",
        (),
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the pipeline."""

    #: Of its kind.
    name: str
    options: stage_kind.StageOptions
    #: Position in the pipeline, counted from 0.
    index: int = 0
    description: str = ""
    timeout: timedelta = timedelta(hours=6)
    #: Clusters the stage is limited to; empty: all (PipeCD: ``multiTargets``).
    targets: tuple[str, ...] = ()
    skip_on: SkipOn = field(default_factory=SkipOn)
    #: The strategy whose clusters carry it out; empty: every cluster does.
    strategy: str = ""
    #: What is measured while the stage is carried out; a failed verdict stops and fails it.
    beside: waiting_stages.AnalysisOptions | None = None

    @property
    def kind(self) -> stage_kind.StageKind[Any]:
        """Everything that is known of a stage of this name."""
        return catalog.of(self.name)
