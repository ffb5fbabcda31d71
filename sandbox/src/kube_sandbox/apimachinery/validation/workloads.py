"""What kube-apiserver refuses about Deployments and the other kinds with pod templates."""

import re
from collections.abc import Mapping

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.scheme import internal_structs
from kube_sandbox.apimachinery.validation import checks, pods

Causes = list[causes.Cause]
Object = json.JsonObject

_MISMATCH = "`selector` does not match template `labels`"


def _selected_template(
    kind: str, spec: Object, claims: Mapping[str, Object] | None = None
) -> Causes:
    selector = spec.get("selector")
    found: Causes = []
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector is None:
        found.append(causes.required("spec.selector"))
        # One that is missing selects nothing.
        found.append(causes.invalid("spec.template.metadata.labels", labels, _MISMATCH))
    else:
        malformed = checks.label_selector("spec.selector", selector)
        found += malformed
        if checks.is_empty(selector):
            detail = f"empty selector is invalid for {kind}"
            found.append(causes.invalid("spec.selector", selector, detail))
        elif not malformed and not checks.selects(selector, labels):
            found.append(causes.invalid("spec.template.metadata.labels", labels, _MISMATCH))
    return found + pods.template("spec.template", template, ("Always",), claims)


def _counts(spec: Object, *fields: str) -> Causes:
    found: Causes = []
    for name in fields:
        found += checks.not_negative(f"spec.{name}", spec.get(name))
    return found


def _same_selector(spec: Object, old: Object | None) -> Causes:
    if old is None:
        return []
    before = (old.get("spec") or {}).get("selector")
    return checks.unchanged("spec.selector", spec.get("selector"), before)


def deployment(body: Object, old: Object | None) -> Causes:
    """Check a Deployment."""
    spec = body.get("spec") or {}
    found = _counts(spec, "replicas")
    found += _selected_template("deployment", spec)
    found += _deployment_strategy(spec.get("strategy") or {})
    found += _counts(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds", 0)
    if deadline is not None and deadline <= ready:
        detail = "must be greater than minReadySeconds"
        found.append(causes.invalid("spec.progressDeadlineSeconds", deadline, detail))
    return found + _same_selector(spec, old)


def _deployment_strategy(strategy: Object) -> Causes:
    path = "spec.strategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is None:
            return []
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [causes.forbidden(f"{path}.rollingUpdate", detail)]
    if kind != "RollingUpdate":
        return [causes.unsupported(f"{path}.type", kind or "", ("Recreate", "RollingUpdate"))]
    return _rolling(f"{path}.rollingUpdate", rolling or {})


def _rolling(path: str, rolling: Object) -> Causes:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found = checks.number_or_percent(f"{path}.maxUnavailable", unavailable)
    found += checks.number_or_percent(f"{path}.maxSurge", surge)
    if checks.is_zero(unavailable) and checks.is_zero(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        found.append(causes.invalid(f"{path}.maxUnavailable", unavailable, detail))
    return found + checks.at_most_all(f"{path}.maxUnavailable", unavailable)


def replica_set(body: Object, old: Object | None) -> Causes:
    """Check a ReplicaSet."""
    spec = body.get("spec") or {}
    found = _counts(spec, "replicas", "minReadySeconds")
    return found + _selected_template("replicaset", spec) + _same_selector(spec, old)


def replication_controller(body: Object, old: Object | None) -> Causes:
    """Check a ReplicationController."""
    spec = body.get("spec") or {}
    found = _counts(spec, "replicas", "minReadySeconds")
    selector = spec.get("selector") or {}
    template = spec.get("template")
    if not selector:
        found.append(causes.required("spec.selector"))
    if template is None:
        return [*found, causes.required("spec.template")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        found.append(causes.invalid("spec.template.metadata.labels", labels, _MISMATCH))
    return found + pods.template("spec.template", template, ("Always",))


_STATEFUL_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_STATEFUL_TEXT = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)


def stateful_set(body: Object, old: Object | None) -> Causes:
    """Check a StatefulSet."""
    spec = body.get("spec") or {}
    policy = spec.get("podManagementPolicy")
    found = checks.one_of("spec.podManagementPolicy", policy, ("OrderedReady", "Parallel"))
    strategy = (spec.get("updateStrategy") or {}).get("type")
    found += checks.one_of("spec.updateStrategy.type", strategy, ("RollingUpdate", "OnDelete"))
    partition = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition")
    found += checks.not_negative("spec.updateStrategy.rollingUpdate.partition", partition)
    found += _counts(spec, "replicas", "minReadySeconds", "revisionHistoryLimit")
    templates = spec.get("volumeClaimTemplates") or ()
    names = [(each.get("metadata") or {}).get("name", "") for each in templates]
    claims = {name: {"name": name, "persistentVolumeClaim": {}} for name in names}
    found += _selected_template("statefulset", spec, claims)
    if old is not None and _fixed(spec) != _fixed(old.get("spec") or {}):
        found.append(causes.forbidden("spec", _STATEFUL_TEXT))
    return found


def _fixed(spec: Object) -> Object:
    kept = {key: value for key, value in spec.items() if key not in _STATEFUL_MUTABLE}
    # The status of a claim template says nothing and is not compared by the server either.
    kept["volumeClaimTemplates"] = [
        {key: value for key, value in each.items() if key != "status"}
        for each in kept.get("volumeClaimTemplates") or ()
    ]
    return kept


def daemon_set(body: Object, old: Object | None) -> Causes:
    """Check a DaemonSet."""
    spec = body.get("spec") or {}
    found = _selected_template("daemonset", spec)
    strategy = spec.get("updateStrategy") or {}
    allowed = ("RollingUpdate", "OnDelete")
    found += checks.one_of("spec.updateStrategy.type", strategy.get("type"), allowed)
    if strategy.get("type") == "RollingUpdate":
        rolling = strategy.get("rollingUpdate") or {}
        path = "spec.updateStrategy.rollingUpdate"
        for name in ("maxUnavailable", "maxSurge"):
            found += checks.number_or_percent(f"{path}.{name}", rolling.get(name, 0))
    found += _counts(spec, "minReadySeconds", "revisionHistoryLimit")
    return found + _same_selector(spec, old)


_JOB_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
)


def job(body: Object, old: Object | None) -> Causes:
    """Check a Job; its selector is made by the server and may still be missing."""
    spec = body.get("spec") or {}
    found = _counts(spec, *_JOB_COUNTS)
    found += _completion(spec)
    found += pods.template("spec.template", spec.get("template") or {}, _JOB_RESTARTS)
    if old is None:
        return found
    before = old.get("spec") or {}
    found += _completions_update(spec, before)
    found += checks.unchanged("spec.selector", spec.get("selector"), before.get("selector"))
    found += _job_template_update(spec, old)
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"):
        if spec.get(name) != before.get(name):
            value = spec.get(name)
            if isinstance(value, dict):
                value = internal_structs.shown("io.k8s.api.batch.v1.PodFailurePolicy", value)
            found.append(causes.invalid(f"spec.{name}", value, checks.IMMUTABLE))
    return found


def _completions_update(spec: Object, before: Object) -> Causes:
    path, wanted = "spec.completions", spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return checks.unchanged(path, wanted, before.get("completions"))
    if wanted == before.get("completions") or wanted == spec.get("parallelism"):
        return []
    return [causes.invalid(path, wanted, "can only be modified in tandem with spec.parallelism")]


#: What may change in the template of a Job that is suspended and never ran.
_SCHEDULING = ("nodeSelector", "tolerations", "affinity", "schedulingGates")


def _job_template_update(spec: Object, old: Object) -> Causes:
    before = old.get("spec") or {}
    template, former = spec.get("template") or {}, before.get("template") or {}
    compared = former
    if before.get("suspend") and not (old.get("status") or {}).get("startTime"):
        pod, known = template.get("spec") or {}, former.get("spec") or {}
        kept = {key: value for key, value in known.items() if key not in _SCHEDULING}
        changed = {key: pod[key] for key in _SCHEDULING if key in pod}
        compared = {**template, "spec": {**kept, **changed}}
    if template == compared:
        return []
    shown = internal_structs.shown("io.k8s.api.core.v1.PodTemplateSpec", template)
    return [causes.invalid("spec.template", shown, checks.IMMUTABLE)]


_JOB_RESTARTS = ("OnFailure", "Never")


def _completion(spec: Object) -> Causes:
    mode = spec.get("completionMode")
    found = checks.one_of("spec.completionMode", mode, ("Indexed", "NonIndexed"))
    if mode == "Indexed" and spec.get("completions") is None:
        detail = "when completion mode is Indexed"
        found.append(causes.required("spec.completions", detail))
    return found


_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_CRON_FIELD = re.compile(r"[0-9A-Za-z*/,?-]+\Z")


def cron_job(body: Object, old: Object | None) -> Causes:
    """Check a CronJob."""
    spec = body.get("spec") or {}
    found = _schedule(spec.get("schedule", ""))
    policy = spec.get("concurrencyPolicy")
    found += checks.one_of("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    found += _counts(
        spec, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )
    template = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template") or {}
    path = "spec.jobTemplate.spec.template"
    return found + pods.template(path, template, _JOB_RESTARTS)


def _schedule(text: str) -> Causes:
    path = "spec.schedule"
    if not text:
        return [causes.required(path)]
    if text in _MACROS or text.startswith("@every "):
        return []
    fields = text.split()
    if fields and fields[0].startswith(("TZ=", "CRON_TZ=")):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [causes.invalid(path, text, detail)]
    if len(fields) != 5:
        detail = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        return [causes.invalid(path, text, detail)]
    bad = next((each for each in fields if not _CRON_FIELD.match(each)), None)
    return [causes.invalid(path, text, f"failed to parse int from {bad}")] if bad else []
