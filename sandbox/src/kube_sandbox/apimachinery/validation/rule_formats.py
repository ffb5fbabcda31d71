"""The formats that rules may ask for by name (``format.dns1123Label().validate(self)``)."""

import base64
import binascii
import datetime
import re
from collections.abc import Callable, Mapping

from kube_sandbox.apimachinery.validation import names, rule_values

Rule = Callable[[str], tuple[str, ...]]
_UUID = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\Z")


def _readable(read: Callable[[str], object], fault: str) -> Rule:
    def rule(text: str) -> tuple[str, ...]:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return (fault,)
        return ()

    return rule


def _prefix(of: Rule) -> Rule:
    """A name that others are made from may end with a dash."""
    return lambda text: of(f"{text[:-1]}a" if text.endswith("-") else text)


def _uuid(text: str) -> tuple[str, ...]:
    return () if _UUID.match(text) else ("does not match the UUID format",)


FORMATS: Mapping[str, Rule] = {
    "byte": _readable(lambda text: base64.b64decode(text, validate=True), "invalid base64"),
    "date": _readable(datetime.date.fromisoformat, "invalid date"),
    "datetime": _readable(datetime.datetime.fromisoformat, "invalid datetime"),
    "dns1035Label": names.label_1035,
    "dns1035LabelPrefix": _prefix(names.label_1035),
    "dns1123Label": names.label,
    "dns1123LabelPrefix": _prefix(names.label),
    "dns1123Subdomain": names.subdomain,
    "dns1123SubdomainPrefix": _prefix(names.subdomain),
    "labelValue": names.label_value,
    "qualifiedName": names.qualified,
    "uri": _readable(rule_values.location, "invalid URI"),
    "uuid": _uuid,
}
