"""Puts a plan together: strategy, stages, targets, versions."""

from collections.abc import Mapping, Sequence

from volary.manifests import images
from volary.model import application, plan
from volary.planner import comparison, stages, strategy


def make(
    app: application.Application,
    *,
    running: Mapping[str, comparison.Manifests | None],
    target: Mapping[str, comparison.Manifests],
    subject: str = "",
    forced: plan.Strategy | None = None,
    assigned: Mapping[str, Sequence[str]] | None = None,
) -> plan.Plan:
    """Return the plan of a run on the clusters named in `target`, in that order.

    See `strategy.decide` for the arguments, and `stages.build` for `assigned`.

    Raises:
        UserError: The pipeline was asked for and there is none, or a stage is left with
            no cluster.
    """
    decision = strategy.decide(app, running=running, target=target, subject=subject, forced=forced)
    names = tuple(target)
    return plan.Plan(
        strategy=decision.strategy,
        summary=decision.summary,
        stages=stages.build(app, decision.strategy, names, assigned),
        targets=names,
        versions=versions(target),
    )


def versions(target: Mapping[str, comparison.Manifests]) -> tuple[plan.Version, ...]:
    """Return every distinct image with the targets that use it, in order of first use.

    PipeCD looks at the first cluster that has an object; here all clusters count.
    """
    users: dict[str, list[str]] = {}
    known: dict[int, list[str]] = {}
    for name, manifests in target.items():
        if id(manifests) not in known:
            known[id(manifests)] = images.find_all(manifests)
        for image in known[id(manifests)]:
            users.setdefault(image, []).append(name)
    return tuple(_version(image, tuple(names)) for image, names in users.items())


def _version(image: str, targets: tuple[str, ...]) -> plan.Version:
    parsed = images.parse(image)
    return plan.Version(parsed.name, parsed.version, image, targets)
