"""The verbs of a cluster without its controllers: what a write does and what is refused."""

from typing import Any

import pytest

from fixed_clock import FixedClock
from kube_sandbox.apimachinery.meta import api_errors
from kube_sandbox.apimachinery.scheme import kinds
from kube_sandbox.apiserver.registry import registry
from kube_sandbox.apiserver.storage import verbs

Json = dict[str, Any]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def cluster(clock: FixedClock) -> registry.Registry:
    found = registry.Registry(clock, registry.Settings(seed=1))
    found.create(kinds.NAMESPACE, "", {"metadata": {"name": "a"}})
    return found


CONFIG_MAP = kinds.built_in("", "v1", "ConfigMap")
DEPLOYMENT = kinds.built_in("apps", "v1", "Deployment")


VERSION = {"resourceVersion": "1"}


def _config_map(name: str = "c", **metadata: Any) -> Json:
    return {"metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def _deployment(image: str = "nginx:1", **spec: Any) -> Json:
    labels = {"app": "d"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "m", "image": image}]},
            },
            **spec,
        },
    }


def _pod(name: str = "p", **spec: Any) -> Json:
    return {
        "metadata": {"name": name, "labels": {"app": "p"}},
        "spec": {"containers": [{"name": "m", "image": "i"}], **spec},
    }


def _refusal(code: int, reason: str) -> Any:
    class Refusal:
        def __enter__(self) -> "Refusal":
            self.caught = pytest.raises(api_errors.StatusError)
            self.info = self.caught.__enter__()
            return self

        def __exit__(self, *about: Any) -> bool:
            handled = bool(self.caught.__exit__(*about))
            assert (self.info.value.code, self.info.value.reason) == (code, reason)
            self.message = self.info.value.message
            return handled

    return Refusal()


def test_generated_names_are_free(cluster: registry.Registry) -> None:
    made = [
        cluster.create(CONFIG_MAP, "a", {"metadata": {"generateName": "g-"}}).body
        for _ in range(20)
    ]

    names = {each["metadata"]["name"] for each in made}
    assert len(names) == 20
    assert all(each.startswith("g-") and len(each) == 7 for each in names)


def test_names_are_required(cluster: registry.Registry) -> None:
    with _refusal(422, "Invalid") as refused:
        cluster.create(CONFIG_MAP, "a", {"metadata": {}})
    assert "name or generateName is required" in refused.message


def test_a_terminating_namespace_takes_nothing_new(cluster: registry.Registry) -> None:
    cluster.delete(kinds.NAMESPACE, "", "a")

    with _refusal(403, "Forbidden") as refused:
        cluster.create(CONFIG_MAP, "a", _config_map())
    assert "is being terminated" in refused.message


def test_a_namespace_goes_once_it_is_finalized(cluster: registry.Registry) -> None:
    marked = cluster.delete(kinds.NAMESPACE, "", "a")

    assert not marked.gone
    assert marked.body["status"]["phase"] == "Terminating"
    cluster.finalize("a", {**marked.body, "spec": {"finalizers": []}})
    assert cluster.find(kinds.NAMESPACE, "", "a") is None


def test_generation_counts_changes_of_the_spec_only(cluster: registry.Registry) -> None:
    cluster.create(DEPLOYMENT, "a", _deployment())
    merge = verbs.PatchType.MERGE

    def generation_after(change: Json, subresource: str = "") -> int:
        written = cluster.patch(DEPLOYMENT, "a", "d", change, merge, subresource=subresource)
        return int(written.body["metadata"]["generation"])

    assert generation_after({"metadata": {"labels": {"x": "y"}}}) == 1
    assert generation_after({"status": {"replicas": 3}}, "status") == 1
    assert generation_after({"spec": {"replicas": 3}}) == 2
    assert generation_after({"spec": {"replicas": 3}}) == 2
    assert generation_after({"metadata": {"annotations": {"x": "y"}}}) == 3


def test_each_endpoint_writes_its_own_part(cluster: registry.Registry) -> None:
    cluster.create(DEPLOYMENT, "a", {**_deployment(), "status": {"replicas": 9}})
    live = cluster.get(DEPLOYMENT, "a", "d")
    changed = {**live, "status": {"replicas": 5}, "spec": {**live["spec"], "replicas": 7}}

    by_status = cluster.update_status(DEPLOYMENT, "a", "d", changed).body
    assert live["status"] == {}
    assert (by_status["status"], by_status["spec"]) == ({"replicas": 5}, live["spec"])

    wanted = {**by_status, "status": {}, "spec": {**live["spec"], "replicas": 7}}
    by_main = cluster.update(DEPLOYMENT, "a", "d", wanted).body
    assert by_main["status"] == {"replicas": 5}
    assert by_main["spec"]["replicas"] == 7


def test_a_write_that_changes_nothing_is_not_stored(
    cluster: registry.Registry, clock: FixedClock
) -> None:
    options = verbs.Options(manager="m")
    cluster.apply(DEPLOYMENT, "a", "d", _deployment(), options)
    before = cluster.storage.revision
    clock.forward(hours=1)

    again = cluster.apply(DEPLOYMENT, "a", "d", _deployment(), options).body
    cluster.update(DEPLOYMENT, "a", "d", again)
    cluster.patch(DEPLOYMENT, "a", "d", {}, verbs.PatchType.MERGE)

    assert cluster.storage.revision == before


def test_stale_writes_are_refused(cluster: registry.Registry) -> None:
    old = cluster.create(CONFIG_MAP, "a", _config_map()).body
    cluster.patch(CONFIG_MAP, "a", "c", {"data": {"k": "2"}}, verbs.PatchType.MERGE)

    with _refusal(409, "Conflict"):
        cluster.update(CONFIG_MAP, "a", "c", {**old, "data": {}})
    version = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}}
    with _refusal(409, "Conflict"):
        cluster.patch(CONFIG_MAP, "a", "c", version, verbs.PatchType.MERGE)
    with _refusal(409, "Conflict"):
        cluster.update(CONFIG_MAP, "a", "c", _config_map(uid="another"))


def test_identity_belongs_to_the_server(cluster: registry.Registry) -> None:
    made = cluster.create(CONFIG_MAP, "a", _config_map(uid="mine", generation=9)).body
    theirs = {"creationTimestamp": "2000-01-01T00:00:00Z", "deletionTimestamp": None}

    changed = cluster.update(CONFIG_MAP, "a", "c", _config_map(**theirs)).body

    assert made["metadata"]["uid"] != "mine"
    assert "generation" not in made["metadata"]
    assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]


def test_a_dry_run_says_all_and_stores_nothing(cluster: registry.Registry) -> None:
    dry = verbs.Options(dry_run=True, manager="m")
    before = cluster.storage.revision

    made = cluster.apply(DEPLOYMENT, "a", "d", _deployment(), dry)
    service = cluster.create(
        kinds.SERVICE, "a", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}, dry
    )

    assert made.created
    assert made.body["spec"]["replicas"] == 1
    assert service.body["spec"]["clusterIP"]
    assert cluster.storage.revision == before


def test_finalizers_hold_an_object_until_the_last_is_gone(cluster: registry.Registry) -> None:
    cluster.create(CONFIG_MAP, "a", _config_map(finalizers=["x.example.com/hold"]))

    first = cluster.delete(CONFIG_MAP, "a", "c")
    second = cluster.delete(CONFIG_MAP, "a", "c")
    with _refusal(422, "Invalid"):
        more = {"metadata": {"finalizers": ["x.example.com/hold", "x.example.com/new"]}}
        cluster.patch(CONFIG_MAP, "a", "c", more, verbs.PatchType.MERGE)
    cluster.patch(CONFIG_MAP, "a", "c", {"metadata": {"finalizers": None}}, verbs.PatchType.MERGE)

    assert not first.gone
    assert second.body == first.body
    assert cluster.find(CONFIG_MAP, "a", "c") is None


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])],
)
def test_propagation_leaves_a_mark_for_the_garbage_collector(
    cluster: registry.Registry, propagation: str, finalizers: list[str]
) -> None:
    cluster.create(DEPLOYMENT, "a", _deployment())

    deleted = cluster.delete(DEPLOYMENT, "a", "d", verbs.Deletion(propagation=propagation))

    assert not deleted.gone
    assert deleted.body["metadata"]["finalizers"] == finalizers


def test_a_running_pod_gets_its_grace_period(cluster: registry.Registry) -> None:
    for name in ("waits", "runs"):
        cluster.create(kinds.POD, "a", _pod(name, terminationGracePeriodSeconds=7))
    cluster.bind("a", "runs", "n1")

    waiting = cluster.delete(kinds.POD, "a", "waits")
    running = cluster.delete(kinds.POD, "a", "runs")
    again = cluster.delete(kinds.POD, "a", "runs", verbs.Deletion(grace_seconds=60))
    killed = cluster.delete(kinds.POD, "a", "runs", verbs.Deletion(grace_seconds=0))

    assert waiting.gone
    assert running.body["metadata"]["deletionGracePeriodSeconds"] == 7
    assert running.body["metadata"]["deletionTimestamp"] == "2030-01-01T12:00:07Z"
    assert again.body == running.body
    assert killed.gone


def test_a_claim_in_use_goes_with_its_last_pod(cluster: registry.Registry) -> None:
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    cluster.create(kinds.PERSISTENT_VOLUME_CLAIM, "a", claim)
    cluster.create(kinds.POD, "a", _pod(volumes=[volume]))

    held = cluster.delete(kinds.PERSISTENT_VOLUME_CLAIM, "a", "c")
    cluster.delete(kinds.POD, "a", "p", verbs.Deletion(grace_seconds=0))

    assert not held.gone
    assert cluster.find(kinds.PERSISTENT_VOLUME_CLAIM, "a", "c") is None


def test_a_pod_is_bound_once(cluster: registry.Registry) -> None:
    cluster.create(kinds.POD, "a", _pod())

    bound = cluster.bind("a", "p", "n1").body

    assert bound["spec"]["nodeName"] == "n1"
    with _refusal(409, "Conflict"):
        cluster.bind("a", "p", "n2")


def test_services_share_no_address_and_give_theirs_back(cluster: registry.Registry) -> None:
    def service(name: str, **spec: Any) -> Json:
        return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}

    first = cluster.create(kinds.SERVICE, "a", service("one", type="NodePort")).body["spec"]
    taken = {"clusterIP": first["clusterIP"]}
    with _refusal(422, "Invalid") as refused:
        cluster.create(kinds.SERVICE, "a", service("two", **taken))
    port = {"port": 80, "nodePort": first["ports"][0]["nodePort"]}
    with _refusal(422, "Invalid"):
        cluster.create(kinds.SERVICE, "a", service("two", type="NodePort", ports=[port]))
    cluster.delete(kinds.SERVICE, "a", "one")
    second = cluster.create(
        kinds.SERVICE, "a", service("two", type="NodePort", **taken, ports=[port])
    ).body["spec"]

    assert "already allocated" in refused.message
    assert second["clusterIP"] == first["clusterIP"]
    assert second["ports"][0]["nodePort"] == first["ports"][0]["nodePort"]


def test_an_update_keeps_a_services_address_and_ports(cluster: registry.Registry) -> None:
    body = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
    before = cluster.create(kinds.SERVICE, "a", body).body["spec"]

    after = cluster.update(kinds.SERVICE, "a", "s", body).body["spec"]

    assert after["clusterIP"] == before["clusterIP"]
    assert after["ports"] == before["ports"]


def test_the_scale_subresource_reads_and_writes_replicas(cluster: registry.Registry) -> None:
    cluster.create(DEPLOYMENT, "a", _deployment(replicas=2))
    scale = cluster.scale(DEPLOYMENT, "a", "d")

    wanted = {**scale, "spec": {"replicas": 5}}
    cluster.update(DEPLOYMENT, "a", "d", wanted, subresource="scale")
    live = cluster.get(DEPLOYMENT, "a", "d")

    assert scale["spec"] == {"replicas": 2}
    assert scale["status"]["selector"] == "app=d"
    assert live["spec"]["replicas"] == 5
    assert live["metadata"]["generation"] == 2
    with _refusal(409, "Conflict"):
        cluster.update(DEPLOYMENT, "a", "d", wanted, subresource="scale")
    with _refusal(422, "Invalid"):
        cluster.update(DEPLOYMENT, "a", "d", {"spec": {"replicas": -1}}, subresource="scale")


def test_an_applied_scale_owns_the_replicas(cluster: registry.Registry) -> None:
    options = verbs.Options(manager="scaler")
    cluster.apply(DEPLOYMENT, "a", "d", _deployment(), verbs.Options(manager="owner"))

    cluster.apply(DEPLOYMENT, "a", "d", {"spec": {"replicas": 4}}, options, subresource="scale")

    with _refusal(409, "Conflict") as refused:
        cluster.apply(DEPLOYMENT, "a", "d", _deployment(replicas=1), verbs.Options(manager="owner"))
    assert '"scaler" with subresource "scale"' in refused.message


def test_evictions_ask_the_budget(cluster: registry.Registry) -> None:
    for name in ("p", "q"):
        cluster.create(kinds.POD, "a", _pod(name))
        cluster.bind("a", name, "n1")
        live = cluster.get(kinds.POD, "a", name)
        running = {**live["status"], "phase": "Running"}
        cluster.update_status(kinds.POD, "a", name, {**live, "status": running})
    budget = kinds.POD_DISRUPTION_BUDGET
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}}
    made = cluster.create(budget, "a", {"metadata": {"name": "b"}, "spec": spec}).body
    allowed = {**made["status"], "disruptionsAllowed": 1}
    cluster.update_status(budget, "a", "b", {**made, "status": allowed})

    evicted = cluster.evict("a", "p")
    with _refusal(429, "TooManyRequests"):
        cluster.evict("a", "q")

    assert evicted.body["metadata"]["deletionTimestamp"]
    assert cluster.get(budget, "a", "b")["status"]["disruptionsAllowed"] == 0


def test_events_are_one_kind_in_two_versions(cluster: registry.Registry) -> None:
    newer = kinds.built_in("events.k8s.io", "v1", "Event")
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "a"},
        "message": "hello",
        "reason": "Test",
        "type": "Normal",
    }
    cluster.create(kinds.EVENT, "a", body)

    told = cluster.get(newer, "a", "e")

    assert told["apiVersion"] == "events.k8s.io/v1"
    assert told["note"] == "hello"
    assert told["regarding"]["name"] == "p"
    assert "message" not in told


def test_autoscalers_are_one_kind_in_two_versions(cluster: registry.Registry) -> None:
    older = kinds.built_in("autoscaling", "v1", "HorizontalPodAutoscaler")
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    spec = {"scaleTargetRef": target, "maxReplicas": 4, "targetCPUUtilizationPercentage": 60}

    written = cluster.create(older, "a", {"metadata": {"name": "h"}, "spec": spec})

    newer = cluster.get(kinds.HORIZONTAL_POD_AUTOSCALER, "a", "h")
    assert written.body["spec"] == {**spec, "minReplicas": 1}
    assert newer["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 60
    assert any("does not scale" in each for each in written.warnings)


def test_field_validation_refuses_warns_or_keeps_silent(cluster: registry.Registry) -> None:
    body = {**_config_map(), "dta": {}}
    strict = verbs.Options(validation=verbs.Validation.STRICT, dry_run=True)
    warn = verbs.Options(validation=verbs.Validation.WARN, dry_run=True)

    with _refusal(400, "BadRequest") as refused:
        cluster.create(CONFIG_MAP, "a", body, strict)
    warned = cluster.create(CONFIG_MAP, "a", body, warn)
    silent = cluster.create(CONFIG_MAP, "a", body, verbs.Options(dry_run=True))

    assert 'strict decoding error: unknown field "dta"' in refused.message
    assert warned.warnings == ('unknown field "dta"',)
    assert silent.warnings == ()


def test_kinds_that_are_not_served_are_not_found(cluster: registry.Registry) -> None:
    with _refusal(404, "NotFound"):
        cluster.kind("v1", "ComponentStatus")


def test_a_whole_selection_can_be_deleted(cluster: registry.Registry) -> None:
    for name in ("c1", "c2", "c3"):
        cluster.create(CONFIG_MAP, "a", _config_map(name, labels={"n": name}))

    gone = cluster.delete_collection(CONFIG_MAP, "a", verbs.Query(label_selector="n in (c1,c3)"))

    assert [each.body["metadata"]["name"] for each in gone] == ["c1", "c3"]
    assert [each["metadata"]["name"] for each in cluster.objects(CONFIG_MAP, "a")] == ["c2"]


def test_an_apply_that_names_an_object_that_is_gone_creates_no_other(
    cluster: registry.Registry,
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "old"}}

    with _refusal(409, "Conflict") as refused:
        cluster.apply(CONFIG_MAP, "a", "c", body, verbs.Options(manager="m"))

    assert "no existing object was found" in refused.message


def test_an_apply_may_insist_on_a_version(cluster: registry.Registry) -> None:
    options = verbs.Options(manager="m")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    cluster.apply(CONFIG_MAP, "a", "c", body, options)
    insisting = {**body, "metadata": {"name": "c", "resourceVersion": "1"}, "data": {"k": "v"}}

    with _refusal(409, "Conflict"):
        cluster.apply(CONFIG_MAP, "a", "c", insisting, options)


def test_an_apply_that_insists_on_a_version_may_create(cluster: registry.Registry) -> None:
    """A POST may not."""
    options = verbs.Options(manager="m")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    insisting = {**body, "metadata": {"name": "c", "resourceVersion": "1"}}

    made = cluster.apply(CONFIG_MAP, "a", "c", insisting, options).body

    assert made["metadata"]["resourceVersion"] not in ("", "1")
    with _refusal(500, ""):
        cluster.create(CONFIG_MAP, "a", {**insisting, "metadata": {"name": "d", **VERSION}})


def test_preconditions_guard_deletions(cluster: registry.Registry) -> None:
    made = cluster.create(CONFIG_MAP, "a", _config_map()).body
    stale = verbs.Deletion(preconditions=verbs.Preconditions(resource_version="1"))
    exact = verbs.Preconditions(made["metadata"]["uid"], made["metadata"]["resourceVersion"])

    with _refusal(409, "Conflict"):
        cluster.delete(CONFIG_MAP, "a", "c", stale)

    assert cluster.delete(CONFIG_MAP, "a", "c", verbs.Deletion(preconditions=exact)).gone
