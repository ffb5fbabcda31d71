"""Writes the table of the machine into docs/explanation/machine.md; a test compares the two.

python tools/write_machine_diagram.py
"""

from pathlib import Path

from volary.engine.runs import state
from volary.engine.state_machine import machine
from volary.model import statuses


def mermaid() -> str:
    """Return the diagram: an arrow per pair of statuses, labelled with its events."""
    arrows: dict[tuple[statuses.RunStatus, statuses.RunStatus], list[str]] = {}
    for status, row in machine.TABLE.items():
        for event, follows in row.items():
            for follow in follows:
                if follow is not status:
                    arrows.setdefault((status, follow), []).append(event.__name__)
    order = list(statuses.RunStatus)
    lines = ["stateDiagram-v2", f"    [*] --> {statuses.RunStatus.PLANNED.value}"]
    for (status, follow), names in sorted(
        arrows.items(), key=lambda item: (order.index(item[0][0]), order.index(item[0][1]))
    ):
        lines.append(f"    {status.value} --> {follow.value}: {', '.join(names)}")
    lines += [f"    {status.value} --> [*]" for status in order if status in state.FINAL_RUN]
    return "\n".join(lines) + "\n"


PAGE = Path(__file__).parents[1] / "docs/explanation/machine.md"
_BEGIN = "```mermaid\n"
_END = "```\n"


def embed(page: str) -> str:
    """Return the page with its first Mermaid block replaced by the current diagram.

    Raises:
        ValueError: The page has no such block.
    """
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError("the page has no Mermaid block")
    return f"{before}{begin}{mermaid()}{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(embed(PAGE.read_text()))
