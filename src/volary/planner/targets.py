"""Which clusters a run goes to, and what is odd about the choice."""

from collections.abc import Sequence
from dataclasses import dataclass

from volary.config.crosscheck import eligibility, fleet_checks
from volary.config.text import yaml
from volary.model import applications, errors, phrases
from volary.model.fleet import fleets
from volary.model.pipeline import pipelines


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters of a run and those that were left out on the way."""

    #: In the order of the fleet.
    targets: tuple[fleets.Cluster, ...]
    #: Chosen, but suspended in the fleet.
    suspended: tuple[str, ...] = ()
    #: Chosen, but without an entry in ``input.multiTargets``.
    left_out: tuple[str, ...] = ()
    #: Chosen, but marked so that nothing new begins there.
    tainted: tuple[str, ...] = ()
    #: Who is absent and why, for people: ``eu (cordoned by ana: 1.36)``; empty: nobody.
    absence: str = ""
    #: Errors and warnings about names, labels and limits.
    problems: tuple[errors.Problem, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the targets."""
        return tuple(target.name for target in self.targets)

    @property
    def warnings(self) -> tuple[errors.Problem, ...]:
        """What the user should know but need not change."""
        return tuple(p for p in self.problems if p.severity is errors.Severity.WARNING)

    def require(self) -> tuple[fleets.Cluster, ...]:
        """Return the targets.

        Raises:
            UserError: There are errors, or no target is left; carries all problems.
        """
        problems = errors.mistakes(self.problems)
        if problems:
            raise errors.UserError(*problems)
        if not self.targets:
            raise errors.user_error("no cluster is left to deploy to")
        return self.targets


def select(
    app: applications.Application,
    clusters: fleets.Fleet,
    *,
    document: yaml.Document | None = None,
    base: yaml.Path = ("spec",),
) -> Selection:
    """Choose the clusters: the selector, then ``multiTargets``, then without suspended ones
    and those with marks that the application does not tolerate.

    Unknown names and limits that leave no cluster are errors, clusters left out are
    named (PipeCD's Resolve is silent about both).

    `document` is the application's file, to name lines in problems, and `base` where its
    Kubernetes part is, see `config.application.application_files`.
    """
    chosen = fleet_checks.selected_clusters(app, clusters)
    deployed = fleet_checks.deployment_targets(app, clusters)
    return Selection(
        targets=tuple(
            cluster for cluster in deployed if not eligibility.exclusion_reason(app, cluster)
        ),
        suspended=tuple(cluster.name for cluster in deployed if cluster.suspended),
        left_out=tuple(cluster.name for cluster in chosen if cluster not in deployed),
        tainted=tuple(
            cluster.name
            for cluster in deployed
            if not cluster.suspended and eligibility.exclusion_reason(app, cluster)
        ),
        absence=phrases.first_of(
            f"{cluster.name} ({reason})"
            for cluster in deployed
            if (reason := eligibility.exclusion_summary(app, cluster))
        ),
        problems=fleet_checks.against_fleet(app, clusters, document=document, base=base),
    )


def of_stage(stage: pipelines.Stage, targets: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a run's targets that a stage visits, in the run's order."""
    return tuple(name for name in targets if not stage.targets or name in stage.targets)
