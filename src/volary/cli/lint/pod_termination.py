"""What ``volary lint`` says of pods that end while somebody still sends them requests.

A pod that is deleted is told to stop and taken out of its Service at the same moment; proxies
follow later, and what they send meanwhile meets a server that has gone (Kubernetes: termination of
pods). A ``preStop`` hook that sleeps keeps it until they have. Nothing is rendered, as in
`manifest_checks`.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from volary.cli.lint import manifest_checks
from volary.config.decoding import values
from volary.manifests import objects
from volary.manifests.services import service_targets, services
from volary.manifests.workloads import workloads
from volary.model import applications, errors, json
from volary.model.objects import manifest

#: As Kubernetes has it where nothing is said.
_GRACE = 30
#: ``sleep 5``, ``/bin/sh -c "sleep 5"``, also with more after it.
_SLEEP = re.compile(r"\bsleep (\d+(?:\.\d+)?)s?\b")
#: Where routes limit how long a request takes, by kind: to their rules, and within one.
_TIMEOUTS = {
    "VirtualService": (("spec", "http"), ("timeout",)),
    "HTTPRoute": (("spec", "rules"), ("timeouts", "request")),
}


def check(root: str, loaded: manifest_checks.LoadedFiles) -> Iterator[errors.Problem]:
    """Yield why workloads of applications with a Service lose requests when their pods end."""
    for path, loaded_file in loaded.items():
        described = loaded_file.application
        if described is None:
            continue
        manifests = manifest_checks.plain_manifests(described, root, posixpath.dirname(path))
        # The first is the one that is released, as in the pipeline.
        for service in services.find(manifests, described.service)[:1]:
            for item in service_targets.selected(manifests, service):
                yield from _of(item, described, _longest_request(manifests))


def _of(
    item: manifest.Manifest, described: applications.Application, longest: timedelta
) -> Iterator[errors.Problem]:
    spec = workloads.pod_spec(item.body) or {}
    routing = described.traffic_routing
    late = int(routing.patience.total_seconds())
    slept = max((_slept(each) for each in objects.mappings(spec, "containers")), default=None)
    if slept is not None and slept < 0:
        yield _warning(
            item,
            f"its pods end at once, while requests are still sent to them: {routing.method} routers"
            f" follow up to {late} s later, and no container has a preStop hook",
            f"add lifecycle: {{preStop: {{sleep: {{seconds: {late}}}}}}} to the container",
        )
        return
    if slept is None or slept == float("inf"):
        return
    if slept < late:
        yield _warning(
            item,
            f"its preStop hook sleeps {slept:g} s, and {routing.method} routers may follow up to"
            f" {late} s later",
            f"sleep {late} s, or say in trafficRouting.drainDelay how late they are",
        )
    grace = spec.get("terminationGracePeriodSeconds", _GRACE)
    needed = slept + longest.total_seconds()
    if isinstance(grace, int) and grace <= needed:
        requests = f" and requests of up to {longest.total_seconds():g} s" if longest else ""
        yield _warning(
            item,
            f"a grace period of {grace} s leaves nothing after its preStop hook of {slept:g} s"
            f"{requests}",
            f"set terminationGracePeriodSeconds to more than {needed:g}",
        )


def _slept(container: json.JsonObject) -> float:
    """Return the seconds of a preStop hook; without end where it is not known, -1 without one."""
    hook = objects.mapping(container, "lifecycle", "preStop")
    if not hook:
        return -1.0
    if "sleep" in hook:
        seconds = objects.mapping(hook, "sleep").get("seconds")
        return float(seconds) if isinstance(seconds, int) else float("inf")
    words = objects.sequence(hook, "exec", "command")
    found = _SLEEP.search(" ".join(map(str, words)))
    return float(found[1]) if found else float("inf")


def _longest_request(manifests: Sequence[manifest.Manifest]) -> timedelta:
    """Return how long requests may take by the routes; nothing where these do not say."""
    longest = timedelta()
    for item in manifests:
        rules, limit = _TIMEOUTS.get(item.kind, ((), ()))
        for rule in objects.mappings(item.body, *rules) if rules else ():
            try:
                longest = max(longest, values.duration(objects.value(rule, *limit) or 0))
            except (TypeError, ValueError):
                continue
    return longest


def _warning(item: manifest.Manifest, text: str, hint: str) -> errors.Problem:
    return errors.Problem(f"{item.key.title}: {text}", item.origin, hint, errors.Severity.WARNING)
