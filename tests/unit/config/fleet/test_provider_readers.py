from datetime import timedelta

import pytest
import yaml

from volary.config.crosscheck import lint
from volary.config.fleet import fleet_files
from volary.config.server import settings_files
from volary.model import errors, metric_providers

FLEET = """
kind: Fleet
clusters: [{name: us}, {name: eu}]
analysisProviders:
- name: prometheus
  type: prometheus
  config:
    address: https://prometheus.example/${CLUSTER}/
    addresses: {eu: http://eu.example:9090/prometheus/}
    usernameFile: secrets/user
    passwordFile: /run/password
    headers: {X-Team: web}
    headerEnv: {X-Gate: GATE}
    tenant: web
    tls: {caFile: ca.pem, certFile: c.pem, keyFile: k.pem, serverName: prometheus}
    points: all
    maxConcurrency: 2
    share: 1s
    metrics: linkerd
    clusterLabel: cluster
- {name: old, type: PROMETHEUS, config: {address: "http://old", tokenEnv: TOKEN}}
- {name: dog, type: datadog, config: {apiKeyFile: a, applicationKeyEnv: B}}
- {name: watch, type: cloudwatch, config: {region: cn-north-1, sessionTokenFile: s}}
- {name: relic, type: newrelic, config: {account: "12", apiKeyEnv: A, api: insights}}
- {name: flux, type: influxdb, config: {address: "http://i", organization: o, tokenFile: t}}
- {name: trace, type: dynatrace, config: {address: "https://d", tokenEnv: T}}
- {name: paper, type: graphite, config: {address: "http://g"}}
- {name: own, type: http, config: {address: "http://h", jsonPath: "$.a[0]"}}
- {name: lines, type: loki, config: {address: "http://l", tenant: web, tokenEnv: T}}
- {name: found, type: elasticsearch, config: {address: "http://e", index: "a,b-*", apiKeyFile: k}}
- {name: spans, type: tempo, config: {address: "http://t", tenant: w, tenantHeader: X-Team}}
- {name: google, type: stackdriver, config: {project: shop-1, serviceAccountKeyFile: k.json}}
- {name: flow, type: splunk, config: {realm: us1, tokenFile: t}}
- {name: stream, type: splunk, config: {address: "https://s", tokenEnv: T}}
"""
PIPED = """
apiVersion: pipecd.dev/v1beta1
kind: Piped
spec:
  plugins:
    - name: kubernetes
      deployTargets: [{name: us}]
    - name: analysis
      config:
        analysisProviders:
          - name: prometheus
            type: PROMETHEUS
            config: {address: "http://prometheus", usernameFile: user, passwordFile: password}
          - {name: dog, type: DATADOG, config: {apiKeyFile: a, applicationKeyFile: b}}
          - {name: secret, type: DATADOG, config: {apiKeyData: eA==, applicationKeyFile: b}}
          - {name: logs, type: STACKDRIVER, config: {serviceAccountFile: f}}
"""
Secret = metric_providers.Secret


def test_providers_are_read() -> None:
    found = fleet_files.parse(FLEET, file="fleet.yaml", directory="conf").require()

    assert [each.name for each in found.providers] == [
        *("prometheus", "old", "dog", "watch", "relic", "flux", "trace", "paper", "own"),
        *("lines", "found", "spans", "google", "flow", "stream"),
    ]
    prometheus, old, dog, watch, relic, flux, trace, _, own = found.providers[:9]
    assert prometheus == metric_providers.Provider(
        "prometheus",
        metric_providers.ProviderType.PROMETHEUS,
        metric_providers.Access(
            address="https://prometheus.example/${CLUSTER}",
            addresses={"eu": "http://eu.example:9090/prometheus"},
            username=Secret("conf/secrets/user"),
            password=Secret("/run/password"),
            headers={"X-Team": "web", "X-Scope-OrgID": "web"},
            secret_headers={"X-Gate": Secret(variable="GATE")},
            tls=metric_providers.ProviderTls(
                "conf/ca.pem", "conf/c.pem", "conf/k.pem", "prometheus"
            ),
        ),
        metric_providers.PrometheusOptions(metric_providers.Metrics.LINKERD, "cluster"),
        points=metric_providers.Points.ALL,
        concurrency=2,
        share=timedelta(seconds=1),
    )
    assert prometheus.access.address_of("us") == "https://prometheus.example/us"
    assert prometheus.access.address_of("eu") == "http://eu.example:9090/prometheus"
    assert old.access.token == Secret(variable="TOKEN")
    assert dog.access.address == "https://api.datadoghq.com"
    assert dog.options == metric_providers.DatadogOptions(Secret("conf/a"), Secret(variable="B"))
    assert watch.access.address == "https://monitoring.cn-north-1.amazonaws.com.cn"
    assert watch.options == metric_providers.CloudWatchOptions(
        "cn-north-1",
        Secret(variable="AWS_ACCESS_KEY_ID"),
        Secret(variable="AWS_SECRET_ACCESS_KEY"),
        Secret("conf/s"),
    )
    assert relic.access.address == "https://insights-api.newrelic.com"
    assert relic.options == metric_providers.NewRelicOptions(
        "12", Secret(variable="A"), insights=True
    )
    assert flux.options == metric_providers.InfluxDbOptions("o", Secret("conf/t"))
    assert not flux.access.token
    assert trace.options == metric_providers.DynatraceOptions(Secret(variable="T"))
    assert own.options == metric_providers.HttpOptions("$.a[0]")
    lines, documents, spans, google, flow, stream = found.providers[9:]
    assert lines.access.headers == {"X-Scope-OrgID": "web"}
    assert lines.access.token == Secret(variable="T")
    assert documents.options == metric_providers.ElasticsearchOptions(
        "a,b-*", api_key=Secret("conf/k")
    )
    assert spans.access.headers == {"X-Team": "w"}
    assert google.access.address == "https://monitoring.googleapis.com"
    assert google.options == metric_providers.StackdriverOptions(
        "shop-1", service_account_key=Secret("conf/k.json")
    )
    assert flow.access.address == "https://stream.us1.signalfx.com"
    assert flow.options == metric_providers.SplunkOptions(Secret("conf/t"))
    assert not flow.access.token
    assert stream.access.address == "https://s"


def test_providers_of_a_piped_file_are_read() -> None:
    loaded = fleet_files.parse(PIPED, file="piped.yaml", directory="conf")

    prometheus, dog = loaded.require().providers
    assert prometheus.access.password == Secret("conf/password")
    # PipeCD asks for all points of the interval.
    assert prometheus.points is metric_providers.Points.ALL
    assert dog.options == metric_providers.DatadogOptions(Secret("conf/a"), Secret("conf/b"))
    assert [each.message for each in loaded.problems] == [
        "the provider secret is left out: secrets are read from files only",
        "the provider logs is left out: PROMETHEUS and DATADOG are asked",
    ]
    assert {each.severity for each in loaded.problems} == {errors.Severity.WARNING}


def test_the_controllers_settings_have_them_too() -> None:
    text = """
apiVersion: volary.dev/v1
kind: Controller
fleet: fleet.yaml
repositories: [{name: shop, url: "https://git.example/shop.git"}]
analysisProviders:
- {name: prometheus, type: prometheus, config: {address: "http://p", tokenFile: token}}
"""
    found = settings_files.parse(text, file="settings.yaml", directory="conf").require()

    assert found.providers[0].access.token == Secret("conf/token")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"type": "promethues"}, "type: must be 'prometheus'"),
        ({"config": {}}, "config.address: is required"),
        ({"config": {"address": "prometheus:9090"}}, "must be an address with https:// or http://"),
        ({"config": {"address": "http://u:p@x"}}, "must not have a user or password in it"),
        ({"config": {"address": "http://x/?a=b"}}, "must end with its path"),
        ({"config": {"address": "http://x", "password": "p"}}, "secrets do not belong into this"),
        ({"config": {"address": "http://x", "adress": "y"}}, "did you mean address?"),
        (
            {"config": {"address": "http://x", "addresses": {"ue": "http://y"}}},
            "the fleet has no cluster ue",
        ),
        ({"config": {"address": "http://x", "username": "u"}}, "a user name and a password go"),
        (
            {"config": {"address": "http://x", "tokenFile": "a", "tokenEnv": "B"}},
            "tokenFile and tokenEnv are both given",
        ),
        (
            {"config": {"address": "http://x", "headers": {"authorization": "Bearer x"}}},
            "holds a secret",
        ),
        ({"config": {"address": "http://x", "headers": {"a b": "x"}}}, "is not a header"),
        ({"config": {"address": "http://x", "headers": {"a": "x\ny"}}}, "is not a header"),
        ({"config": {"address": "http://x", "tls": {"certFile": "x"}}}, "certFile and keyFile go"),
        ({"config": {"address": "http://x", "tokenEnv": "A B"}}, "must be the name of a variable"),
        ({"config": {"address": "http://x", "share": "6m"}}, "must be at most 5m"),
        ({"config": {"address": "http://x", "maxConcurrency": 0}}, "maxConcurrency"),
        ({"config": {"address": "http://x", "podLabel": "a-b"}}, "is not the name of a label"),
        (
            {"type": "datadog", "config": {"apiKeyEnv": "A"}},
            "config.applicationKeyFile: is required",
        ),
        (
            {"type": "datadog", "config": {"apiKey": "x"}},
            "secrets do not belong into this file: write apiKeyFile or apiKeyEnv",
        ),
        ({"type": "cloudwatch", "config": {}}, "config.region: is required"),
        ({"type": "newrelic", "config": {"account": "x", "apiKeyEnv": "A"}}, "config.account"),
        (
            {"type": "http", "config": {"address": "http://x", "jsonPath": "$..a"}},
            "'..a' is not understood",
        ),
        ({"type": "elasticsearch", "config": {"address": "http://x"}}, "config.index: is required"),
        *(
            (
                {"type": "elasticsearch", "config": {"address": "http://x", "index": index}},
                "config.index: is not the name of an index",
            )
            for index in ("a/_search", "../x", "_all", "a b", "a,", "a?q")
        ),
        (
            {
                "type": "elasticsearch",
                "config": {"address": "http://x", "index": "a", "apiKeyEnv": "A", "tokenEnv": "B"},
            },
            "config.apiKeyEnv: another proof is given too",
        ),
        ({"type": "stackdriver", "config": {}}, "config.project: is required"),
        ({"type": "stackdriver", "config": {"project": "a/b"}}, "is not the id of a project"),
        (
            {"type": "stackdriver", "config": {"project": "a", "metadataAddress": "metadata"}},
            "config.metadataAddress: must be an address with https:// or http://",
        ),
        (
            {
                "type": "stackdriver",
                "config": {"project": "a", "username": "u", "passwordEnv": "P"},
            },
            "stackdriver is not asked with a password",
        ),
        (
            {"type": "stackdriver", "config": {"project": "a", "language": "sql"}},
            "config.language: must be 'mql' or 'promql'",
        ),
        (
            {
                "type": "stackdriver",
                "config": {"project": "a", "serviceAccountKeyFile": "k", "tokenFile": "t"},
            },
            "config.serviceAccountKeyFile: another proof is given too",
        ),
        ({"type": "splunk", "config": {"realm": "us1"}}, "config.tokenFile: is required"),
        ({"type": "splunk", "config": {"tokenEnv": "T"}}, "config.address: is required"),
        (
            {"type": "splunk", "config": {"tokenEnv": "T", "realm": "us1.example/"}},
            "config.realm: is not the name of a realm",
        ),
        (
            {
                "type": "splunk",
                "config": {"tokenEnv": "T", "realm": "us1", "address": "https://x"},
            },
            "config.realm: address and realm are both given",
        ),
    ],
)
def test_mistakes_are_named(entry: dict[str, object], expected: str) -> None:
    whole = {"name": "p", "type": "prometheus", **entry}
    text = yaml.safe_dump(
        {"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": [whole]}
    )

    loaded = fleet_files.parse(text, file="fleet.yaml")

    with pytest.raises(errors.UserError) as caught:
        loaded.require()
    shown = "\n".join(map(str, loaded.problems))
    assert expected in shown
    assert "analysisProviders[0]" in shown
    assert "u:p@" not in str(caught.value)


def test_a_name_counts_once() -> None:
    entry = {"name": "p", "type": "graphite", "config": {"address": "http://x"}}
    text = yaml.safe_dump(
        {"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": [entry, entry]}
    )

    with pytest.raises(errors.UserError, match="the provider p is listed twice"):
        fleet_files.parse(text, file="fleet.yaml").require()


APPLICATION = """
apiVersion: volary.dev/v1
kind: Application
metadata: {{name: shop}}
spec:
  workloads: [{{kind: Deployment, name: shop}}]
  pipeline:
    stages:
    - name: K8S_CANARY_ROLLOUT
    - name: ANALYSIS
      with:
        duration: 5m
        metrics:
        - {metric}
    - name: K8S_PRIMARY_ROLLOUT
    - name: K8S_CANARY_CLEAN
"""
GOOD = "name: errors, interval: 1m, expected: {max: 1}"


@pytest.mark.parametrize(
    ("metric", "providers", "expected"),
    [
        (f"{{{GOOD}, query: up}}", [], "warning: errors: there are no analysisProviders to query"),
        (f"{{{GOOD}, query: up, provider: b}}", ["a"], "error: errors: there is no provider b"),
        (f"{{{GOOD}, query: up}}", ["a", "c"], "error: errors: names no provider"),
        (f"{{{GOOD}, query: up}}", ["a"], ""),
        (
            "{name: request-duration, interval: 1m, expected: {max: 1}}",
            ["graphite"],
            "error: request-duration: is built in for Prometheus only",
        ),
        (
            f"{{{GOOD}, query: 'x{{{{ .AppCustomArgs.team }}}}'}}",
            ["a"],
            "error: the query needs the argument team, which has no value",
        ),
        (f"{{{GOOD}, query: '{{{{ tagret }}}}'}}", ["a"], "error: {{ tagret }} is not known"),
        (f"{{{GOOD}, query: 'app:{{{{ name }}}} AND x'}}", ["elasticsearch"], ""),
        (
            f"""{{{GOOD}, query: '{{app="x"}} |= "rate(x)"'}}""",
            ["loki"],
            "warning: errors: its query finds lines of logs, and no numbers",
        ),
        (f"""{{{GOOD}, query: 'sum(rate({{app="x"}} |= "e" [1m])) or vector(0)'}}""", ["loki"], ""),
        (
            f"""{{{GOOD}, query: '{{name="| rate()"}}'}}""",
            ["tempo"],
            "warning: errors: its query finds traces, and no numbers",
        ),
        (
            f"""{{{GOOD}, query: '{{status=error}} | avg_over_time(duration) by (x)'}}""",
            ["tempo"],
            "",
        ),
        (
            f"""{{{GOOD}, query: "data('publish')"}}""",
            ["splunk"],
            "warning: errors: its program publishes nothing",
        ),
        (f"""{{{GOOD}, query: "data('x').publish()"}}""", ["splunk"], ""),
        (
            f"""{{{GOOD}, query: '{{"term": {{"app": "{{{{ name }}}}"}}}}'}}""",
            ["elasticsearch"],
            "",
        ),
        (
            f"""{{{GOOD}, query: '{{"term": {{"app": "x"}}'}}""",
            ["elasticsearch"],
            "error: errors: elasticsearch is not asked: its query begins as JSON and is none",
        ),
        (
            f"""{{{GOOD}, query: '{{"query": {{}}}}'}}""",
            ["elasticsearch"],
            "error: errors: elasticsearch is not asked: its query has another query around it",
        ),
        (
            f"""{{{GOOD}, query: '{{"term": {{}}, "size": 0}}'}}""",
            ["elasticsearch"],
            "error: errors: elasticsearch is not asked: its query is not one clause",
        ),
    ],
)
def test_metrics_that_can_never_be_asked_are_found_before(
    metric: str, providers: list[str], expected: str
) -> None:
    more = {"elasticsearch": {"index": "logs-*"}, "splunk": {"tokenEnv": "T"}}
    types = ("graphite", "elasticsearch", "loki", "tempo", "splunk")
    listed = [
        {
            "name": each,
            "type": each if each in types else "prometheus",
            "config": {"address": "http://x", **more.get(each, {})},
        }
        for each in providers
    ]
    text = yaml.safe_dump(
        {"kind": "Fleet", "clusters": [{"name": "us"}], "analysisProviders": listed}
    )
    clusters = fleet_files.parse(text, file="fleet.yaml").require()

    found = lint.check({"shop/volary.yaml": APPLICATION.format(metric=metric)}, clusters)

    shown = [f"{each.severity.value}: {each.message}" for each in found]
    assert [each for each in shown if expected and each.startswith(expected)] == shown[:1]
    assert len(shown) == bool(expected)
