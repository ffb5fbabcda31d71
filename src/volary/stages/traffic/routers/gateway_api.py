"""What gateways and meshes say about a route of the Gateway API: is it carried out?"""

from collections.abc import Iterator, Mapping, Sequence

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import applications, errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import entries, gateway_rules, selection

_GROUP = "gateway.networking.k8s.io"


def missing_acceptance(body: json.JsonObject) -> str:
    """Return why a route is not carried out yet; empty when each of its parents does.

    Of a parent's answers one has to accept the route and to resolve what it refers to.
    Answers about an older generation do not count; Linkerd leaves the generation out, and
    then the answer is taken as it is.
    """
    parents = list(objects.mappings(body, "spec", "parentRefs"))
    if not parents:
        return "it is attached to nothing: it has no parentRefs"
    for parent in parents:
        said = list(_answers(body, parent))
        if "" not in said:
            title = f"{objects.text(parent, 'kind') or 'Gateway'} {objects.text(parent, 'name')}"
            return f"{title}: {said[0] if said else 'no controller has answered yet'}"
    return ""


def _answers(body: json.JsonObject, parent: json.JsonObject) -> Iterator[str]:
    """Yield what each controller of a parent says: empty for yes, else why not."""
    home = objects.text(body, "metadata", "namespace")
    for parent_status in objects.mappings(body, "status", "parents"):
        if _identity(objects.mapping(parent_status, "parentRef"), home) == _identity(parent, home):
            yield _answer(parent_status, objects.number(body, "metadata", "generation"))


def _answer(said: json.JsonObject, generation: int) -> str:
    by_type = {
        objects.text(condition, "type"): condition
        for condition in objects.mappings(said, "conditions")
        if objects.number(condition, "observedGeneration", default=generation) >= generation
        or not condition.get("observedGeneration")
    }
    accepted, resolved = by_type.get("Accepted"), by_type.get("ResolvedRefs")
    if accepted is None:
        return "the last change is not answered yet"
    for name, judged_condition in (("not accepted", accepted), ("backends not resolved", resolved)):
        if judged_condition is not None and objects.text(judged_condition, "status") != "True":
            detail = objects.text(judged_condition, "message") or objects.text(
                judged_condition, "reason"
            )
            return f"{name}: {detail}" if detail else name
    return ""


def _identity(parent: json.JsonObject, home: str) -> tuple[object, ...]:
    kind = objects.text(parent, "kind") or "Gateway"
    group = objects.text(parent, "group")
    if kind == "Service":
        group = "" if group == "core" else group
    return (
        group or ("" if kind == "Service" else _GROUP),
        kind,
        objects.text(parent, "namespace") or home,
        objects.text(parent, "name"),
        objects.text(parent, "sectionName"),
        objects.number(parent, "port"),
    )


GROUP, HTTP, GRPC = "gateway.networking.k8s.io", "HTTPRoute", "GRPCRoute"
#: The Gateway API's limit of rules in a route.
_MOST_RULES = 16
_CANARY = variant.Variant.CANARY


def maker() -> variant.Variant:
    """Return the variant with whose manifests the route comes."""
    return variant.Variant.PRIMARY


def find(
    manifests: Sequence[manifest.Manifest], application: applications.Application
) -> manifest.Manifest:
    """Return the route that carries the traffic of the application.

    Raises:
        UserError: when there is none or more than one.
    """
    known = backends.of(application)
    reference = application.traffic_routing.gateway_api.route
    kinds = (reference.kind,) if reference.kind else (HTTP, GRPC)
    candidates = [
        item
        for item in selection.of_kind(manifests, GROUP, kinds)
        if any(_is_ours(rule, known) for rule in objects.mappings(item.body, "spec", "rules"))
    ]
    title = f"{' or '.join(kinds)} with a backend {known.primary}"
    return selection.only(candidates, reference, title)


def check(wanted: division.Division, application: applications.Application) -> None:
    """Refuse what a route of the wanted kind cannot say."""
    selection.refuse(wanted, application)


def routed(
    item: manifest.Manifest,
    wanted: division.Division,
    application: applications.Application,
) -> weights.Change:
    """Return the route with `wanted` on every rule that leads to the application.

    Raises:
        UserError: when no rule may be changed, or the route would get too many.
    """
    known, before = backends.of(application), gateway_rules.of(item.body)
    _check_names(item, application)
    rules: list[json.JsonObject] = []
    added: list[json.JsonObject] = []
    lines: list[str] = []
    plain = [item for item in before.items if not before.is_added(item)]
    for position, rule in enumerate(plain):
        if not _is_ours(rule, known) or not _is_editable(rule, position, application):
            rules.append(rule)
            continue
        clean = gateway_rules.stripped(rule, known)
        more, weighted = gateway_rules.divided(clean, wanted, known, paths=item.kind == HTTP)
        added += more
        rules += [*more, weighted]
        lines.append(f"{item.kind} {item.name}, {_title(rule, position)}: {_said(wanted)}")
    if not lines:
        raise errors.user_error(
            f"{item.kind} {item.name} has no rule with a backend {known.primary} that may be"
            " changed",
            hint="add the backend to a rule, or name the rule in editableRoutes",
            where=item.origin,
        )
    return weights.Change(_with(item, rules, added), tuple(lines))


def _said(wanted: division.Division) -> str:
    parts = [weights.title(wanted.shares)]
    if wanted.match:
        parts.append("requests that match to canary")
    if wanted.mirror:
        parts.append(f"copies of {wanted.mirror} % to canary")
    if wanted.affinity is not None:
        parts.append("users stay by cookie")
    return ", ".join(parts)


def drained(
    live: manifest.Manifest,
    leaving: variant.Variant,
    application: applications.Application,
) -> weights.Change:
    """Return the live route with the traffic of `leaving` given to primary.

    Rules that a division added go with canary, and so do copies of requests and cookies.

    Raises:
        UserError: when a rule that may not be changed still sends traffic there.
    """
    before = gateway_rules.of(live.body)
    rules: list[json.JsonObject] = []
    lines: list[str] = []
    position = 0
    for rule in before.items:
        if before.is_added(rule):
            if leaving is not _CANARY:
                rules.append(rule)
                continue
            lines.append(f"{live.kind} {live.name}: a rule for some requests taken out")
            continue
        changed, said = _left(rule, position, leaving, application)
        rules.append(changed)
        lines += [
            f"{live.kind} {live.name}, {_title(rule, position)}: {sentence}" for sentence in said
        ]
        position += 1
    kept = [] if leaving is _CANARY else [rule for rule in rules if before.is_added(rule)]
    return weights.Change(_with(live, rules, kept) if lines else live, tuple(lines))


def _left(
    rule: json.JsonObject,
    position: int,
    leaving: variant.Variant,
    application: applications.Application,
) -> tuple[json.JsonObject, list[str]]:
    """Return a rule without the traffic of a variant, and what was done."""
    known = backends.of(application)
    rule_backends = gateway_rules.backends_of(rule, known)
    share, copied = rule_backends.shares.get(leaving), gateway_rules.copies(rule, known)
    changed = gateway_rules.stripped(rule, known) if leaving is _CANARY else rule
    if not share and changed == rule:
        return rule, []
    if not _is_editable(rule, position, application):
        raise errors.user_error(
            f"{_title(rule, position)} still sends traffic to {leaving.value} and may not be"
            " edited",
            hint="add it to trafficRouting.gatewayApi.editableRoutes, or change it in the cluster",
        )
    lines = [f"no more copies of requests to {leaving.value}"] if copied else []
    if share:
        rule_backends = gateway_rules.backends_of(changed, known)
        shares = entries.moved(rule_backends.shares, leaving)
        changed = {**changed, "backendRefs": rule_backends.divided(shares)}
        lines.append(f"{share} % moved from {leaving.value} to primary")
    return changed, lines or ["no more cookies"]


def held(
    item: manifest.Manifest, live: json.JsonObject, application: applications.Application
) -> manifest.Manifest:
    """Return Git's route with the live rules while a variant gets traffic by them."""
    route_weights = read(live, application)
    away = weights.receiving(route_weights) - {variant.Variant.PRIMARY}
    if not away and not any(rule_weights.is_made for rule_weights in route_weights):
        return item
    spec = {**objects.mapping(item.body, "spec"), "rules": objects.sequence(live, "spec", "rules")}
    return item.with_body({**item.body, "spec": spec})


def fields(body: json.JsonObject) -> json.JsonObject:
    """Return the rules and the note which of them were added."""
    owned_fields: json.JsonObject = {"spec": {"rules": objects.sequence(body, "spec", "rules")}}
    noted = objects.text(body, "metadata", "annotations", gateway_rules.ANNOTATION)
    if noted:
        owned_fields["metadata"] = {"annotations": {gateway_rules.ANNOTATION: noted}}
    return owned_fields


def read(
    body: json.JsonObject, application: applications.Application
) -> tuple[weights.RouteWeights, ...]:
    """Return what each rule of the route sends to the variants."""
    known, rules = backends.of(application), gateway_rules.of(body)
    route_weights: list[weights.RouteWeights] = []
    position = 0
    for rule in rules.items:
        is_added = rules.is_added(rule)
        is_ours = _is_ours(rule, known)
        route_weights.append(
            weights.RouteWeights(
                objects.text(rule, "name"),
                is_ours and (is_added or _is_editable(rule, position, application)),
                gateway_rules.backends_of(rule, known).shares,
                gateway_rules.copies(rule, known),
                is_added,
            )
        )
        position += not is_added
    return tuple(route_weights)


def services(
    body: json.JsonObject, application: applications.Application
) -> Mapping[variant.Variant, str]:
    """Return the backends of the variants."""
    known = backends.of(application)
    names_by_variant: dict[variant.Variant, str] = {}
    for rule in objects.mappings(body, "spec", "rules"):
        for which, name in gateway_rules.backends_of(rule, known).services.items():
            names_by_variant.setdefault(which, name)
        if gateway_rules.copies(rule, known):
            names_by_variant.setdefault(_CANARY, known.canary)
    return names_by_variant


def waiting(body: json.JsonObject) -> str:
    """Return why no gateway or mesh carries out the route yet; empty when all parents do."""
    return missing_acceptance(body)


def _with(
    item: manifest.Manifest, rules: Sequence[json.JsonObject], added: Sequence[json.JsonObject]
) -> manifest.Manifest:
    if len(rules) > _MOST_RULES:
        raise errors.user_error(
            f"{item.kind} {item.name} would have {len(rules)} rules, {_MOST_RULES} are possible",
            hint="name the rules that may be changed in editableRoutes",
            where=item.origin,
        )
    annotations = {
        key: value
        for key, value in objects.mapping(item.body, "metadata", "annotations").items()
        if key != gateway_rules.ANNOTATION
    }
    noted = ",".join(dict.fromkeys(gateway_rules.digest(rule) for rule in added))
    if noted:
        annotations[gateway_rules.ANNOTATION] = noted
    metadata = {key: value for key, value in item.metadata.items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    spec = {**objects.mapping(item.body, "spec"), "rules": list(rules)}
    return item.with_body({**item.body, "metadata": metadata, "spec": spec})


def _is_ours(rule: json.JsonObject, known: backends.Backends) -> bool:
    return gateway_rules.backends_of(rule, known).is_ours


def _is_editable(
    rule: json.JsonObject, position: int, application: applications.Application
) -> bool:
    editable = application.traffic_routing.gateway_api.editable_routes
    names = (objects.text(rule, "name"), f"#{position + 1}")
    return not editable or any(name in editable for name in names if name)


def _check_names(item: manifest.Manifest, application: applications.Application) -> None:
    rules = gateway_rules.of(item.body)
    plain = [item for item in rules.items if not rules.is_added(item)]
    names = [objects.text(rule, "name") for rule in plain]
    numbers = [f"#{position + 1}" for position in range(len(plain))]
    editable = application.traffic_routing.gateway_api.editable_routes
    unknown = [name for name in editable if name not in names and name not in numbers]
    if unknown:
        shown = ", ".join(name or number for name, number in zip(names, numbers, strict=True))
        raise errors.user_error(
            f"editableRoutes names {', '.join(unknown)}, which {item.kind} {item.name} does not"
            " have",
            hint=f"its rules are: {shown or 'none'}",
            where=item.origin,
        )


def _title(rule: json.JsonObject, position: int) -> str:
    name = objects.text(rule, "name")
    return f'rule "{name}"' if name else f"rule #{position + 1}"
