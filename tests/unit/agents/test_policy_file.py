"""The policy file: read again when it changed, and nothing is permitted while it is broken."""

from pathlib import Path

import pytest

from volary.agents import policy_file
from volary.model import agent_policies, errors

TEXT = "apiVersion: volary.dev/v1\nkind: AgentPolicy\nspec:\n  read: true\n"


def test_what_it_says_holds_from_when_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(TEXT)
    policy = policy_file.PolicyFile(str(file))
    first = policy.current()

    file.write_text(TEXT.replace("true", "{namespaces: [shop]}"))
    policy.read_again()
    narrower = policy.current()

    assert first.read == agent_policies.ReadAccess()
    assert narrower.read == agent_policies.ReadAccess(namespaces=("shop",))


@pytest.mark.parametrize("broken", ["kind: Fleet\n", "{", "\x00", None])
def test_while_it_is_broken_nothing_is_permitted(tmp_path: Path, broken: str | None) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(TEXT)
    policy = policy_file.PolicyFile(str(file))
    if broken is None:
        file.unlink()
    else:
        file.write_text(broken)
    policy.read_again()
    meanwhile = policy.current()
    policy.read_again()
    file.write_text(TEXT)
    policy.read_again()

    assert meanwhile == agent_policies.AgentPolicy(file=str(file))
    assert policy.current().read == agent_policies.ReadAccess(), "mended, it holds again"


def test_a_file_that_is_broken_at_first_ends_the_agent(tmp_path: Path) -> None:
    with pytest.raises(errors.UserError, match="cannot be read"):
        policy_file.PolicyFile(str(tmp_path / "none.yaml"))
    (tmp_path / "policy.yaml").write_text("kind: Fleet")
    with pytest.raises(errors.UserError):
        policy_file.PolicyFile(str(tmp_path / "policy.yaml"))
