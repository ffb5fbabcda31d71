"""What can be asked for, before a server is."""

import pytest

from volary.cli.remote import login, looking, output
from volary.model import errors


@pytest.mark.parametrize(
    ("noun", "status", "hint"),
    [
        (output.Noun.CLUSTERS, "notready", "did you mean notReady?"),
        (output.Noun.APPS, "sync", "did you mean synced?"),
        (output.Noun.RUNS, "rolledback", "did you mean rolled_back?"),
    ],
)
async def test_a_status_that_nothing_can_have_is_refused(
    noun: output.Noun, status: str, hint: str
) -> None:
    """An empty list would say that nothing is like that."""
    nowhere = login.Target("http://127.0.0.1:9", "")

    with pytest.raises(errors.UserError, match=f"{status} is no status of {noun}") as refused:
        await looking.get(nowhere, noun, "", status, 10, output.Form.TEXT)

    assert refused.value.problems[0].hint == hint
