from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volary.config.stages import query_placeholders
from volary.model import analysis, errors

VALUES = query_placeholders.Values(
    application="shop",
    variant="canary",
    namespace="web",
    workload="shop-canary",
    primary="shop",
    cluster="us",
    interval=timedelta(seconds=90),
    service="shop-canary",
    arguments={"team": "a", "with-dash": "b"},
    variant_arguments={"port": "80"},
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate(x[5m])", "rate(x[5m])"),
        ('{app="{{ .App.Name }}"}', '{app="shop"}'),
        ("{{.Variant.Name}} {{- .K8s.Namespace -}}", "canaryweb"),
        ("{{ .AppCustomArgs.team }}{{ .VariantCustomArgs.port }}", "a80"),
        ('{{ index .AppCustomArgs "with-dash" }}', "b"),
        ("{{ name }}/{{ namespace }}/{{target}}/{{ primary }}", "shop/web/shop-canary/shop"),
        ("{{ service }} [{{ interval }}] {{ cluster }}", "shop-canary [90s] us"),
        ("{{ variables.team }}", "a"),
        ("{{- name -}}", "shop"),
        ("{{- name }}", "shop"),
        ("{{ name -}}", "shop"),
    ],
)
def test_names_are_replaced(text: str, expected: str) -> None:
    assert query_placeholders.fill(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ .App.Nmae }}", "{{ .App.Nmae }} is not known\nhint: did you mean .App.Name?"),
        ("{{ tagret }}", "did you mean target?"),
        ("{{ ingress }}", "{{ ingress }} has no value for canary on us"),
        ("{{ .AppCustomArgs.taem }}", "did you mean team?"),
        ("{{ .VariantCustomArgs.x }}", "needs the argument x, which has no value"),
        ("{{ if .App.Name }}", "is more than a name"),
        ("{{ .App.Name | upper }}", "is more than a name"),
        ("{{ }}", "is not known"),
        ("{{ .App.Name", "the query has {{ without }}"),
    ],
)
def test_holes_are_refused(text: str, message: str) -> None:
    with pytest.raises(errors.UserError) as caught:
        query_placeholders.fill(text, VALUES)

    assert message in str(caught.value)


def test_all_holes_are_said_at_once() -> None:
    with pytest.raises(errors.UserError) as caught:
        query_placeholders.fill("{{ a }} {{ route }} {{ variables.b }} {{ a }}", VALUES)

    assert len(caught.value.problems) == 3


def test_pipecds_namespace_is_an_argument() -> None:
    values = query_placeholders.Values(
        "shop", "canary", "web", "w", "w", "us", timedelta(1), arguments={"k8sNamespace": "other"}
    )

    filled = query_placeholders.fill("{{ .K8s.Namespace }} {{ namespace }}", values)

    assert filled == "other web"


def test_arguments_are_needed_for_both_sides() -> None:
    rule = analysis.Rule(
        "errors",
        "p",
        "{{ .VariantCustomArgs.port }} {{ .AppCustomArgs.team }}",
        strategy=analysis.Strategy.CANARY_BASELINE,
        arguments={"team": "a"},
        canary_arguments={"port": "80"},
    )

    [(field, found)] = query_placeholders.of_rule(rule)

    assert field == "query"
    assert found.message == "the query needs the argument port, which has no value for baseline"


@given(st.text(alphabet="{} .abAN-", max_size=30))
def test_any_text_is_filled_or_refused(text: str) -> None:
    try:
        filled = query_placeholders.fill(text, VALUES)
    except errors.UserError:
        return
    assert "{{" not in text or filled != text


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1, "1s"), (60, "1m"), (90, "90s"), (3600, "1h"), (0.5, "500ms"), (5400, "90m")],
)
def test_intervals_are_written_as_metric_systems_do(seconds: float, expected: str) -> None:
    assert query_placeholders.interval_text(timedelta(seconds=seconds)) == expected
