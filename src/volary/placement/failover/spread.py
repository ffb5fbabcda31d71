"""Chooses clusters by spread constraints. Pure, and the same for the same fleet.

Source of the rules: Karmada, SelectClusters. Clusters are ranked by whether the application is
there already, then by name. By `cluster` alone the first of them are taken. With
groups (Karmada: regions; here zones, providers and labels as well) those groups are chosen that
weigh most together, then the first cluster of each, then the others in their rank.

Unlike Karmada, which may leave a group when another one grows, clusters that were chosen stay
chosen while they qualify and the constraints allow it: what is missing is added to them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from volary.model import phrases
from volary.model.fleet import fleets, selectors
from volary.model.placement import spread_constraints

#: What a cluster scores that the application is on already (Karmada: ClusterLocality).
_SCORE_OF_CURRENT = 100
#: How much a cluster weighs against its score (Karmada: weightUnit).
_UNIT = 1000
#: More groups than this are not combined in every way, but taken in the order of their weight.
_MOST_GROUPS = 16


@dataclass(frozen=True, slots=True)
class Choice:
    """The clusters that were chosen, and why others were not."""

    #: In the order of the candidates.
    clusters: tuple[fleets.Cluster, ...]
    #: Why each of the other candidates is left out, in a clause.
    left_out: Mapping[str, str] = field(default_factory=dict)
    #: Why the constraints cannot be met, in a clause; empty: they are.
    failure: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the chosen clusters."""
        return tuple(cluster.name for cluster in self.clusters)


@dataclass(frozen=True, slots=True)
class _Group:
    """Clusters of one value, the best first."""

    name: str
    members: tuple[str, ...]
    weight: int


def choose(
    candidates: Sequence[fleets.Cluster],
    constraints: Sequence[spread_constraints.Constraint],
    held: Iterable[str] = (),
) -> Choice:
    """Choose among clusters that qualify.

    Args:
        candidates: In the order of the fleet.
        constraints: At most one by cluster and one by something else; none: all are chosen.
        held: Where the application is already.
    """
    if not constraints:
        return Choice(tuple(candidates))
    ours = set(held)
    clusters, groups = _split(constraints)
    left_out: dict[str, str] = {}
    able = list(_eligible(candidates, groups, left_out))
    ranked = sorted(able, key=lambda cluster: (-_score(cluster.name, ours), cluster.name))
    if groups is None:
        chosen, failure = _by_cluster(ranked, clusters)
    else:
        chosen, failure = _by_group(ranked, clusters, groups, ours)
    if failure:
        return Choice((), {candidate.name: failure for candidate in candidates} | left_out, failure)
    for cluster in able:
        if cluster.name not in chosen:
            left_out[cluster.name] = _why_not(cluster, chosen, able, clusters, groups)
    return Choice(
        tuple(candidate for candidate in candidates if candidate.name in chosen), left_out
    )


def group_of(cluster: fleets.Cluster, constraint: spread_constraints.Constraint) -> str:
    """Return the group a cluster counts to; empty: it has none.

    One with several zones is in a group of its own with all that have the same.
    """
    if constraint.by_label:
        return cluster.labels.get(constraint.by_label, "")
    if constraint.field is spread_constraints.Field.CLUSTER:
        return cluster.name
    return "+".join(sorted(selectors.field_values(cluster, constraint.field.value)))


def _split(
    constraints: Sequence[spread_constraints.Constraint],
) -> tuple[spread_constraints.Constraint, spread_constraints.Constraint | None]:
    """Return the constraint by cluster, and the one by groups."""
    by_cluster = [constraint for constraint in constraints if constraint.is_of_clusters]
    by_group = [constraint for constraint in constraints if not constraint.is_of_clusters]
    return (
        by_cluster[0] if by_cluster else spread_constraints.Constraint(),
        by_group[0] if by_group else None,
    )


def _eligible(
    candidates: Sequence[fleets.Cluster],
    groups: spread_constraints.Constraint | None,
    left_out: dict[str, str],
) -> Iterator[fleets.Cluster]:
    """Yield those that have a value to be counted by (Karmada: the SpreadConstraint filter)."""
    for cluster in candidates:
        if groups is None or group_of(cluster, groups):
            yield cluster
        else:
            left_out[cluster.name] = f"it has no {groups.key}, by which the application is spread"


def _score(name: str, held: set[str]) -> int:
    return _SCORE_OF_CURRENT if name in held else 0


def _by_cluster(
    ranked: Sequence[fleets.Cluster], limit: spread_constraints.Constraint
) -> tuple[set[str], str]:
    names = [cluster.name for cluster in ranked]
    if len(names) < limit.least:
        return set(), _too_few(limit, names)
    return set(names[: limit.max_groups or len(names)]), ""


def _too_few(limit: spread_constraints.Constraint, qualified: Sequence[str]) -> str:
    told = f": {', '.join(qualified)}" if qualified else ""
    verb = "qualifies" if len(qualified) == 1 else "qualify"
    return f"at least {limit.least} by {limit.key} are needed, {len(qualified)} {verb}{told}"


def _by_group(
    ranked: Sequence[fleets.Cluster],
    clusters: spread_constraints.Constraint,
    groups: spread_constraints.Constraint,
    held: set[str],
) -> tuple[set[str], str]:
    by_name: dict[str, list[str]] = {}
    for cluster in ranked:
        by_name.setdefault(group_of(cluster, groups), []).append(cluster.name)
    if len(by_name) < groups.least:
        return set(), _too_few(groups, sorted(by_name))
    known = [
        _Group(name, tuple(members), _weight(members, held)) for name, members in by_name.items()
    ]
    chosen = _stable(known, clusters, groups, held)
    if chosen is None:
        many = min(groups.max_groups or len(known), len(known))
        who = f"no group by {groups.key} has"
        if many != 1:
            who = f"no {many} groups by {groups.key} have"
        return set(), f"{who} {clusters.least} clusters"
    first = [group.members[0] for group in chosen]
    rest = [name for group in chosen for name in group.members[1:]]
    order = {ranked_cluster.name: place for place, ranked_cluster in enumerate(ranked)}
    rest.sort(key=order.__getitem__)
    more = len(rest) if not clusters.max_groups else clusters.max_groups - len(first)
    return {*first, *rest[:more]}, ""


def _stable(
    known: Sequence[_Group],
    clusters: spread_constraints.Constraint,
    groups: spread_constraints.Constraint,
    held: set[str],
) -> list[_Group] | None:
    """Return the groups: those the application is in, and what has to come to them."""
    most = groups.max_groups or len(known)
    if clusters.max_groups:
        most = min(most, clusters.max_groups)
    ours = sorted(
        (group for group in known if held.intersection(group.members)),
        key=lambda group: (-len(held.intersection(group.members)), -group.weight, group.name),
    )[:most]
    names = {our.name for our in ours}
    others = [group for group in known if group.name not in names]
    selected = select_groups(
        [(other.name, len(other.members), other.weight) for other in others],
        max(groups.least - len(ours), 0),
        most - len(ours),
        clusters.least - sum(len(our.members) for our in ours),
    )
    if selected is None:
        return None
    by_name = {group.name: group for group in known}
    return [*ours, *(by_name[name] for name in selected)]


def _weight(members: Sequence[str], held: set[str]) -> int:
    """Return how good a group is (Karmada: calcGroupScore)."""
    scores = [_score(member, held) for member in members]
    return len(scores) * _UNIT + sum(scores) // len(scores)


def select_groups(
    groups: Sequence[tuple[str, int, int]], least: int, most: int, target: int
) -> list[str] | None:
    """Return which groups weigh most together (Karmada: selectGroups); None: none do.

    Args:
        groups: Name, number of clusters and weight of each.
        least: How many groups at least.
        most: How many at most.
        target: How many clusters they have to have together.
    """
    if least <= 0 and target <= 0:
        return []
    ordered = sorted(groups, key=lambda group: (group[1], -group[2], group[0]))
    if len(ordered) > _MOST_GROUPS:
        return _greedy(ordered, least, most, target)
    paths: list[tuple[int, int, int, list[str]]] = []
    root: list[tuple[str, int, int]] = []

    def search(size: int, begin: int) -> None:
        if size >= target and least <= len(root) <= most:
            names = [group[0] for group in sorted(root, key=lambda group: (-group[2], group[0]))]
            weight, value = sum(group[2] for group in root), sum(group[1] for group in root)
            paths.append((-weight, -value, len(paths), names))
            return
        if len(root) >= most:
            return
        for place in range(begin, len(ordered)):
            root.append(ordered[place])
            search(size + ordered[place][1], place + 1)
            root.pop()

    search(0, 0)
    if not paths:
        return None
    best = min(paths)[3]
    # A shorter one that begins as the best does is enough.
    prefixes = [names for *_, names in paths if names == best[: len(names)]]
    return min(prefixes, key=len)


def _greedy(
    ordered: Sequence[tuple[str, int, int]], least: int, most: int, target: int
) -> list[str] | None:
    """Return the heaviest groups, else the largest: for more than can all be combined."""
    for rank in (
        lambda candidate: (-candidate[2], -candidate[1], candidate[0]),
        lambda candidate: (-candidate[1], candidate[0]),
    ):
        taken: list[tuple[str, int, int]] = []
        for group in sorted(ordered, key=rank):
            if len(taken) >= least and sum(one[1] for one in taken) >= target:
                break
            taken.append(group)
        if least <= len(taken) <= most and sum(chosen_group[1] for chosen_group in taken) >= target:
            return [chosen_group[0] for chosen_group in taken]
    return None


def _why_not(
    cluster: fleets.Cluster,
    chosen: set[str],
    able: Sequence[fleets.Cluster],
    clusters: spread_constraints.Constraint,
    groups: spread_constraints.Constraint | None,
) -> str:
    if groups is not None:
        taken = sorted(
            {
                group_of(chosen_cluster, groups)
                for chosen_cluster in able
                if chosen_cluster.name in chosen
            }
        )
        mine = group_of(cluster, groups)
        if mine not in taken:
            least = (
                f"{groups.least} or more"
                if not groups.max_groups
                else f"at most {groups.max_groups}"
            )
            first = phrases.first_of(taken)
            return f"{groups.key} {mine} is not needed: {least} by {groups.key}, {first}"
    names = [chosen_cluster.name for chosen_cluster in able if chosen_cluster.name in chosen]
    return f"at most {clusters.max_groups} by cluster: {phrases.first_of(names)} come first"
