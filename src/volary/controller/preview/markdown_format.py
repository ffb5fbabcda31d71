"""A preview as Markdown for a comment on a pull request, pure.

The first line is a marker of the application, so that a later comment can take the place
of an earlier one. Nothing depends on the time or on chance: the same plan is the same text.
"""

import re
from collections.abc import Iterable, Iterator

from volary.controller.preview import diff_lines, previews, text_format
from volary.model import phrases
from volary.placement.replicas import assignment_formats

#: GitHub takes 65,536 characters.
LONGEST = 60_000
#: Lines of differences of one object; rows of clusters, stages, warnings and objects; characters
#: of one sentence.
_MOST_LINES, _MOST_ROWS, _MOST_STAGES, _MOST_WARNINGS, _MOST_OBJECTS = 80, 100, 30, 10, 200
_LONGEST_TEXT = 300
#: Kept free for the note on what was left out, and the end.
_RESERVE = 400
_ACTIVE = re.compile(r"([\\`*_{}\[\]()#+!|<>&~@-])")


def marker(application: str) -> str:
    """Return the line by which a comment is found again."""
    safe = re.sub(r"[^\w./-]|--", "_", application)
    return f"<!-- volary-plan: {safe} -->"


def render(shown: previews.Preview, *, longest: int = LONGEST) -> str:
    """Return the comment, at most `longest` characters.

    When it would be longer, differences are left out first, then whole clusters, and a note
    says so.
    """
    text = "\n".join(_head(shown))[: longest - _RESERVE]
    left_out = 0
    for names, example in text_format.groups(shown):
        room = longest - _RESERVE - len(text)
        for lines in (_MOST_LINES, 0):
            block = "\n".join(_block(names, example, lines))
            if len(block) < room:
                text += f"\n{block}"
                left_out += not lines and any(
                    object_preview.differences for object_preview in example.objects
                )
                break
        else:
            left_out += 1
    if left_out:
        text += (
            "\n\n**This comment is too long to show everything.**"
            " `volary plan` in a terminal shows the rest.\n"
        )
    return f"{text.rstrip()}\n"


def _head(shown: previews.Preview) -> Iterator[str]:
    yield marker(shown.application)
    yield f"### Plan for {_text(shown.application)}: {text_format.conclusion(shown)}"
    yield ""
    subject = f" {_text(shown.subject)}" if shown.subject else ""
    before = (
        _code(phrases.short_commit(shown.running_commit)) if shown.running_commit else "nothing"
    )
    yield f"{_code(phrases.short_commit(shown.commit))}{subject}, after {before}"
    yield ""
    yield f"Strategy **{shown.strategy.value.replace('_', ' ')}**: {_text(shown.reason)}"
    yield ""
    yield from _table(shown)
    yield ""
    yield from _stages(shown)
    yield from _replicas(shown)
    yield from _warnings(shown.warnings)


def _table(shown: previews.Preview) -> Iterator[str]:
    yield "| Cluster | Created | Changed | Pruned | Unchanged | |"
    yield "|---|--:|--:|--:|--:|---|"
    # What needs a look comes first when not everything fits.
    calm = previews.TargetStatus.UNCHANGED
    many = len(shown.targets) > _MOST_ROWS
    ordered = sorted(shown.targets, key=lambda preview: many and preview.status is calm)
    for target_preview in ordered[:_MOST_ROWS]:
        yield _row(target_preview)
    if many:
        yield f"| … and {len(shown.targets) - _MOST_ROWS} more | | | | | |"


def _row(preview: previews.TargetPreview) -> str:
    if preview.unreachable_reason:
        reason = _text(preview.unreachable_reason)
        return f"| {_text(preview.target)} | | | | | **could not be asked**: {reason} |"
    if preview.problems:
        more = f" (and {len(preview.problems) - 1} more)" if len(preview.problems) > 1 else ""
        first = _text(preview.problems[0].splitlines()[0])
        return f"| {_text(preview.target)} | | | | | **would refuse**: {first}{more} |"
    shown = (previews.Verb.CREATED, previews.Verb.CHANGED, previews.Verb.PRUNED)
    counts = " | ".join(str(preview.count(verb)) for verb in shown)
    kept = preview.count(previews.Verb.KEPT)
    notes = (
        f"{kept} kept" if kept else "",
        "**nothing is pruned**" if preview.prune_refusal else "",
        "see the warning below" if preview.warnings else "",
    )
    note = ", ".join(filter(None, notes))
    return f"| {_text(preview.target)} | {counts} | {preview.unchanged} | {note} |"


def _replicas(shown: previews.Preview) -> Iterator[str]:
    lines = list(assignment_formats.describe(shown.replicas))
    for line in lines[:_MOST_ROWS]:
        yield f"- {_text(line)}"
    if len(lines) > _MOST_ROWS:
        yield f"- and {len(lines) - _MOST_ROWS} more workloads"
    if lines:
        yield ""


def _stages(shown: previews.Preview) -> Iterator[str]:
    for number, stage in enumerate(shown.stages[:_MOST_STAGES], start=1):
        if stage.skipped:
            yield f"{number}. ~~{_text(stage.name)}~~ skipped: {_text(stage.skipped)}"
            continue
        every = len(stage.targets) == len(shown.targets)
        where = "" if every else f" on {_text(', '.join(stage.targets))}"
        yield f"{number}. {_code(stage.name)}{where}: {_text(stage.description)}"
    if len(shown.stages) > _MOST_STAGES:
        yield f"\n… and {len(shown.stages) - _MOST_STAGES} more stages"


def _warnings(warnings: Iterable[str]) -> Iterator[str]:
    every = list(warnings)
    for warning in every[:_MOST_WARNINGS]:
        yield f"\n> warning: {_text(' '.join(warning.split()))}"
    if len(every) > _MOST_WARNINGS:
        yield f"\n> … and {len(every) - _MOST_WARNINGS} more warnings"


def _block(names: list[str], preview: previews.TargetPreview, most_lines: int) -> Iterator[str]:
    """Yield what clusters that would do the same do; nothing where the table says it all."""
    refusal = [f"refused: {preview.prune_refusal}"] if preview.prune_refusal else []
    if not (preview.objects or preview.problems or preview.warnings or refusal):
        return
    what = "would refuse" if preview.problems else preview.summary
    yield f"\n<details><summary>{_text(', '.join(names))}: {_text(what)}</summary>"
    yield ""
    for problem in (*preview.problems[:_MOST_OBJECTS], *refusal):
        yield f"- {_text(' '.join(problem.split()))}"
    for item in preview.objects[:_MOST_OBJECTS]:
        yield from _object(item, most_lines)
    if len(preview.objects) > _MOST_OBJECTS:
        yield f"- … and {len(preview.objects) - _MOST_OBJECTS} more objects"
    yield from _warnings(preview.warnings)
    yield "\n</details>"


def _object(item: previews.ObjectPreview, most_lines: int) -> Iterator[str]:
    reason = f" ({_text(item.reason)})" if item.reason else ""
    yield f"- **{item.verb.value}** {_code(item.key.title)}{reason}"
    lines = diff_lines.of_object(item, most=most_lines) if most_lines else []
    if not lines:
        return
    longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"\n  {fence}diff"
    yield from (f"  {line}" for line in lines)
    yield f"  {fence}\n"


def _text(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    line = diff_lines.plain(" ".join(text.split()))
    cut = line if len(line) <= _LONGEST_TEXT else f"{line[:_LONGEST_TEXT]} …"
    return _ACTIVE.sub(_neutral, cut)


def _neutral(occurrence: re.Match[str]) -> str:
    # Inside a word these mean nothing, and mostly they stand in names; an "@" would notify
    # somebody even behind a backslash.
    match occurrence.group():
        case "@":
            return "&#64;"
        case "<":
            return "&lt;"
        case ">":
            return "&gt;"
        case "&":
            return "&amp;"
        case "-" | "(" | ")" | "+" | "!" | "{" | "}":
            return occurrence.group()
        case other:
            return f"\\{other}"


def _code(text: str) -> str:
    """Return text as code; what would end it is taken out."""
    return f"`{diff_lines.plain(text).replace('`', chr(39)).replace('|', chr(47))}`"
