"""``volary render``: exactly what a stage would apply to one target."""

from dataclasses import dataclass, replace

from volary.cli import console, exit_codes, renderings
from volary.cli.local import inputs
from volary.controller.planning import (
    opened_applications,
    preparation,
    recognition,
    replica_assignment,
)
from volary.manifests.loading import serialization
from volary.model import errors
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines
from volary.model.pipeline import variant as variants
from volary.model.pipeline.stage_kinds import rollout_stages, stage_kind
from volary.stages.rollouts import rendering

#: That of a context which names none.
_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is rendered of the application."""

    target: str
    #: Empty: that of the stage, else primary.
    variant: str = ""
    #: Position in the pipeline counted from 1; 0: none is named.
    stage: int = 0


async def run(request: preparation.RunOptions, choice: Choice, form: str) -> int:
    """Print the manifests and return the exit code.

    Args:
        request: The application; the baseline is made from what is `running`, where given.
        choice: What is rendered of it.
        form: Value of `serialization.Format`.
    """
    opened = await opened_applications.open_application(
        request.path, app=request.app, commit=request.commit
    )
    messages = console.messages()
    console.show_problems(messages, opened.warnings)
    members = None
    if request.fleet or request.contexts:
        members = opened_applications.load_fleet(request.fleet, request.contexts)
        console.show_problems(messages, opened_applications.check_fleet(opened, members))
        if choice.target not in members.names:
            raise errors.user_error(
                f"there is no cluster {choice.target} in the fleet",
                hint=f"there are: {', '.join(members.names)}",
            )
    numbers, pipeline = await _decided(opened, members)
    console.show_problems(messages, numbers.warnings)
    wanted, options = _variant_and_options(choice, pipeline)
    if isinstance(options, rollout_stages.VariantRolloutOptions):
        options = options.on(choice.target)
    files, commit = opened.files, opened.commit
    if wanted is variants.Variant.BASELINE and request.running:
        files = await opened_applications.at_commit(opened, request.running)
        if opened.repository is not None:
            commit = (await opened.repository.resolve(request.running)).id
    rendered = await renderings.open_renderer(opened).render(
        files,
        opened.application,
        directory=opened.directory,
        target=choice.target,
        members=members,
        assigned=numbers.now if members else None,
    )
    namespaces = recognition.namespaces_of(opened.application, rendered.manifests, _NAMESPACE)
    owner = recognition.new_owner(opened.application, namespaces)
    application = replace(opened.application, known_owner=owner)
    shown = rendering.of_variant(wanted, rendered.manifests, application, options, commit=commit)
    if not shown:
        messages.print(f"nothing is applied: {choice.target} has none of the fleet's share")
    console.write(serialization.dump(shown, serialization.Format(form)))
    return exit_codes.Exit.DONE


async def _decided(
    opened: opened_applications.OpenedApplication, members: fleets.Fleet | None
) -> tuple[replica_assignment.ReplicaNumbers, tuple[pipelines.Stage, ...]]:
    """Return who gets how many replicas, and the pipeline with its shares of the fleet."""
    if members is None:
        return replica_assignment.ReplicaNumbers(), opened.application.pipeline
    numbers = await inputs.decide_replicas(opened, members)
    return numbers, await inputs.pinned_pipeline(opened, members, numbers.now)


def _variant_and_options(
    choice: Choice, pipeline: tuple[pipelines.Stage, ...]
) -> tuple[variants.Variant, stage_kind.StageOptions | None]:
    """Return variant and options: of the stage that is named, else of the first that fits."""
    wanted = variants.Variant(choice.variant) if choice.variant else None
    if choice.stage:
        return _of_stage(choice.stage, wanted, pipeline)
    chosen = wanted or variants.Variant.PRIMARY
    for stage in pipeline:
        if stage.kind.applies is chosen:
            return chosen, stage.options
    return chosen, None


def _of_stage(
    number: int, wanted: variants.Variant | None, pipeline: tuple[pipelines.Stage, ...]
) -> tuple[variants.Variant, stage_kind.StageOptions]:
    if not 1 <= number <= len(pipeline):
        raise errors.user_error(
            f"the pipeline has no stage {number}", hint=f"it has {len(pipeline)}, counted from 1"
        )
    chosen = pipeline[number - 1]
    variant = chosen.kind.applies
    if variant is None:
        raise errors.user_error(f"stage {number}, {chosen.name}, applies no manifests")
    if wanted not in (None, variant):
        raise errors.user_error(
            f"stage {number}, {chosen.name}, applies {variant.value}, not {wanted}",
            hint="leave --variant out, or name another --stage",
        )
    return variant, chosen.options
