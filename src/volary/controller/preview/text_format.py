"""A preview as text for a terminal, pure."""

from collections.abc import Iterator

from volary.controller.preview import diff_lines, previews
from volary.model import phrases
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
    left = sum(bool(target.prune_refusal) for target in shown.targets)
    if left:
        parts.append(f"{left} of {total} clusters would keep what Git no longer has")
    return ", ".join(parts) or "no changes"


def _lines(shown: previews.Preview) -> Iterator[str]:
    plain = diff_lines.plain
    subject = f" ({plain(shown.subject)})" if shown.subject else ""
    yield f"{plain(shown.application)} {phrases.short_commit(shown.commit)}{subject}"
    before = phrases.short_commit(shown.running_commit) or "nothing yet"
    yield f"running  {before}: {plain(shown.running_reason)}"
    yield f"strategy {shown.strategy.value.replace('_', ' ')}: {plain(shown.reason)}"
    for number, stage in enumerate(shown.stages, start=1):
        every = len(stage.targets) == len(shown.targets)
        where = "" if every or stage.skipped else f" on {', '.join(stage.targets)}"
        what = f"skipped: {plain(stage.skipped)}" if stage.skipped else plain(stage.description)
        yield f"stage {number}  {stage.name}{where}  {what}"
    for line in assignment_formats.describe(shown.replicas):
        yield f"replicas {plain(line)}"
    for names, example in groups(shown):
        yield ""
        yield from _of_target(", ".join(names), example)
    yield ""
    yield conclusion(shown)


def groups(shown: previews.Preview) -> list[tuple[list[str], previews.TargetPreview]]:
    """Return clusters that would do the same, in the order of the first of each."""
    cluster_groups: dict[str, tuple[list[str], previews.TargetPreview]] = {}
    for target in shown.targets:
        same = repr(
            (
                target.objects,
                target.unchanged,
                target.problems,
                target.unreachable_reason,
                target.warnings,
                target.prune_refusal,
            )
        )
        cluster_groups.setdefault(same, ([], target))[0].append(target.target)
    return list(cluster_groups.values())


def _of_target(names: str, preview: previews.TargetPreview) -> Iterator[str]:
    plain = diff_lines.plain
    match preview.status:
        case previews.TargetStatus.UNREACHABLE:
            yield f"{names}: could not be asked: {plain(preview.unreachable_reason)}"
        case previews.TargetStatus.REFUSED:
            yield f"{names}: would refuse"
            for problem in preview.problems:
                yield from (f"  {plain(line)}" for line in problem.splitlines())
        case _:
            yield f"{names}: {preview.summary}"
    for item in preview.objects:
        reason = f" ({plain(item.reason)})" if item.reason else ""
        yield f"  {_SIGNS[item.verb]} {item.verb.value} {plain(item.key.title)}{reason}"
        for line in diff_lines.of_object(item, most=_MOST_LINES):
            yield f"      {line}"
    if preview.prune_refusal:
        yield f"  refused: {plain(preview.prune_refusal)}"
    for warning in preview.warnings:
        yield f"  warning: {plain(warning)}"
