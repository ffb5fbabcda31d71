"""The documentation shows the machine's table as it is."""

import write_machine_diagram as diagram

from volary.engine.state_machine import machine
from volary.model.statuses import RunStatus


def test_the_page_shows_the_current_table() -> None:
    """Mended by `python tools/write_machine_diagram.py`."""
    text = diagram.PAGE.read_text()

    assert diagram.embed(text) == text


def test_every_status_of_a_run_is_in_the_table_or_final() -> None:
    rows = machine.TABLE.values()
    reached = {follow for row in rows for follows in row.values() for follow in follows}

    # A run is pending before it is planned: the engine has not got it yet.
    assert set(machine.TABLE) | reached == set(RunStatus) - {RunStatus.PENDING}
