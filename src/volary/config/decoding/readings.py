"""Compares what a file says with the sections it may contain, and says everything that is wrong.

The two dialects differ here and nowhere deeper. PipeCD decodes with Go's JSON
rules: keys in any case, unknown fields ignored (a warning for us), zero values
replaced by defaults. Our own dialect is strict: a typo is an error.
"""

import difflib
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import pydantic
from pydantic import fields

from volary.config.decoding import base_sections, values
from volary.config.text import yaml
from volary.model import applications, errors

#: Longer words of a user are cut off in messages.
_SHOWN = 80

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Templates:
    """Entries that a file may refer to, in another document."""

    document: yaml.Document | None = None
    dialect: applications.Dialect = applications.Dialect.VOLARY
    #: Kind and name of each.
    entries: frozenset[tuple[str, str]] = frozenset()
    #: What is wrong with the document; concerns those that refer to it.
    problems: tuple[errors.Problem, ...] = ()


@dataclass(slots=True)
class Reading:
    """One document being read in a dialect, and the problems found so far."""

    document: yaml.Document
    dialect: applications.Dialect = applications.Dialect.VOLARY
    problems: list[errors.Problem] = field(default_factory=list)
    #: For the analyses of the file.
    templates: Templates = Templates()
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: Paths in the words of the model to paths as written, where they differ.
    _written: dict[yaml.Path, str] = field(default_factory=dict)

    @property
    def is_pipecd(self) -> bool:
        """The file follows PipeCD's schema."""
        return self.dialect is applications.Dialect.PIPECD

    @property
    def has_errors(self) -> bool:
        """Something was found that the user must fix."""
        return bool(errors.mistakes(self.problems))

    def where(self, path: yaml.Path) -> errors.Location:
        """Return the place of `path`, which is in the words of the model."""
        return self.document.where(self._as_written(path))

    def written(self, path: yaml.Path) -> object:
        """Return what the file says at `path`; None when nothing."""
        value = self.document.value
        for step in self._as_written(path):
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def _as_written(self, path: yaml.Path) -> yaml.Path:
        return tuple(self._written.get(path[: i + 1], path[i]) for i in range(len(path)))

    def error(self, path: yaml.Path, message: str, hint: str = "") -> None:
        """Note something that must be fixed."""
        self.problems.append(errors.Problem(message, self.where(path), hint))

    def warn(self, path: yaml.Path, message: str, hint: str = "") -> None:
        """Note something that the user should know."""
        warning = errors.Severity.WARNING
        self.problems.append(errors.Problem(message, self.where(path), hint, warning))

    def lenient(self, path: yaml.Path, message: str, hint: str = "", *, then: str = "") -> None:
        """Note something that PipeCD lets pass: a warning there, an error in our dialect.

        `then` says what happens when it passes.
        """
        if self.is_pipecd:
            self.warn(path, f"{message}; {then}" if then else message, hint)
        else:
            self.error(path, message, hint)

    def refuse_in_pipecd(self, path: yaml.Path, name: str) -> bool:
        """Note the option `name` of ours at `path` in a file of PipeCD's; say whether it is."""
        if not self.is_pipecd:
            return False
        self.error(path, f"{name} is not an option of PipeCD", "write apiVersion: volary.dev/v1")
        return True

    def accepts(self, path: yaml.Path, read: Callable[[], object], hint: str = "") -> bool:
        """Say whether what is at `path` can be read; note the ValueError that says why not."""
        try:
            read()
        except ValueError as error:
            self.error(path, str(error), hint)
            return False
        return True

    def read(self, wanted: type[S], value: object, path: yaml.Path) -> S | None:
        """Return `value` as a section or a definition; None when it has errors, noted then."""
        section = section_of(wanted)
        assert section is not None
        cleaned = self._clean(section, value, path)
        try:
            read = section.model_validate(cleaned)
        except pydantic.ValidationError as error:
            for detail in error.errors():
                self._note(detail, path)
            return None
        return read if isinstance(read, wanted) else base_sections.value_of(wanted, read)

    def _clean(
        self, section: type[base_sections.Section], value: object, path: yaml.Path
    ) -> object:
        """Return `value` with the model's keys only, and note all others."""
        if not isinstance(value, Mapping):
            return value
        cleaned: dict[str, object] = {}
        for key, inner in self._in_order(section, value):
            known_field = _find(section, key, any_case=self.is_pipecd)
            if known_field is None:
                self._unknown(section, key, inner, (*path, key))
                continue
            name, info = known_field
            here = (*path, name)
            self._written[here] = key
            if inner is None or (self.is_pipecd and _is_zero(inner, info)):
                continue  # Go cannot tell zero from unset
            cleaned[name] = self._clean_field(info, inner, here)
        return cleaned

    def _in_order(
        self, section: type[base_sections.Section], value: Mapping[str, object]
    ) -> Iterable[tuple[str, object]]:
        """Exact keys last: Go prefers them over those that match in another case."""
        names = set(aliases(section))
        return sorted(value.items(), key=lambda item: item[0] in names)

    def _clean_field(self, info: fields.FieldInfo, value: object, path: yaml.Path) -> object:
        inner = section_of(info.annotation)
        if inner is None:
            return value
        if isinstance(value, list):
            return [self._clean(inner, item, (*path, i)) for i, item in enumerate(value)]
        return self._clean(inner, value, path)

    def _unknown(
        self, section: type[base_sections.Section], key: str, value: object, path: yaml.Path
    ) -> None:
        key = key[:_SHOWN]
        refused = _lookup(section.refused, key)
        later, misplaced = _lookup(section.later, key), _lookup(section.misplaced, key)
        if refused:
            if value or not self.is_pipecd:  # Go cannot tell nothing from unset
                self.error(path, f"{key} ({refused.text}) is not carried out", refused.hint)
        elif later:
            self.lenient(path, f"{key} ({later}) is not carried out yet", then="it is ignored")
        elif misplaced:
            message = f"{key} does not belong here: {misplaced}"
            self.lenient(path, message, f"move or remove {key}", then="it is ignored")
        elif section.without_options:
            if key not in section.without_options:
                known = ", ".join((*aliases(section), *section.without_options))
                self.error(path, f"the plugin {key} is not carried out", f"known here: {known}")
        else:
            hint = did_you_mean(key, aliases(section))
            self.lenient(path, f"unknown field {key}", hint, then="it is ignored")

    def _note(self, detail: typing.Any, path: yaml.Path) -> None:
        location = (*path, *(step for step in detail["loc"] if step != "[key]"))
        above = self.written(location[:-1])
        if above is not None and not isinstance(above, Mapping | list):
            # Below what is no object there are only names of the forms that it may have.
            location = location[:-1]
        message, hint = _explain(detail)
        self.error(location, message, hint)


@dataclass(frozen=True, slots=True)
class Loaded(typing.Generic[S]):
    """What a file says and what is wrong with it."""

    #: None when there is an error.
    value: S | None
    problems: tuple[errors.Problem, ...] = ()

    def require(self) -> S:
        """Return what the file says.

        Raises:
            UserError: There are errors; carries all of them.
        """
        if self.value is None:
            raise errors.UserError(*self.problems)
        return self.value


def load(text: str, file: str, form: str, convert: Callable[[Reading], S | None]) -> Loaded[S]:
    """Read a file that has to be one object; `form` says so where it is not."""
    try:
        documents = yaml.load_all(text, file)
    except errors.UserError as error:
        return Loaded(None, error.problems)
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        return Loaded(None, (errors.Problem(form, errors.Location(file)),))
    reading = Reading(documents[0])
    value = convert(reading)
    problems = tuple(sorted(reading.problems, key=lambda problem: problem.where.line))
    return Loaded(None if reading.has_errors else value, problems)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the closest word; without a close one, all of them."""
    known = list(known)
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word[:_SHOWN].lower(), list(by_lower), n=1, cutoff=0.6)
    if close:
        return f"did you mean {by_lower[close[0]]}?"
    return f"known here: {', '.join(known)}" if known else "nothing may be written here"


def aliases(section: type[base_sections.Section]) -> list[str]:
    """Return the names of a section's fields as they are written."""
    return [info.alias or name for name, info in section.model_fields.items()]


def section_of(annotation: object) -> type[base_sections.Section] | None:
    """Return the section inside an annotation such as ``list[Input]`` or ``Input | None``."""
    if isinstance(annotation, type) and issubclass(annotation, base_sections.Section):
        return annotation
    if base_sections.is_definition(annotation):
        return base_sections.section(typing.cast("typing.Any", annotation))
    if typing.get_origin(annotation) in {list, types.UnionType, typing.Union, typing.Annotated}:
        inner = (section_of(argument) for argument in typing.get_args(annotation))
        return next((section for section in inner if section is not None), None)
    return None


def _find(
    section: type[base_sections.Section], key: str, *, any_case: bool
) -> tuple[str, fields.FieldInfo] | None:
    named = {info.alias or name: info for name, info in section.model_fields.items()}
    if key in named:
        return key, named[key]
    if any_case:
        for name, info in named.items():
            if name.lower() == key.lower():
                return name, info
    return None


def _lookup(table: Mapping[str, T], key: str) -> T | None:
    return next((entry for name, entry in table.items() if name.lower() == key.lower()), None)


def _is_zero(value: object, info: fields.FieldInfo) -> bool:
    """Say whether Go would replace the value by the default; three-state booleans keep false."""
    if info.is_required() or isinstance(value, Mapping | list):
        return False
    if isinstance(value, bool):
        return not value and info.default is not True
    if info.annotation is timedelta and isinstance(value, str) and value:
        try:
            return not values.duration(value)
        except ValueError:
            return False
    return value in ("", 0)


_NAMES = {str: "text", bool: "true or false", int: "a number", float: "a number"}
_EXPECTED = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
}
_ABSENT = {"missing": "is required", "string_too_short": "must not be empty"}
_SHOWN_KINDS = frozenset({"int_type", "int_from_float", "int_parsing", "float_parsing"})
#: Pydantic's limits, by the word its context has for them.
_LIMITS = {
    "greater_than_equal": ("ge", "must be {} or more"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be {} or less"),
    "less_than": ("lt", "must be less than {}"),
    "too_short": ("min_length", "needs at least {}"),
    "too_long": ("max_length", "takes at most {}"),
    "string_too_long": ("max_length", "must be at most {} characters long"),
}


def _explain(detail: typing.Any) -> tuple[str, str]:
    """Put pydantic's finding into the user's words."""
    kind, given = detail["type"], detail["input"]
    if given == "" and kind == "too_short":
        kind = "string_too_short"
    if kind in _ABSENT:
        return _ABSENT[kind], ""
    if kind in {"literal_error", "enum"}:
        expected = detail["ctx"]["expected"].replace("'' or ", "").replace("'', ", "")
        return f"must be {expected}, not {given!r}", _closest(given, expected)
    if kind == "value_error":
        return str(detail["ctx"]["error"]), ""
    if kind in _LIMITS:
        return _out_of_range(kind, detail), ""
    if kind in _EXPECTED:
        is_scalar = kind == "string_type" and isinstance(given, bool | int | float)
        hint = "put it in quotes" if is_scalar else ""
        # A fraction and a text are told as they are: "a number" would not say what is wrong.
        shown = _wording(given) if kind in _SHOWN_KINDS else _name(given)
        return f"{_EXPECTED[kind]}, not {shown}", hint
    return str(detail["msg"]), ""


def _closest(given: object, expected: str) -> str:
    """Return a hint for a misspelt word; none where none is close: the message has them all."""
    words = re.findall(r"'([^']+)'", expected)
    hint = did_you_mean(given, words) if isinstance(given, str) else ""
    return hint if hint.startswith("did you mean") else ""


def _out_of_range(kind: str, detail: typing.Any) -> str:
    """Say which limit is passed; how many there are is seen in the file, a number is repeated."""
    word, sentence = _LIMITS[kind]
    limit = detail["ctx"][word]
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if word in ("min_length", "max_length"):
        return sentence.format("one" if limit == 1 else limit)
    return f"{sentence.format(limit)}, not {_wording(detail['input'])}"


def _wording(value: object) -> str:
    """Return a number or a text as it is written, and what anything else is."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return repr(value)[:_SHOWN]
    return _name(value)


def _name(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return _NAMES.get(type(value), "nothing")
