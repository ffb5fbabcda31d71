"""The documentation shows the machine's table as it is."""

from pathlib import Path

from volary.engine.state_machine import diagram, machine
from volary.model.statuses import RunStatus

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "machine.md"


def test_the_page_shows_the_current_table() -> None:
    """Mended by `python -m volary.engine.state_machine.diagram docs/explanation/machine.md`."""
    text = PAGE.read_text()

    assert diagram.embed(text) == text


def test_every_status_of_a_run_is_in_the_table_or_final() -> None:
    known = {status for status, _ in machine.TABLE}
    reached = {follow for each in machine.TABLE.values() for follow in each.leads_to}

    # A run is pending before it is planned: the engine has not got it yet.
    assert known | reached == set(RunStatus) - {RunStatus.PENDING}
