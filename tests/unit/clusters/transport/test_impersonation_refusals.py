"""What a real API server answers to whom it lets be impersonated is about the request alone."""

import json
from pathlib import Path

import pytest

from volary.clusters.api import api_errors
from volary.clusters.kubeconfig import connections
from volary.clusters.transport import impersonation_refusals

RECORDED = Path(__file__).parents[4] / "sandbox/tests/truth/recorded/authorization.json"
STEPS = [
    step["response"]
    for step in json.loads(RECORDED.read_text())["steps"]
    if step["response"]["status"] >= 400
]
DEPLOYER = connections.Connection(
    "us",
    "https://us",
    impersonation=connections.Impersonation("system:serviceaccount:team-a:deployer"),
)


@pytest.mark.parametrize("answer", STEPS, ids=range(len(STEPS)))
def test_recorded_refusals(answer: dict[str, object]) -> None:
    body, code = answer["body"], answer["status"]
    assert isinstance(body, dict)
    assert isinstance(code, int)
    error = api_errors.translate(code, body, what="ask")
    assert isinstance(error, api_errors.RequestError)
    assert isinstance(error, api_errors.Forbidden) is (code == 403)

    if isinstance(error, api_errors.Forbidden):
        assert impersonation_refusals.explain(error, DEPLOYER) is error
        assert " is forbidden: " in str(error)
    else:
        assert "without impersonating a user name" in str(error)


def test_there_are_some() -> None:
    assert sum(answer["status"] == 403 for answer in STEPS) >= 5


def test_an_account_is_named_with_the_role_that_is_missing() -> None:
    refused = api_errors.Forbidden(
        'serviceaccounts "deployer" is forbidden: User "volary" cannot impersonate resource'
        ' "serviceaccounts" in API group "" in the namespace "team-a"',
        status=403,
    )

    error = impersonation_refusals.explain(refused, DEPLOYER)

    assert isinstance(error, api_errors.MayNotImpersonate)
    (problem,) = error.problems
    assert problem.message.endswith("may not impersonate system:serviceaccount:team-a:deployer")
    assert problem.hint.startswith("write a Role in namespace team-a of the cluster with the rule")
