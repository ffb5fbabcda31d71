"""Validation rules of CustomResourceDefinitions: ``x-kubernetes-validations``, in CEL.

`check` evaluates them over an object, `compile_rule` says what is wrong with one. A rule that uses
what this evaluator does not know is not evaluated; `rule_definitions` says so. What rules cost is
not estimated.
"""

import base64
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.patching import structured_merge
from kube_sandbox.apimachinery.scheme import structural_schemas
from kube_sandbox.apimachinery.validation import custom_resources, rule_functions, rule_syntax

if TYPE_CHECKING:
    import cel

Causes = list[causes.Cause]
Schema = json.JsonObject

RULES = "x-kubernetes-validations"
#: There is no old value that belongs to this one.
_MISSING: Any = object()
_VARIABLES = frozenset(("self", "oldSelf"))
_TYPES = frozenset(
    (
        *("bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "optional"),
        *("null_type", "string", "timestamp", "type", "uint"),
    )
)
_CORE = frozenset(
    (
        *("bool", "bytes", "contains", "double", "duration", "dyn", "endsWith", "getDate"),
        *("getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours"),
        *("getMilliseconds", "getMinutes", "getMonth", "getSeconds", "has", "hasValue", "int"),
        *("matches", "none", "of", "optional", "or", "orValue", "size", "startsWith", "string"),
        *("timestamp", "type", "uint", "value"),
    )
)
#: Quoted texts, whose content is no part of the expression.
_TEXTS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(\s*([A-Za-z_]\w*)\s*,")
_OLD = re.compile(r"\boldSelf\b")
_FAULT = re.compile(r"ERROR: .*", re.DOTALL)
_UNSUPPORTED = "unsupported syntax"
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_BLOCKING = frozenset(
    (
        *("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong"),
        *("FieldValueTooMany", "FieldValueTypeInvalid"),
    )
)
#: CEL's own words, which fields of that name are asked for as ``__in__``.
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return"),
        *("var", "void", "while"),
    )
)
_CONVERTED = frozenset(("date", "date-time", "datetime", "duration", "byte"))


class RuleError(Exception):
    """A rule cannot be compiled; the text is the server's."""


class UnevaluableRuleError(Exception):
    """A rule is fine, but this evaluator cannot evaluate it."""


@dataclass(frozen=True, slots=True)
class _Program:
    """A compiled expression."""

    text: str
    program: "cel.Program"
    #: Those of Kubernetes' functions that it calls.
    functions: Mapping[str, Any]

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        import cel

        context = cel.Context(variables=dict(variables), functions=dict(self.functions))
        return self.program.execute(context)


def is_transition(text: str) -> bool:
    """Tell whether a rule asks for the old value."""
    return bool(_OLD.search(_TEXTS.sub("''", text)))


@functools.lru_cache(maxsize=2048)
def compile_rule(text: str) -> _Program:
    """Return a rule's expression, ready to be evaluated.

    Raises:
        RuleError: It is no valid expression.
        UnevaluableRuleError: It uses what this evaluator does not know.
    """
    import cel  # takes a quarter of a second, and most definitions have no rules

    try:
        program = cel.compile(rule_syntax.rewritten(text))
    except ValueError as error:
        fault = _FAULT.search(str(error))
        told = (fault[0] if fault else str(error)).replace("\n|", "\n |")
        if _UNSUPPORTED in told:
            raise UnevaluableRuleError(told.splitlines()[0]) from error
        raise RuleError(f"compilation failed: {told}") from error
    functions = {name for name in program.functions() if name.isidentifier()}
    bare = _TEXTS.sub("''", rule_syntax.rewritten(text))
    bound = set(_BOUND.findall(bare))
    known = _CORE | rule_functions.FUNCTIONS.keys()
    if names := sorted(functions & rule_functions.LEFT_OUT - known):
        raise UnevaluableRuleError(f"it calls {', '.join(names)}")
    unknown = [
        *(functions - known),
        *(set(program.variables()) - _VARIABLES - _TYPES - bound - functions),
    ]
    if unknown:
        raise RuleError(f"compilation failed: {_undeclared(text, bare, sorted(unknown))}")
    called = {name: rule_functions.FUNCTIONS[name] for name in functions - _CORE}
    return _Program(text, program, called)


def _undeclared(text: str, bare: str, names: list[str]) -> str:
    faults = []
    for name in names:
        place = re.search(rf"(?<![\w.]){re.escape(name)}\b|\b{re.escape(name)}\b", bare)
        column = place.start() + 1 if place else 1
        faults.append(
            f"ERROR: <input>:1:{column}: undeclared reference to '{name}' (in container '')\n"
            f" | {text}\n | {'.' * (column - 1)}^"
        )
    return "\n".join(faults)


@dataclass(frozen=True, slots=True)
class _Node:
    """The part of a schema that leads to rules."""

    schema: Schema
    rules: tuple[json.JsonObject, ...]
    #: Values of this schema are given to CEL as they are.
    plain: bool
    properties: Mapping[str, "_Node"]
    additional: "_Node | None"
    items: "_Node | None"


@functools.lru_cache(maxsize=1024)
def _tree(structural: structural_schemas.Structural) -> _Node | None:
    return _node(structural.schema) if structural.schema else None


def _node(schema: Schema) -> _Node | None:
    properties = {
        key: node
        for key, child in (schema.get("properties") or {}).items()
        if (node := _node(child)) is not None
    }
    additional, items = schema.get("additionalProperties"), schema.get("items")
    below = _node(additional) if isinstance(additional, dict) else None
    within = _node(items) if isinstance(items, dict) else None
    rules = tuple(schema.get(RULES) or ())
    if not rules and not properties and below is None and within is None:
        return None
    return _Node(schema, rules, _is_plain(schema), properties, below, within)


def _is_plain(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    if schema.get("format") in _CONVERTED or schema.get("type") == "number":
        return False
    properties = schema.get("properties") or {}
    return all(_escaped(key) == key and _is_plain(child) for key, child in properties.items()) and (
        _is_plain(schema.get("items")) and _is_plain(schema.get("additionalProperties"))
    )


def _escaped(name: str) -> str:
    """Return a field's name as expressions write it."""
    if name in _RESERVED:
        return f"__{name}__"
    for sign, written in (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__")):
        name = name.replace(sign, written)
    return name.replace("/", "__slash__")


def check(
    structural: structural_schemas.Structural,
    body: json.JsonObject,
    old: json.JsonObject | None,
    before: Causes,
) -> Causes:
    """Return which rules a custom resource breaks.

    Args:
        structural: The schema of its version.
        body: The object.
        old: What it replaces.
        before: What is already known to be wrong with it: some faults keep rules from being asked.
    """
    tree = _tree(structural)
    if tree is None:
        return []
    if any(cause.reason in _BLOCKING for cause in before):
        return [causes.Cause("FieldValueInvalid", f"Invalid value: null: {_NOT_CHECKED}", "<nil>")]
    return list(_checked(tree, "", body, _MISSING if old is None else old, root=True))


def _checked(
    node: _Node, path: str, value: Any, old: Any, *, root: bool = False
) -> Iterator[causes.Cause]:
    if value is None:
        return
    unchanged = old is not _MISSING and old == value
    for rule in node.rules:
        yield from _asked(node, rule, path, value, old, unchanged=unchanged, root=root)
    if isinstance(value, dict):
        yield from _fields(node, path, value, old)
    elif isinstance(value, list) and node.items is not None:
        kind, former = custom_resources.former_items(node.schema, old)
        for index, item in enumerate(value):
            key = structured_merge.item_key(kind, item) if former else None
            was = _MISSING if key is None else former.get(key, _MISSING)
            yield from _checked(node.items, f"{path}[{index}]", item, was)


def _fields(node: _Node, path: str, value: json.JsonObject, old: Any) -> Iterator[causes.Cause]:
    former = old if isinstance(old, dict) else {}
    for key, child in node.properties.items():
        if key in value:
            where = f"{path}.{key}" if path else key
            yield from _checked(child, where, value[key], former.get(key, _MISSING))
    if node.additional is not None:
        for key, item in value.items():
            yield from _checked(node.additional, f"{path}[{key}]", item, former.get(key, _MISSING))


def _asked(
    node: _Node,
    rule: json.JsonObject,
    path: str,
    value: Any,
    old: Any,
    *,
    unchanged: bool,
    root: bool,
) -> Iterator[causes.Cause]:
    """Evaluate one rule for one value."""
    text = str(rule["rule"])
    transition = is_transition(text)
    optional = bool(rule.get("optionalOldSelf"))
    if transition and old is _MISSING and not optional:
        return
    if unchanged and not transition:
        return  # what was let in before may stay
    try:
        program = compile_rule(text)
    except (RuleError, UnevaluableRuleError):
        return
    variables = {"self": _exposed(node, value, root=root)}
    if transition:
        variables["oldSelf"] = _former(node, old, optional=optional, root=root)
    try:
        answer = program.evaluate(variables)
    except (TypeError, ValueError, RuntimeError, LookupError, ArithmeticError) as error:
        yield causes.Cause(
            "FieldValueInvalid", f"Invalid value: {_failure(rule, error)}", path or "<nil>"
        )
        return
    if answer is not True:
        yield _broken(rule, path, variables)


def _former(node: _Node, old: Any, *, optional: bool, root: bool) -> Any:
    exposed = old if old is _MISSING else _exposed(node, old, root=root)
    if not optional:
        return exposed
    import cel

    return cel.OptionalValue.none() if old is _MISSING else cel.OptionalValue.of(exposed)


def _failure(rule: json.JsonObject, error: Exception) -> str:
    shown = rule.get("message") or rule["rule"]
    if isinstance(error, KeyError):
        return f"no such key: {error.args[0]} evaluating rule: {shown}"
    sentence = str(error).splitlines()[0]
    if isinstance(error, TypeError):
        return (
            "'no such overload': call arguments did not match a supported operator, function or "
            f"macro signature for rule: {shown}"
        )
    if isinstance(error, ArithmeticError):
        sentence = "division by zero"
    return f"{sentence} evaluating rule: {shown}"


def _broken(rule: json.JsonObject, path: str, variables: Mapping[str, Any]) -> causes.Cause:
    where = f"{path}{rule.get('fieldPath') or ''}".removeprefix(".") or "<nil>"
    detail = _message(rule, variables)
    match rule.get("reason"):
        case "FieldValueRequired":
            return causes.required(where, detail)
        case "FieldValueForbidden":
            return causes.forbidden(where, detail)
        case "FieldValueDuplicate":
            return causes.Cause("FieldValueDuplicate", f"Duplicate value: {detail}", where)
        case _:
            return causes.Cause("FieldValueInvalid", f"Invalid value: {detail}", where)


def _message(rule: json.JsonObject, variables: Mapping[str, Any]) -> str:
    expression = rule.get("messageExpression")
    if expression:
        try:
            told = compile_rule(expression).evaluate(variables)
        except (
            *(RuleError, UnevaluableRuleError, TypeError, ValueError, RuntimeError),
            *(LookupError, ArithmeticError),
        ):
            told = ""
        if isinstance(told, str) and told.strip() and "\n" not in told:
            return told.strip()
    return str(rule.get("message") or f"failed rule: {rule['rule']}")


def _exposed(node: _Node, value: Any, *, root: bool) -> Any:
    """Return a value as expressions see it."""
    if not root:
        return value if node.plain else _converted(node.schema, value)
    metadata = value.get("metadata") or {}
    seen = {
        **value,
        "metadata": {key: metadata[key] for key in ("name", "generateName") if key in metadata},
    }
    return seen if node.plain else _converted(node.schema, seen)


def _converted(schema: Any, value: Any) -> Any:
    if not isinstance(schema, dict):
        return value
    if isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        return {
            (_escaped(key) if key in properties else key): _converted(
                properties.get(key, additional), child
            )
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [_converted(schema.get("items"), item) for item in value]
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and schema.get("format") in _CONVERTED:
        return _scalar(str(schema["format"]), value)
    return value


def _scalar(name: str, text: str) -> Any:
    """Return a text of a format as CEL's own type; the text itself when it is malformed."""
    expression = {
        "date": "timestamp(self + 'T00:00:00Z')",
        "duration": "duration(self)",
        "byte": "",
    }.get(name, "timestamp(self)")
    try:
        if not expression:
            return base64.b64decode(text, validate=True)
        return compile_rule(expression).evaluate({"self": text})
    except (TypeError, ValueError, RuntimeError):
        return text
