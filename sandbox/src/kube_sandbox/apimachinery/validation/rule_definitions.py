"""What is wrong with the validation rules of a CustomResourceDefinition itself."""

import re
from typing import Any

import msgspec

from kube_sandbox import json
from kube_sandbox.apimachinery.meta import causes
from kube_sandbox.apimachinery.validation import rules

Causes = list[causes.Cause]
Schema = json.JsonObject

_REASONS = (
    *("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"),
)
#: Steps of a ``fieldPath``: ``.name``, ``['name']``.
_STEP = re.compile(r"\.(?P<name>[A-Za-z_][\w-]*)|\['(?P<quoted>[^']+)'\]")


def faults(path: str, schema: Schema) -> Causes:
    """Return what is wrong with the rules at one place of a definition's schema."""
    found: Causes = []
    for index, rule in enumerate(schema.get(rules.RULES) or ()):
        where = f"{path}.{rules.RULES}[{index}]"
        text = str(rule.get("rule") or "")
        if not text.strip():
            found.append(causes.required(f"{where}.rule", "rule is not specified"))
            continue
        found += _messages(where, rule)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            found.append(causes.unsupported(f"{where}.reason", reason, _REASONS))
        found += _field_path(where, schema, rule)
        found += _compiled(where, rule)
        if rule.get("optionalOldSelf") is not None and not rules.is_transition(text):
            detail = "may not be set if oldSelf is not used in rule"
            value = rule["optionalOldSelf"]
            found.append(causes.invalid(f"{where}.optionalOldSelf", value, detail))
    return found


def _messages(path: str, rule: json.JsonObject) -> Causes:
    found: Causes = []
    for name in ("message", "messageExpression"):
        text = rule.get(name)
        if text and not text.strip():
            detail = f"{name} must be non-empty if specified"
            found.append(causes.invalid(f"{path}.{name}", text, detail))
        elif name == "message" and text and "\n" in text:
            detail = "message must not contain line breaks"
            found.append(causes.invalid(f"{path}.message", text, detail))
    if "\n" in rule["rule"].strip() and not rule.get("message"):
        detail = "message must be specified if rule contains line breaks"
        found.append(causes.required(f"{path}.message", detail))
    return found


def _field_path(path: str, schema: Schema, rule: json.JsonObject) -> Causes:
    text, where = rule.get("fieldPath") or "", f"{path}.fieldPath"
    if not text:
        return []
    if not text.strip():
        return [causes.invalid(where, text, "fieldPath must be non-empty if specified")]
    if "\n" in text:
        return [causes.invalid(where, text, "fieldPath must not contain line breaks")]
    fault = _missing(schema, text)
    return (
        [causes.invalid(where, text, f"fieldPath must be a valid path: {fault}")] if fault else []
    )


def _missing(schema: Any, text: str) -> str:
    """Say why a path leads to no field of a schema; empty when it leads to one."""
    place = 0
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None:
            return f"expected [ or . but got: {text[place:]}"
        name = step["name"] or step["quoted"]
        additional = schema.get("additionalProperties")
        schema = (schema.get("properties") or {}).get(name, additional)
        if not isinstance(schema, dict):
            return "does not refer to a valid field"
        place = step.end()
    return ""


def _compiled(path: str, rule: json.JsonObject) -> Causes:
    found: Causes = []
    for name in ("rule", "messageExpression"):
        if not (rule.get(name) or "").strip():
            continue
        try:
            rules.compile_rule(rule[name])
        except rules.RuleError as error:
            detail = str(error)
            if name != "rule":
                detail = f"messageExpression {detail}"
            value = causes.Literal(_internal(rule))
            found.append(causes.invalid(f"{path}.{name}", value, detail))
        except rules.UnevaluableRuleError:
            pass  # `left_out` tells
    return found


def uncorrelatable(path: str, schema: Schema) -> Causes:
    """Refuse rules that ask for the old value of what cannot be told apart from its neighbours.

    Items of a list have an old value only if the list has keys.
    """
    return list(_uncorrelatable(path, schema, ""))


def _uncorrelatable(path: str, schema: Any, within: str) -> Causes:
    if not isinstance(schema, dict):
        return []
    found: Causes = []
    for index, rule in enumerate(schema.get(rules.RULES) or ()):
        text = str(rule.get("rule") or "")
        if within and rules.is_transition(text) and not rule.get("optionalOldSelf"):
            detail = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                f"{within}"
            )
            found.append(causes.invalid(f"{path}.{rules.RULES}[{index}].rule", text, detail))
    keyed = schema.get("x-kubernetes-list-type") == "map"
    in_items = within if keyed else within or path
    in_fields = within or (path if schema.get("x-kubernetes-map-type") == "atomic" else "")
    for name, child in (schema.get("properties") or {}).items():
        found += _uncorrelatable(f"{path}.properties[{name}]", child, in_fields)
    found += _uncorrelatable(f"{path}.items", schema.get("items"), in_items)
    additional = schema.get("additionalProperties")
    return found + _uncorrelatable(f"{path}.additionalProperties", additional, in_fields)


def _internal(rule: json.JsonObject) -> str:
    """Return a rule as the server shows it: its Go struct, with the fields in their order there."""
    fields = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return causes.escape(msgspec.json.encode(fields).decode())


def left_out(schema: Schema) -> list[str]:
    """Return why the rules at one place of a schema are not evaluated, one reason for each."""
    reasons = []
    for rule in schema.get(rules.RULES) or ():
        try:
            rules.compile_rule(str(rule.get("rule") or ""))
        except rules.UnevaluableRuleError as error:
            reasons.append(str(error))
        except rules.RuleError:
            pass
    return reasons
