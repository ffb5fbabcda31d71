"""Reads metrics that a Job in the cluster decides, and refuses those that no cluster would run."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from volary.config.decoding import readings
from volary.config.stages import metric_sections
from volary.config.text import yaml

#: Of the whole Job.
LONGEST = timedelta(hours=1)
_USUAL = timedelta(minutes=5)
_JOB = "job"
#: Stands where other metrics have a query.
_SHOWN = "a Job in the cluster"
#: What says how a query is asked and its answer compared, as it is written.
_IDLE = (
    *("provider", "query", "total_query", "kind", "strategy", "expected", "max", "min"),
    *("deviation", "minimum_effect", "judgement", "significance", "minimum_samples"),
    *("median_per_look", "delay", "decider", "slo", "history"),
    *("success_condition", "failure_condition", "inconclusive_limit"),
    *("canary_arguments", "baseline_arguments", "primary_arguments"),
)
_POLICIES = ("Never", "OnFailure")


def filled(
    reading: readings.Reading, read: metric_sections.Metric, path: yaml.Path
) -> metric_sections.Metric:
    """Return the metric with what its Job implies; what is wrong with it is noted."""
    at = (*path, _JOB)
    if read.job is None:
        return read
    fields = metric_sections.Metric.model_fields
    if not reading.refuse_in_pipecd(at, _JOB):
        for name in sorted(read.model_fields_set & set(_IDLE)):
            message = "a Job decides by itself, and is asked nothing"
            reading.error((*path, fields[name].alias or name), message, "remove it")
        for where, message, hint in _faults(read.job.spec):
            reading.error((*at, "spec", *where), message, hint)
    implied = {name: fields[name].get_default(call_default_factory=True) for name in _IDLE}
    implied |= {"query": _SHOWN, "expected": metric_sections.Expected(min=1.0)}
    if "timeout" not in read.model_fields_set:
        implied["timeout"] = _USUAL
    return read.model_copy(update=implied)


def _faults(spec: Mapping[str, Any]) -> Iterator[tuple[yaml.Path, str, str]]:
    """Yield what is wrong with the ``spec`` of a Job, with its place in it."""
    at: yaml.Path = ("template", "spec")
    pod = _mapping(_mapping(spec.get("template")).get("spec"))
    containers = pod.get("containers")
    if not isinstance(containers, list) or not containers:
        hint = "write template: {spec: {containers: [{name: check, image: …}]}}"
        yield (*at, "containers"), "is required", hint
        containers = []
    for i, container in enumerate(containers):
        for name in ("name", "image"):
            if not isinstance(_mapping(container).get(name), str):
                yield (*at, "containers", i, name), "is required", ""
    if pod.get("restartPolicy", _POLICIES[0]) not in _POLICIES:
        yield (*at, "restartPolicy"), "is Never or OnFailure for a Job", "remove it"
    for name in ("suspend", "manualSelector", "selector"):
        if spec.get(name):
            yield (name,), "is not for a Job that is run at once", "remove it"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
