"""Traffic by weight, request and cookie, in the rules of a route of the Gateway API."""

from collections.abc import Iterator, Mapping, Sequence

from volary.manifests import objects
from volary.manifests.services import backends
from volary.model import errors, json
from volary.model.objects import manifest
from volary.model.pipeline import variant
from volary.stages.traffic import division, weights
from volary.stages.traffic.routers import entries, gateway_rules, router, selection

_GROUP, _HTTP, _GRPC = "gateway.networking.k8s.io", "HTTPRoute", "GRPCRoute"
#: The Gateway API's limit of rules in a route.
_MOST_RULES = 16
_CANARY = variant.Variant.CANARY


class GatewayApi(router.Router):
    """Rules are told apart by their names, or by their numbers such as ``#1``."""

    path = ("spec", "rules")

    @property
    def _known(self) -> backends.Backends:
        return backends.of(self.application)

    def find(self, manifests: Sequence[manifest.Manifest]) -> manifest.Manifest:
        """Return the route with a rule that leads to the application."""
        reference = self.application.traffic_routing.gateway_api.route
        kinds = (reference.kind,) if reference.kind else (_HTTP, _GRPC)
        candidates = [
            item
            for item in selection.of_kind(manifests, _GROUP, kinds)
            if any(_is_ours(rule, self._known) for rule in objects.mappings(item.body, *self.path))
        ]
        title = f"{' or '.join(kinds)} with a backend {self._known.primary}"
        return selection.only(candidates, reference, title)

    def routed(self, item: manifest.Manifest, wanted: division.Division) -> weights.Change:
        """Return the route with `wanted` on every rule that leads to the application."""
        known = self._known
        rules: list[json.JsonObject] = []
        added: list[json.JsonObject] = []
        lines: list[str] = []
        plain = gateway_rules.of(item.body).plain
        said = weights.summary(
            wanted.shares,
            is_matched=bool(wanted.match),
            mirror=wanted.mirror,
            has_affinity=wanted.affinity is not None,
        )
        self._check_names(item, plain)
        for position, rule in enumerate(plain):
            if not _is_ours(rule, known) or not self._is_editable(rule, position):
                rules.append(rule)
                continue
            clean = gateway_rules.stripped(rule, known)
            more, weighted = gateway_rules.divided(clean, wanted, known, paths=item.kind == _HTTP)
            added += more
            rules += [*more, weighted]
            lines.append(f"{item.kind} {item.name}, {_title(rule, position)}: {said}")
        if not lines:
            raise errors.user_error(
                f"{item.kind} {item.name} has no rule with a backend {known.primary} that may be"
                " changed",
                hint="add the backend to a rule, or name the rule in editableRoutes",
                where=item.origin,
            )
        return weights.Change(self._with_rules(item, rules, added), tuple(lines))

    def drained(self, live: manifest.Manifest, leaving: variant.Variant) -> weights.Change:
        """Return the live route with the traffic of `leaving` given to primary."""
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
            changed, said = self._left(rule, position, leaving)
            rules.append(changed)
            title = f"{live.kind} {live.name}, {_title(rule, position)}"
            lines += [f"{title}: {sentence}" for sentence in said]
            position += 1
        kept = [] if leaving is _CANARY else [rule for rule in rules if before.is_added(rule)]
        item = self._with_rules(live, rules, kept) if lines else live
        return weights.Change(item, tuple(lines))

    def _left(
        self, rule: json.JsonObject, position: int, leaving: variant.Variant
    ) -> tuple[json.JsonObject, list[str]]:
        """Return a rule without the traffic of a variant, and what was done."""
        known = self._known
        rule_backends = gateway_rules.backends_of(rule, known)
        share, copied = rule_backends.shares.get(leaving), gateway_rules.copies(rule, known)
        changed = gateway_rules.stripped(rule, known) if leaving is _CANARY else rule
        if not share and changed == rule:
            return rule, []
        if not self._is_editable(rule, position):
            raise errors.user_error(
                f"{_title(rule, position)} still sends traffic to {leaving.value} and may not be"
                " edited",
                hint="add it to trafficRouting.gatewayApi.editableRoutes, or change it in the"
                " cluster",
            )
        lines = [f"no more copies of requests to {leaving.value}"] if copied else []
        if share:
            rule_backends = gateway_rules.backends_of(changed, known)
            shares = entries.moved(rule_backends.shares, leaving)
            changed = {**changed, "backendRefs": rule_backends.divided(shares)}
            lines.append(f"{share} % moved from {leaving.value} to primary")
        return changed, lines or ["no more cookies"]

    def fields(self, body: json.JsonObject) -> json.JsonObject:
        """Return the rules and the note which of them were added."""
        owned = super().fields(body)
        noted = objects.text(body, "metadata", "annotations", gateway_rules.ANNOTATION)
        if noted:
            owned["metadata"] = {"annotations": {gateway_rules.ANNOTATION: noted}}
        return owned

    def read(self, body: json.JsonObject) -> tuple[weights.RouteWeights, ...]:
        """Return what each rule of the route sends to the variants."""
        known, rules = self._known, gateway_rules.of(body)
        route_weights: list[weights.RouteWeights] = []
        position = 0
        for rule in rules.items:
            is_added = rules.is_added(rule)
            route_weights.append(
                weights.RouteWeights(
                    objects.text(rule, "name"),
                    _is_ours(rule, known) and (is_added or self._is_editable(rule, position)),
                    gateway_rules.backends_of(rule, known).shares,
                    gateway_rules.copies(rule, known),
                    is_added,
                )
            )
            position += not is_added
        return tuple(route_weights)

    def services(self, body: json.JsonObject) -> Mapping[variant.Variant, str]:
        """Return the backends of the variants."""
        known = self._known
        names_by_variant: dict[variant.Variant, str] = {}
        for rule in objects.mappings(body, *self.path):
            for which, name in gateway_rules.backends_of(rule, known).services.items():
                names_by_variant.setdefault(which, name)
            if gateway_rules.copies(rule, known):
                names_by_variant.setdefault(_CANARY, known.canary)
        return names_by_variant

    def waiting(self, body: json.JsonObject) -> str:
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
                kind = objects.text(parent, "kind") or "Gateway"
                reason = said[0] if said else _silence(body)
                return f"{kind} {objects.text(parent, 'name')}: {reason}"
        return ""

    def is_unanswered(self, body: json.JsonObject) -> bool:
        """Whether no controller has said anything about any parent of the route."""
        parents = objects.mappings(body, "spec", "parentRefs")
        return not any(list(_answers(body, parent)) for parent in parents)

    def _with_rules(
        self,
        item: manifest.Manifest,
        rules: Sequence[json.JsonObject],
        added: Sequence[json.JsonObject],
    ) -> manifest.Manifest:
        if len(rules) > _MOST_RULES:
            raise errors.user_error(
                f"{item.kind} {item.name} would have {len(rules)} rules, {_MOST_RULES} are"
                " possible",
                hint="name the rules that may be changed in editableRoutes",
                where=item.origin,
            )
        annotations = dict(objects.mapping(item.metadata, "annotations"))
        annotations.pop(gateway_rules.ANNOTATION, None)
        noted = ",".join(dict.fromkeys(gateway_rules.digest(rule) for rule in added))
        if noted:
            annotations[gateway_rules.ANNOTATION] = noted
        metadata = {key: value for key, value in item.metadata.items() if key != "annotations"}
        if annotations:
            metadata["annotations"] = annotations
        routed = self.with_routes(item, rules)
        return routed.with_body({**routed.body, "metadata": metadata})

    def _is_editable(self, rule: json.JsonObject, position: int) -> bool:
        editable = self.application.traffic_routing.gateway_api.editable_routes
        names = (objects.text(rule, "name"), f"#{position + 1}")
        return not editable or any(name in editable for name in names if name)

    def _check_names(self, item: manifest.Manifest, plain: Sequence[json.JsonObject]) -> None:
        names = [objects.text(rule, "name") for rule in plain]
        numbers = [f"#{position + 1}" for position in range(len(plain))]
        editable = self.application.traffic_routing.gateway_api.editable_routes
        unknown = [name for name in editable if name not in names and name not in numbers]
        if unknown:
            shown = ", ".join(name or number for name, number in zip(names, numbers, strict=True))
            raise errors.user_error(
                f"editableRoutes names {', '.join(unknown)}, which {item.kind} {item.name} does"
                " not have",
                hint=f"its rules are: {shown or 'none'}",
                where=item.origin,
            )


def _is_ours(rule: json.JsonObject, known: backends.Backends) -> bool:
    return gateway_rules.backends_of(rule, known).is_ours


def _title(rule: json.JsonObject, position: int) -> str:
    name = objects.text(rule, "name")
    return f'rule "{name}"' if name else f"rule #{position + 1}"


def _silence(body: json.JsonObject) -> str:
    """Say that nobody answered for a parent, and for which others somebody did."""
    others = [
        " ".join(
            part
            for part in (
                objects.text(said, "parentRef", "kind") or "Gateway",
                objects.text(said, "parentRef", "name"),
                objects.text(said, "parentRef", "sectionName"),
            )
            if part
        )
        for said in objects.mappings(body, "status", "parents")
    ]
    others_said = f"; the answers are for {', '.join(others)}" if others else ""
    return f"no controller has answered yet{others_said}"


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
