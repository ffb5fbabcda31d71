"""What the server fills into pods and pod templates."""

from kube_sandbox import json

_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_FILES = ("configMap", "secret", "downwardAPI", "projected")


def fill_template(owner: json.JsonObject) -> None:
    """Complete ``template`` of a workload's spec in place."""
    template = owner.get("template")
    if isinstance(template, dict):
        fill_spec(template.setdefault("spec", {}))


def fill_pod(spec: json.JsonObject) -> None:
    """Complete the spec of a pod itself, which gets more than a template does."""
    fill_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        resources = container.get("resources") or {}
        limits = resources.get("limits")
        if limits:
            requests = resources.setdefault("requests", {})
            for name, amount in limits.items():
                requests.setdefault(name, amount)


def fill_spec(spec: json.JsonObject) -> None:
    """Complete a pod's spec in place."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    _mirror_service_account(spec)
    host_network = bool(spec.get("hostNetwork"))
    for container in _containers(spec):
        _fill_container(container, host_network=host_network)
    for volume in spec.get("volumes") or ():
        _fill_volume(volume)


def _containers(spec: json.JsonObject) -> list[json.JsonObject]:
    return [
        *(spec.get("initContainers") or ()),
        *(spec.get("containers") or ()),
        *(spec.get("ephemeralContainers") or ()),
    ]


def _mirror_service_account(spec: json.JsonObject) -> None:
    # The old name of the field is still written beside the new one.
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = name
        spec["serviceAccount"] = name


def pull_policy(image: str) -> str:
    """Return the pull policy of an image that names none: ``Always`` for the latest one."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _fill_container(container: json.JsonObject, *, host_network: bool) -> None:
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network:
            port.setdefault("hostPort", port.get("containerPort"))
    for variable in container.get("env") or ():
        _fill_field_reference(variable.get("valueFrom"))
    for name in _PROBES:
        if name in container:
            _fill_probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _fill_http_get(handler)


def _fill_field_reference(source: json.JsonObject | None) -> None:
    reference = (source or {}).get("fieldRef")
    if isinstance(reference, dict):
        reference.setdefault("apiVersion", "v1")


def _fill_probe(probe: json.JsonObject) -> None:
    for key, value in _PROBE.items():
        probe.setdefault(key, value)
    _fill_http_get(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _fill_http_get(handler: json.JsonObject) -> None:
    get = handler.get("httpGet")
    if get is not None:
        get.setdefault("path", "/")
        get.setdefault("scheme", "HTTP")


def _fill_volume(volume: json.JsonObject) -> None:
    if not volume.keys() - {"name"}:
        volume["emptyDir"] = {}
    for name in _FILES:
        source = volume.get(name)
        if source is not None:
            source.setdefault("defaultMode", _MODE)
            _fill_projections(source)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if "ephemeral" in volume:
        template = volume["ephemeral"].get("volumeClaimTemplate") or {}
        template.get("spec", {}).setdefault("volumeMode", "Filesystem")
    if "iscsi" in volume:
        volume["iscsi"].setdefault("iscsiInterface", "default")


def _fill_projections(source: json.JsonObject) -> None:
    for item in source.get("items") or ():
        _fill_field_reference(item)
    for each in source.get("sources") or ():
        token = each.get("serviceAccountToken")
        if token is not None:
            token.setdefault("expirationSeconds", 3600)
        for item in (each.get("downwardAPI") or {}).get("items") or ():
            _fill_field_reference(item)
