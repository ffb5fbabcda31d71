"""Where an application goes: ``volary targets`` and ``volary diff-targets``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volary.cli import console, exit_codes
from volary.cli.local import inputs
from volary.config.application import application_files
from volary.config.crosscheck import eligibility, fleet_checks
from volary.config.placement import spread_and_failover, wave_rules
from volary.controller.planning import preparation, target_selection
from volary.manifests.diff import diff_text, object_diff
from volary.model import applications, clocks, errors, json
from volary.model.fleet import fleets, selectors
from volary.placement.failover import destinations, situations, spread
from volary.placement.replicas import assignment, assignment_formats
from volary.placement.waves import planned_waves


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster of the fleet and what an application has to do with it."""

    cluster: str
    #: Empty: the application does not go there, or has no waves.
    wave: str = ""
    #: Why it does not go there; empty: it does.
    left_out: str = ""


async def show_targets(request: preparation.RunOptions, *, as_json: bool) -> int:
    """Print every cluster of the fleet with its wave, or why it is left out."""
    opened, members = await inputs.open_inputs(request)
    check(opened.loaded, members)
    places = targets_of(opened.application, members)
    numbers = await inputs.decide_replicas(opened, members)
    console.show_problems(console.messages(), numbers.warnings)
    if as_json:
        for place in places:
            console.write_json(_to_json(place, numbers.now))
        return exit_codes.Exit.DONE
    print_table(places, has_waves=bool(opened.application.waves.waves))
    console.write_lines(assignment_formats.describe(numbers.now))
    return exit_codes.Exit.DONE


def _to_json(place: Target, made: assignment.Assignment) -> json.JsonObject:
    replicas = [
        {
            "workload": str(workload.key),
            "replicas": workload.shares[place.cluster].replicas,
            "free": workload.room.get(place.cluster),
        }
        for workload in made.workloads
        if place.cluster in workload.shares
    ]
    read_at = made.read_at.get(place.cluster)
    return {
        "cluster": place.cluster,
        "target": not place.left_out,
        "wave": place.wave,
        "reason": place.left_out,
        **({"replicas": replicas} if replicas else {}),
        **({"readAt": clocks.rfc3339(read_at)} if read_at else {}),
    }


def check(loaded: application_files.Loaded, members: fleets.Fleet) -> None:
    """Raise what keeps an application from its places, with where that is written.

    Raises:
        errors.UserError: The fleet cannot meet its spread, or has clusters that are in no wave.
    """
    path = spread_and_failover.SPREAD
    try:
        choice = choose(loaded.require(), members)
        path = wave_rules.PATH
        if loaded.require().waves.waves:
            planned_waves.divide(loaded.require().waves, choice.clusters)
    except errors.UserError as error:
        raise loaded.located(error, path) from error


def targets_of(application: applications.Application, members: fleets.Fleet) -> tuple[Target, ...]:
    """Return what the application has to do with each cluster of a fleet, in order.

    Raises:
        errors.UserError: A cluster is in no wave, and that is refused; or as of `choose`.
    """
    choice = choose(application, members)
    going = choice.clusters
    in_wave = {}
    if application.waves.waves:
        for planned_wave in planned_waves.divide(application.waves, going).waves:
            in_wave.update(dict.fromkeys(planned_wave.targets, planned_wave.wave.name))
    names = {cluster.name for cluster in going}
    return tuple(
        Target(
            cluster.name,
            in_wave.get(cluster.name, ""),
            "" if cluster.name in names else _why_not(application, cluster, choice.left_out),
        )
        for cluster in members.clusters
    )


def admitted(
    application: applications.Application, members: fleets.Fleet
) -> tuple[fleets.Cluster, ...]:
    """Return the application's targets that take something new, in the order of the fleet."""
    deployed = fleet_checks.deployment_targets(application, members)
    return tuple(
        cluster for cluster in deployed if not eligibility.exclusion_reason(application, cluster)
    )


def choose(application: applications.Application, members: fleets.Fleet) -> spread.Choice:
    """Return which of the targets a first run would take.

    Raises:
        errors.UserError: The fleet cannot meet the application's spread.
    """
    choice = destinations.choose(
        application, admitted(application, members), situations.PlacementState()
    )
    if choice.failure:
        raise errors.user_error(
            f"the spread cannot be met: {choice.failure}",
            hint="lower minGroups, or add clusters to the fleet",
        )
    return choice


def _why_not(
    application: applications.Application, cluster: fleets.Cluster, left_out: Mapping[str, str]
) -> str:
    refused = selectors.mismatch(application.targets, cluster)
    if refused:
        return refused
    refused = eligibility.exclusion_reason(application, cluster) or left_out.get(cluster.name, "")
    return refused or "multiTargets has no entry for it"


def print_table(places: Sequence[Target], *, has_waves: bool) -> None:
    """Print every cluster with its wave, or why it is left out."""
    rows = [("CLUSTER", *(["WAVE"] if has_waves else []), "WHY NOT")]
    for place in places:
        rows.append((place.cluster, *([place.wave] if has_waves else []), place.left_out))
    console.write_lines(console.aligned(rows))


async def show_differences(request: preparation.RunOptions, names: Sequence[str]) -> int:
    """Print what each cluster gets differently from the first one."""
    opened, members = await inputs.open_inputs(request)
    known = [cluster.name for cluster in target_selection.clusters_of(opened.application, members)]
    chosen = _choose(names, known)
    numbers = await inputs.decide_replicas(opened, members)
    console.show_problems(console.messages(), numbers.warnings)
    rendered = await inputs.rendered(opened, chosen, members, numbers.now)
    first = chosen[0]
    for name in chosen[1:]:
        compared = object_diff.compare(rendered[first], rendered[name])
        console.write(f"--- {first}\n+++ {name}\n")
        same = "the same\n\n" if compared.is_empty else ""
        console.write(same or console.without_secrets(diff_text.render(compared)))
    return exit_codes.Exit.DONE


def _choose(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise errors.user_error(
            f"the application does not go to {', '.join(unknown)}",
            hint=f"it goes to: {', '.join(known)}",
        )
    chosen = names or known
    if len(chosen) < 2:
        raise errors.user_error("there is nothing to compare: one cluster alone")
    return chosen
