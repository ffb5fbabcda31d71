"""What kube-apiserver refuses about pods and pod templates."""

from collections.abc import Iterator, Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes, quantities
from kube_sandbox.apimachinery.scheme import internal_structs
from kube_sandbox.apimachinery.validation import checks, environment, mounts, names, volumes

Causes = list[causes.Cause]

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_SCHEMES = ("HTTP", "HTTPS")
_MESSAGE_POLICIES = ("FallbackToLogsOnError", "File")


def template(
    path: str,
    given: json.JsonObject,
    restart_policies: tuple[str, ...],
    claims: Mapping[str, json.JsonObject] | None = None,
) -> Causes:
    """Refuse a malformed pod template whose pods restart in another way than allowed."""
    metadata = given.get("metadata") or {}
    found = checks.labels(f"{path}.labels", metadata.get("labels"))
    found += annotations(f"{path}.annotations", metadata.get("annotations"))
    pod = given.get("spec") or {}
    found += spec(f"{path}.spec", pod, claims=claims)
    policy = pod.get("restartPolicy")
    if policy in _RESTART_POLICIES and policy not in restart_policies:
        found.append(causes.unsupported(f"{path}.spec.restartPolicy", policy, restart_policies))
    return found


def annotations(path: str, given: json.JsonObject | None) -> Causes:
    """Refuse malformed annotation keys, and more than 256 KiB."""
    found: Causes = []
    total = 0
    for key, value in (given or {}).items():
        found += checks.named(path, key.lower(), names.qualified)
        total += len(key) + len(value)
    if total > 256 * 1024:
        found.append(causes.too_long(path, 256 * 1024))
    return found


def spec(
    path: str,
    pod: json.JsonObject,
    *,
    name: str = "",
    claims: Mapping[str, json.JsonObject] | None = None,
) -> Causes:
    """Refuse a malformed pod spec.

    Args:
        path: Where it stands.
        pod: The spec.
        name: The pod's name; empty for a template.
        claims: Volumes that come from the claims of a StatefulSet.
    """
    known, found = volumes.check(f"{path}.volumes", pod.get("volumes") or [], name)
    found += _containers(path, pod, {**known, **(claims or {})})
    found += checks.one_of(f"{path}.restartPolicy", pod.get("restartPolicy"), _RESTART_POLICIES)
    found += checks.one_of(f"{path}.dnsPolicy", pod.get("dnsPolicy"), _DNS_POLICIES)
    grace = pod.get("terminationGracePeriodSeconds")
    found += checks.not_negative(f"{path}.terminationGracePeriodSeconds", grace)
    found += checks.labels(f"{path}.nodeSelector", pod.get("nodeSelector"))
    deadline = pod.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline < 2**31:
        detail = "must be between 1 and 2147483647, inclusive"
        found.append(causes.invalid(f"{path}.activeDeadlineSeconds", deadline, detail))
    account = pod.get("serviceAccountName")
    if account:
        found += checks.named(f"{path}.serviceAccountName", account, names.subdomain)
    return found


def _containers(path: str, pod: json.JsonObject, known: Mapping[str, json.JsonObject]) -> Causes:
    found: Causes = []
    if not pod.get("containers"):
        found.append(causes.required(f"{path}.containers"))
    seen: set[str] = set()
    for where, container in _every_container(path, pod):
        found += _unique_name(where, container, seen)
        found += _container(where, container, known)
    return found


def _unique_name(path: str, item: json.JsonObject, seen: set[str]) -> Causes:
    """Check the name of one of a list, and add it to those that were `seen`."""
    name, where = item.get("name", ""), f"{path}.name"
    is_new = name not in seen
    seen.add(name)
    if not name:
        return [causes.required(where)]
    return checks.named(where, name, names.label) if is_new else [causes.duplicate(where, name)]


def _every_container(path: str, pod: json.JsonObject) -> Iterator[tuple[str, json.JsonObject]]:
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(pod.get(group) or ()):
            yield f"{path}.{group}[{index}]", container


def _container(
    path: str, container: json.JsonObject, known: Mapping[str, json.JsonObject]
) -> Causes:
    found: Causes = []
    image = container.get("image", "")
    if not image:
        found.append(causes.required(f"{path}.image"))
    elif image.strip() != image:
        detail = "must not have leading or trailing whitespace"
        found.append(causes.invalid(f"{path}.image", image, detail))
    message = container.get("terminationMessagePolicy")
    found += checks.one_of(f"{path}.terminationMessagePolicy", message, _MESSAGE_POLICIES)
    found += _ports(f"{path}.ports", container.get("ports") or [])
    found += environment.check(path, container)
    found += mounts.check(path, container, known)
    policy = container.get("imagePullPolicy")
    found += checks.one_of(f"{path}.imagePullPolicy", policy, _PULL_POLICIES)
    found += resources(f"{path}.resources", container.get("resources") or {})
    for name in _PROBES:
        if name in container:
            found += _probe(f"{path}.{name}", container[name])
    return found


def _ports(path: str, ports: list[json.JsonObject]) -> Causes:
    found: Causes = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        name = port.get("name")
        if name and name in seen:
            found.append(causes.duplicate(f"{where}.name", name))
        elif name:
            found += checks.named(f"{where}.name", name, names.port_name)
            seen.add(name)
        if not port.get("containerPort"):
            found.append(causes.required(f"{where}.containerPort"))
        else:
            found += checks.port_number(f"{where}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            found += checks.port_number(f"{where}.hostPort", port["hostPort"])
        found += checks.one_of(f"{where}.protocol", port.get("protocol"), _PROTOCOLS)
    return found


def _probe(path: str, probe: json.JsonObject) -> Causes:
    chosen = [name for name in _HANDLERS if name in probe]
    found: Causes = []
    if not chosen:
        found.append(causes.required(path, "must specify a handler type"))
    found += [
        causes.forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
        for extra in chosen[1:]
    ]
    if chosen:
        found += _handler(f"{path}.{chosen[0]}", chosen[0], probe[chosen[0]])
    for name in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        found += checks.not_negative(f"{path}.{name}", probe.get(name))
    if not path.endswith("readinessProbe") and probe.get("successThreshold", 1) != 1:
        found.append(
            causes.invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
        )
    return found


def _handler(path: str, kind: str, handler: json.JsonObject) -> Causes:
    if kind == "exec":
        return [] if handler.get("command") else [causes.required(f"{path}.command")]
    found: Causes = []
    if kind in ("httpGet", "tcpSocket", "grpc"):
        found += checks.port_or_name(f"{path}.port", handler.get("port", 0))
    if kind == "httpGet":
        if not handler.get("path"):
            found.append(causes.required(f"{path}.path"))
        found += checks.one_of(f"{path}.scheme", handler.get("scheme"), _SCHEMES)
    return found


def resources(path: str, given: json.JsonObject) -> Causes:
    """Refuse negative amounts, and requests above their limits."""
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    found: Causes = []
    for group, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            found += checks.named(f"{path}.{group}[{name}]", name, names.qualified)
            found += checks.amount(f"{path}.{group}[{name}]", value)
    for name, value in requests.items():
        limit = limits.get(name)
        if limit is not None and quantities.parse(str(value)) > quantities.parse(str(limit)):
            detail = f"must be less than or equal to {name} limit of {limit}"
            found.append(causes.invalid(f"{path}.requests", value, detail))
    return found


_UPDATE_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
    "set to 1 if it was previously negative)"
)
#: Ephemeral containers have an endpoint, gates a scheduler of their own.
_OF_OTHERS = ("ephemeralContainers", "schedulingGates")


def update(new: json.JsonObject, old: json.JsonObject) -> Causes:
    """Refuse changes of a running pod beyond images, deadlines and tolerations."""
    faults: Causes = []
    for group in ("containers", "initContainers"):
        if len(new.get(group) or ()) != len(old.get(group) or ()):
            detail = "pod updates may not add or remove containers"
            return [causes.forbidden(f"spec.{group}", detail)]
    faults += _deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    faults += _tolerations(new.get("tolerations") or [], old.get("tolerations") or [])
    changed = _with_what_may_change(new, old)
    if changed != old:
        text = internal_structs.difference("io.k8s.api.core.v1.PodSpec", old, changed)
        faults.append(causes.forbidden("spec", f"{_UPDATE_TEXT}\n{text}"))
    return faults


def _deadline(new: int | None, old: int | None) -> Causes:
    path = "spec.activeDeadlineSeconds"
    if old is None or new == old:
        return []
    if new is None:
        detail = "must not update from a positive integer to nil value"
        return [causes.invalid(path, None, detail)]
    if new > old:
        detail = "must be less than or equal to previous value"
        return [causes.invalid(path, new, detail)]
    return []


def _tolerations(new: list[json.JsonObject], old: list[json.JsonObject]) -> Causes:
    """Refuse tolerations that were there and are no longer; how long they last may change."""

    def lasting(toleration: json.JsonObject) -> json.JsonObject:
        return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}

    kept = [lasting(toleration) for toleration in new]
    if all(lasting(toleration) in kept for toleration in old):
        return []
    detail = "existing toleration can not be modified except its tolerationSeconds"
    return [causes.forbidden("spec.tolerations", detail)]


def _with_what_may_change(new: json.JsonObject, old: json.JsonObject) -> json.JsonObject:
    """Return `new` with the old value of everything that may change."""
    settled = dict(new)
    grace = new.get("terminationGracePeriodSeconds") == 1
    was_negative = (old.get("terminationGracePeriodSeconds") or 0) < 0
    mutable = [*_OF_OTHERS, "activeDeadlineSeconds", "tolerations"]
    if not old.get("nodeName"):
        mutable.append("nodeName")  # the scheduler chooses it once
    if grace and was_negative:
        mutable.append("terminationGracePeriodSeconds")
    for name in mutable:
        settled.pop(name, None)
        if name in old:
            settled[name] = old[name]
    for group in ("containers", "initContainers"):
        if group in new:
            pairs = zip(new[group] or (), old.get(group) or (), strict=True)
            settled[group] = [{**container, "image": was["image"]} for container, was in pairs]
    return settled
