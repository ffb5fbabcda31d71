"""A preview as text for a terminal, pure."""

from collections.abc import Iterator

from volary.controller.preview import diff_lines, previews
from volary.placement.replicas import assignment_formats

#: Lines of differences shown of one object.
_MOST_LINES = 60
_SIGNS = {
    previews.Verb.CREATED: "+",
    previews.Verb.CHANGED: "~",
    previews.Verb.PRUNED: "-",
    previews.Verb.KEPT: "=",
}


def render(shown: previews.Preview) -> str:
    """Return the preview as lines; clusters that would do the same are shown together."""
    return "".join(f"{line}\n" for line in _lines(shown))


def conclusion(shown: previews.Preview) -> str:
    """Return one sentence about the whole."""
    total = len(shown.targets)
    parts = []
    for status, words in (
        (previews.TargetStatus.CHANGES, "would change"),
        (previews.TargetStatus.REFUSED, "would refuse"),
        (previews.TargetStatus.UNREACHABLE, "could not be asked"),
    ):
        count = sum(target.status is status for target in shown.targets)
        if count:
            parts.append(f"{count} of {total} clusters {words}")
    return ", ".join(parts) or "no changes"


def short(commit: str) -> str:
    """Return a commit as people write it."""
    return commit[:7] if len(commit) == 40 else commit


def _lines(shown: previews.Preview) -> Iterator[str]:
    plain = diff_lines.plain
    subject = f" ({plain(shown.subject)})" if shown.subject else ""
    yield f"{plain(shown.application)} {short(shown.commit)}{subject}"
    before = short(shown.running_commit) or "nothing yet"
    yield f"running  {before}: {plain(shown.running_reason)}"
    yield f"strategy {shown.strategy.value.replace('_', ' ')}: {plain(shown.reason)}"
    for number, each in enumerate(shown.stages, start=1):
        every = len(each.targets) == len(shown.targets)
        where = "" if every or each.skipped else f" on {', '.join(each.targets)}"
        what = f"skipped: {plain(each.skipped)}" if each.skipped else plain(each.description)
        yield f"stage {number}  {each.name}{where}  {what}"
    for line in assignment_formats.describe(shown.replicas):
        yield f"replicas {plain(line)}"
    for names, example in groups(shown):
        yield ""
        yield from _of_target(", ".join(names), example)
    yield ""
    yield conclusion(shown)


def groups(shown: previews.Preview) -> list[tuple[list[str], previews.TargetPreview]]:
    """Return clusters that would do the same, in the order of the first of each."""
    found: dict[str, tuple[list[str], previews.TargetPreview]] = {}
    for target in shown.targets:
        same = repr(
            (
                target.objects,
                target.unchanged,
                target.problems,
                target.unreachable_reason,
                target.warnings,
            )
        )
        found.setdefault(same, ([], target))[0].append(target.target)
    return list(found.values())


def _of_target(names: str, each: previews.TargetPreview) -> Iterator[str]:
    plain = diff_lines.plain
    match each.status:
        case previews.TargetStatus.UNREACHABLE:
            yield f"{names}: could not be asked: {plain(each.unreachable_reason)}"
        case previews.TargetStatus.REFUSED:
            yield f"{names}: would refuse"
            for problem in each.problems:
                yield from (f"  {plain(line)}" for line in problem.splitlines())
        case _:
            yield f"{names}: {each.summary}"
    for item in each.objects:
        reason = f" ({plain(item.reason)})" if item.reason else ""
        yield f"  {_SIGNS[item.verb]} {item.verb.value} {plain(item.key.title)}{reason}"
        for line in diff_lines.of_object(item, most=_MOST_LINES):
            yield f"      {line}"
    for warning in each.warnings:
        yield f"  warning: {plain(warning)}"
