"""What only shows when the parts of one application file are seen together."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from volary.config import (
    made,
    ordering,
    routing,
    sections,
    service_targets,
    shape,
    strategies,
    values,
    yaml,
)
from volary.model import application, stage, variant

_VARIANT_KINDS = ("", "Deployment", "StatefulSet")


def check(
    reading: shape.Reading,
    app: application.Application,
    kubernetes: sections.Kubernetes,
    base: yaml.Path,
    directory: str | None,
) -> None:
    """Note every problem of the whole application; `base` is where its Kubernetes part is."""
    _check_input(reading, app.input, (*base, "input"))
    _check_inside(reading, kubernetes, base, directory)
    made.check(reading, app, base)
    _check_names(reading, app.quick_sync_targets, (*base, "quickSync", "multiTargets"))
    _check_variant_label(reading, app, (*base, "variantLabel"))
    if app.rolls_out_service:
        service_targets.check(reading, app, base)
    else:
        _check_workloads(reading, app, (*base, "workloads"))
    _check_routing(reading, app, base)
    _check_expressions(reading, app)
    for path, stages in strategies.lists(app):
        _check_stages(reading, stages, path)


def _check_stages(reading: shape.Reading, stages: Sequence[stage.Stage], path: yaml.Path) -> None:
    first = stages[0].index if stages and stages[0].strategy else 0
    placed = [replace(each, index=each.index - first) for each in stages]
    written = reading.written(path)
    # A stage that could not be read would look like a missing one.
    is_complete = isinstance(written, list) and len(written) == len(stages)
    if stages and stages[0].strategy and not is_complete:
        return  # where its stages are cannot be told any more
    if is_complete:
        ordering.check(reading, placed, path)
    for each in placed:
        _check_names(reading, each.targets, (*path, each.index, "with", "multiTargets"))


def _check_input(reading: shape.Reading, read: application.Input, path: yaml.Path) -> None:
    if read.helm_chart and read.kustomize_options:
        reading.error(path, "helmChart and kustomizeOptions are mutually exclusive")
    helm = read.helm_options != application.HelmOptions()
    if helm and not read.helm_chart:
        reading.warn((*path, "helmOptions"), "helmOptions have no effect without helmChart")
    seen: set[str] = set()
    for i, each in enumerate(read.multi_targets):
        if each.target in seen:
            here = (*path, "multiTargets", i, "target", "name")
            reading.error(here, f"the target {each.target} is listed twice", "join the entries")
        seen.add(each.target)


def _check_inside(
    reading: shape.Reading, kubernetes: sections.Kubernetes, base: yaml.Path, directory: str | None
) -> None:
    """Note paths that lead out of the repository, as far as that can be known."""
    if directory is None:
        return
    for path, text in _paths(kubernetes.input, (*base, "input")):
        if values.leaves(directory, text):
            reading.error(path, f"{text} leaves the repository")


def _paths(read: sections.Input, base: yaml.Path) -> Iterable[tuple[yaml.Path, str]]:
    yield from (((*base, "manifests", i), text) for i, text in enumerate(read.manifests))
    if read.helm_chart:
        yield (*base, "helmChart", "path"), read.helm_chart.path
    options = (*base, "helmOptions")
    files = enumerate(read.helm_options.value_files)
    yield from (((*options, "valueFiles", i), text) for i, text in files)
    settings = read.helm_options.set_files.items()
    yield from (((*options, "setFiles", key), text) for key, text in settings)
    for i, each in enumerate(read.multi_targets):
        here = (*base, "multiTargets", i)
        yield (*here, "kustomizeDir"), each.kustomize_dir
        yield from (((*here, "manifests", j), text) for j, text in enumerate(each.manifests))


def _check_names(reading: shape.Reading, names: Sequence[str], path: yaml.Path) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            reading.lenient(path, f"the target {name} is listed {times} times")


def _check_variant_label(
    reading: shape.Reading, app: application.Application, path: yaml.Path
) -> None:
    label = app.variant_label
    by_value: dict[str, list[str]] = {}
    for each in variant.Variant:
        by_value.setdefault(label.value(each), []).append(each.value)
    for value, owners in by_value.items():
        if len(owners) > 1:
            both = " and ".join(owners)
            reading.error(path, f"{both} have the same label value {value!r}")
    for each, rollout in ordering.ROLLOUTS.items():
        uses_default = any(
            isinstance(step.options, stage.VariantRolloutOptions)
            and step.name is rollout
            and not step.options.suffix
            for step in app.pipeline
        )
        if uses_default and not _is_suffix(label.value(each)):
            reading.error(
                (*path, f"{each.value}Value"),
                f"{label.value(each)!r} cannot be a part of names",
                f"set the suffix of {rollout}",
            )


def _is_suffix(text: str) -> bool:
    try:
        values.dns_label(text)
    except ValueError:
        return False
    return True


def _check_workloads(reading: shape.Reading, app: application.Application, path: yaml.Path) -> None:
    if not any(step.name in ordering.ROLLOUTS.values() for step in app.pipeline):
        return
    for i, each in enumerate(app.workloads):
        if each.kind not in _VARIANT_KINDS:
            here = (*path, i, "kind")
            reading.error(
                here, f"a {each.kind} cannot have variants", "use Deployment or StatefulSet"
            )


def _check_routing(reading: shape.Reading, app: application.Application, base: yaml.Path) -> None:
    routing.check(reading, app, base)
    is_istio = app.traffic_routing.method is application.RoutingMethod.ISTIO
    if app.service.kind not in ("", "Service") and not is_istio:
        here = (*base, "service", "kind")
        reading.lenient(here, f"service must be a Service, not a {app.service.kind}")


def _check_expressions(reading: shape.Reading, app: application.Application) -> None:
    matcher = {"quickSync": app.commit_matcher.quick_sync, "pipeline": app.commit_matcher.pipeline}
    for name, pattern in matcher.items():
        try:
            re.compile(pattern)
        except re.error as error:
            path = ("spec", "commitMatcher", name)
            message = f"not a regular expression: {error}"
            reading.lenient(path, message, then="it never matches")
