"""Requests of metrics that could never be sent are found before a run."""

import pytest

from volary.config.application import application_files
from volary.config.crosscheck import fleet_checks, lint
from volary.config.fleet import fleet_files
from volary.model import errors

HEAD = """\
apiVersion: volary.dev/v1
kind: Application
metadata: {name: shop}
spec:
  pipeline:
    stages:
    - name: ANALYSIS
      with:
        duration: 5m
        metrics:
        - name: errors
          interval: 1m
          strategy: %s
          query: |
"""
EXPECTED = "          expected: {max: 1}\n"
FLEET = "apiVersion: volary.dev/v1\nkind: Fleet\nclusters: [{name: us}]\n%s"
OWN = "analysisProviders: [{name: own, type: http, config: {address: 'https://own'%s}}]\n"
PROMETHEUS = "analysisProviders: [{name: own, type: prometheus, config: {address: 'https://p'}}]\n"


def written(query: str, strategy: str = "THRESHOLD") -> str:
    lines = "".join(f"            {line}\n" for line in query.splitlines())
    return HEAD % strategy + lines + (EXPECTED if strategy == "THRESHOLD" else "")


def told(query: str, strategy: str = "THRESHOLD", **beside: str) -> list[errors.Problem]:
    """What lint says of the query, with other files of the directory."""
    files = {"volary.yaml": written(query, strategy)}
    files |= {f"{kind}.yaml": text for kind, text in beside.items()}
    found = lint.check(files)
    return [each for each in found if each.where.path.endswith(".query")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DELETE /api/errors", "DELETE is neither GET nor POST"),
        ("/a/../../admin", "its path leads out of the provider's address"),
        ("//other/errors", "the first line of its query has to be a path"),
        ("/errors\n$.data..rate", "'..rate' is not understood"),
        ("/errors?app={{ name }}\n$.data[?(@.a)]", "is not understood"),
        ("/errors\n$.a\n$.b", "its query says twice where the numbers are"),
    ],
)
def test_what_nobody_would_send_is_an_error_of_the_file_alone(query: str, message: str) -> None:
    (found,) = told(query)

    assert message in found.message
    assert (found.where.file, found.where.line) == ("volary.yaml", 14)
    assert found.severity is errors.Severity.ERROR
    assert found.hint


def test_an_earlier_time_has_to_be_in_the_query() -> None:
    (found,) = told("/errors?app=shop", "PREVIOUS")
    assert "neither ${START} nor ${END}" in found.message
    assert told("/errors?from=${START}", "PREVIOUS") == []


@pytest.mark.parametrize(
    "query",
    [
        "sum(rate(errors_total{app='{{ name }}'}[5m]))",
        "errors / requests",
        'from(bucket: "shop")\n  |> range(start: -1m)',
        "SELECT count(*) FROM Transaction",
        "/errors?app={{ name }}&from=${START}\n$.data[*]['error rate']",
        'POST /search\n$.count\n{"app": "{{ name }}"}',
    ],
)
def test_what_somebody_may_understand_is_left_to_them(query: str) -> None:
    assert told(query) == []
    assert told(query, fleet=FLEET % PROMETHEUS) == []


@pytest.mark.parametrize("query", ["POST /search", 'GET /search\n{"app": "shop"}'])
def test_posting_is_told_where_the_settings_do_not_allow_it(query: str) -> None:
    (found,) = told(query, fleet=FLEET % (OWN % ""))
    assert found.message == "errors: own is not asked: only GET without a body is allowed"
    assert "allowPost" in found.hint
    assert told(query, fleet=FLEET % (OWN % ", allowPost: true")) == []


def test_planning_says_the_same_and_knows_that_plain_words_are_no_path() -> None:
    members = fleet_files.parse(FLEET % (OWN % ""), file="fleet.yaml").require()
    for query, message in (("POST /search", "only GET"), ("errors_total", "has to be a path")):
        loaded = application_files.parse(written(query), file="volary.yaml", default_name="x")
        found = fleet_checks.against_fleet(
            loaded.require(), members, document=loaded.document, base=loaded.base
        )
        assert [each.severity for each in found if message in each.message] == ["error"]
