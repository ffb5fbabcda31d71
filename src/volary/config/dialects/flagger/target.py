"""What a Canary is about: the workload, its scaler, and what Flagger does around it."""

import re

from volary.config.dialects import drafts
from volary.config.dialects.flagger import recognition, source
from volary.config.text import yaml

_WORKLOAD = ("spec", "workloads")
#: Fields of a kustomization that may change a Canary.
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml")
_REASONS = {
    "DaemonSet": "a DaemonSet runs one pod per node, so a canary would need nodes of its own: "
    "there is no share of pods or traffic to give it",
}
#: Comma separated names of clusters, or labels as key=value; read from the Canary.
TARGETS_ANNOTATION = "volary.dev/targets"
_OURS = "volary.dev/"
_LABELS = re.compile(r"[\w./-]+=[\w.-]+(,[\w./-]+=[\w.-]+)*")


def translate(read: source.Source) -> None:
    """Write what is rolled out, and where."""
    spec = read.spec
    at = ("spec", "targetRef")
    target = spec.target_ref
    knative = target.kind == "Service" and target.api_version.startswith("serving.knative.dev")
    if target.kind in ("Deployment", "Service") and not knative:
        read.put((*_WORKLOAD, 0), {"kind": target.kind, "name": target.name}, at)
    else:
        name = "a Knative Service" if knative else target.kind or "a target without kind"
        reason = "Knative routes to its own revisions" if knative else _REASONS.get(target.kind, "")
        read.reading.error(
            (*at, "kind"),
            f"{name} is not carried out" + (f": {reason}" if reason else ""),
            "only a Deployment or a Service can be the target",
        )
    _scaler(read)
    _clusters(read)
    _namespace(read)
    _overlay(read)
    _refused(read)


def _scaler(read: source.Source) -> None:
    scaler = read.spec.autoscaler_ref
    if scaler is None:
        return
    at = ("spec", "autoscalerRef")
    if read.is_service:
        message = f"has no effect: {scaler.name} goes on scaling its own workload"
        read.reading.warn(at, message, "remove it")
        return
    if scaler.kind not in ("HorizontalPodAutoscaler", "ScaledObject"):
        message = f"a {scaler.kind or 'scaler without kind'} is not known"
        read.reading.error(
            (*at, "kind"), message, "write HorizontalPodAutoscaler, or KEDA's ScaledObject"
        )
    elif _is_missing(read, scaler.kind, scaler.name):
        message = (
            f"there is no {scaler.kind} {scaler.name} beside the Canary: canary and primary keep"
            " the replicas that they are given, unless it is in the clusters already"
        )
        hint = f"add {scaler.name} to the directory, or remove autoscalerRef"
        read.reading.warn((*at, "name"), message, hint)
    given = {
        "primaryScalerQueries": scaler.primary_scaler_queries,
        "primaryScalerReplicas": scaler.primary_scaler_replicas,
    }
    for name, value in given.items():
        if value:
            read.reading.warn(
                (*at, name),
                f"has no effect: {scaler.name} scales primary itself, no copy of it is made",
                f"write the desired value to {scaler.name}",
            )
    workload = read.find("Deployment", read.spec.target_ref.name)
    if workload is not None and "replicas" in (workload.value.get("spec") or {}):
        read.reading.warn(
            at,
            f"{workload.file} sets spec.replicas, so every release reverts what {scaler.name} did",
            "remove spec.replicas from the Deployment",
        )


def _is_missing(read: source.Source, kind: str, name: str) -> bool:
    """Say whether plain manifests lack an object; what kustomize builds is not known here."""
    if any(map(_is_kustomization, read.neighbours)):
        return False
    is_plain = any(not recognition.is_flaggers(neighbour) for neighbour in read.neighbours)
    return is_plain and read.find(kind, name) is None


def _clusters(read: source.Source) -> None:
    written = read.canary.metadata.get("annotations")
    annotations = written if isinstance(written, dict) else {}
    for name in annotations:
        if str(name).startswith(_OURS) and name != TARGETS_ANNOTATION:
            at = ("metadata", "annotations", str(name))
            message = f"{name} is no annotation of a Canary"
            read.reading.error(at, message, f"did you mean {TARGETS_ANNOTATION}?")
    if TARGETS_ANNOTATION not in annotations:
        return
    at = ("metadata", "annotations", TARGETS_ANNOTATION)
    text = drafts.text(annotations, TARGETS_ANNOTATION)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    labels = [
        (key, value) for key, equals, value in (part.partition("=") for part in parts) if equals
    ]
    if not parts:
        read.reading.error(at, "chooses no cluster", "write us,eu or env=prod, or remove it")
    elif not labels:
        read.put(("spec", "targets", "names"), parts, at)
    elif len(labels) < len(parts):
        read.reading.error(at, "names and labels are mixed", "write us,eu or env=prod,region=eu")
    elif len({key for key, _ in labels}) < len(labels) or not _LABELS.fullmatch(",".join(parts)):
        message = "a label is given twice, or is none: each has one value"
        read.reading.error(at, message, "write env=prod,region=eu")
    else:
        read.put(("spec", "targets", "matchLabels"), dict(labels), at)


def _namespace(read: source.Source) -> None:
    """Flagger works in the Canary's namespace; so do we, where no manifest says otherwise."""
    if not read.namespace:
        return
    at = ("metadata", "namespace")
    named = {
        drafts.text(neighbour.value.get("metadata"), "namespace")
        for neighbour in read.neighbours
        if not recognition.is_flaggers(neighbour)
    }
    workload = read.find(read.spec.target_ref.kind, read.spec.target_ref.name)
    own = drafts.text(workload.value.get("metadata"), "namespace") if workload else ""
    if own and own != read.namespace:
        message = f"the target is in the namespace {own}, not {read.namespace}"
        read.reading.error(at, message, "write both into one namespace")
    elif named <= {"", read.namespace}:
        read.put(("spec", "input", "namespace"), read.namespace, at)
    elif not own:
        others = ", ".join(sorted(named - {"", read.namespace}))
        hint = f"write namespace: {read.namespace} to the manifests that have none"
        if workload is not None and not any(map(_is_kustomization, read.neighbours)):
            message = f"the target names no namespace, and other manifests are in {others}"
            read.reading.error(at, message, hint)
            return
        message = f"has no effect on the manifests, as some of them are in {others}"
        read.reading.warn(at, message, hint)


def _overlay(read: source.Source) -> None:
    """Note a kustomization that changes the Canary: it is read as it is in its file."""
    for neighbour in read.neighbours:
        value = neighbour.value
        if not _is_kustomization(neighbour):
            continue
        renames = [name for name in ("namePrefix", "nameSuffix") if value.get(name)]
        for name in renames:
            message = f"{name} in {neighbour.file} changes the name of the target"
            hint = "write the names that the kustomization makes"
            read.reading.error(("spec", "targetRef", "name"), message, hint)
        patches = [value.get(name) for name in _PATCHES]
        if any("Canary" in str(patch) for patch in patches if patch):
            message = (
                f"{neighbour.file} patches the Canary, which is read before overlays are built"
            )
            read.reading.error((), message, "write what the patch says to the Canary itself")


def _is_kustomization(document: yaml.Document) -> bool:
    name = document.file.rpartition("/")[2].lower()
    return document.value.get("kind") == "Kustomization" or name in _KUSTOMIZATIONS


def _refused(read: source.Source) -> None:
    """Name what has no counterpart, and what is not needed here."""
    spec, reading = read.spec, read.reading
    if spec.suspend:
        read.put(("spec", "trigger", "onCommit", "disabled"), True, ("spec", "suspend"))
        read.put(("spec", "trigger", "onCommand", "disabled"), True, ("spec", "suspend"))
        message = "the server starts no run of this application; `volary run` still does"
        reading.warn(("spec", "suspend"), message)
    if spec.revert_on_deletion:
        reading.warn(
            ("spec", "revertOnDeletion"),
            f"has no effect: the {spec.target_ref.kind} stays what serves traffic, so there is "
            "nothing to give back",
            "remove it",
        )
    if spec.route_ref is not None:
        reading.error(("spec", "routeRef"), "APISIX is not carried out")
    if spec.upstream_ref is not None:
        reading.error(("spec", "upstreamRef"), "Gloo is not carried out")
