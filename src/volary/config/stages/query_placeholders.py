"""Placeholders of queries: `{{ .App.Name }}` as in PipeCD, `{{ target }}` as in Flagger.

Both are names only: there are no pipelines, conditions or functions but ``index``. A name
nobody knows, or one without a value, is an error and never an empty text, because a query with
a hole in it would measure something else.
"""

import functools
import json as json_text
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from volary.config.decoding import readings
from volary.model import analysis, errors

#: Go's trim markers, with a space on their inner side, take the white space beside them along.
_PLACEHOLDER = re.compile(r"(?:\s*\{\{-\s|\{\{)(.*?)(?:\s-\}\}\s*|\}\})", re.DOTALL)
_INDEX = re.compile(r"index\s+\.(AppCustomArgs|VariantCustomArgs)\s+[\"`]([^\"`]+)[\"`]")
_ARGUMENT = re.compile(r"(variables|\.AppCustomArgs|\.VariantCustomArgs)\.([A-Za-z0-9_.-]+)")
_OF_VARIANT = "VariantCustomArgs"
#: PipeCD's name for the namespace is an argument there.
_NAMESPACE_ARGUMENT = "k8sNamespace"
#: Names as they are written, with the field of `Values` that they stand for.
NAMES: Mapping[str, str] = {
    ".App.Name": "application",
    ".Variant.Name": "variant",
    ".K8s.Namespace": "namespace",
    "name": "application",
    "variant": "variant",
    "namespace": "namespace",
    "target": "workload",
    "primary": "primary",
    "service": "service",
    "ingress": "ingress",
    "route": "route",
    "interval": "interval",
    "cluster": "cluster",
    "run": "run",
    "commit": "commit",
    "context": "context",
}
_FORMS = ("variables.x", ".AppCustomArgs.x", ".VariantCustomArgs.x")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Values:
    """What placeholders of one query stand for; an empty text is no value."""

    application: str
    #: canary, baseline or primary, literally.
    variant: str
    namespace: str
    #: The workload of the variant: `shop-canary`.
    workload: str
    #: The workload of primary: `shop`.
    primary: str
    cluster: str
    interval: timedelta
    #: The Service that leads to the variant, where the router has one for it.
    service: str = ""
    ingress: str = ""
    route: str = ""
    #: Of the query for every variant, and for this one.
    arguments: Mapping[str, str] = field(default_factory=dict)
    variant_arguments: Mapping[str, str] = field(default_factory=dict)
    metric: str = ""
    #: Of the release; empty: there is none, the metric is tried out.
    run: str = ""
    commit: str = ""
    #: Of the application.
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def context(self) -> str:
        """All of it as an object of JSON on one line, for whoever is asked to judge by himself."""
        context = {
            "application": self.application,
            "labels": dict(self.labels),
            "metric": self.metric,
            "cluster": self.cluster,
            "namespace": self.namespace,
            "variant": self.variant,
            "workload": self.workload,
            "service": self.service,
            "interval": interval_text(self.interval),
            "arguments": {**self.arguments, **self.variant_arguments},
            "run": self.run,
            "commit": self.commit,
        }
        return json_text.dumps(context, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a query is never asked, such as a placeholder that cannot be filled in."""

    message: str
    hint: str = ""


def fill(text: str, values: Values) -> str:
    """Return the text with every placeholder replaced by its value.

    Raises:
        UserError: Some cannot be; carries all of them.
    """
    wrong = list(findings(text, values.arguments, values.variant_arguments))
    words = _words(text)
    known = {word: _value(word, values) for word in words if word in NAMES}
    wrong += [
        Finding(f"{{{{ {word} }}}} has no value for {values.variant} on {values.cluster}")
        for word, value in known.items()
        if not value and not any(word in finding.message for finding in wrong)
    ]
    if wrong:
        raise errors.UserError(
            *(errors.Problem(finding.message, hint=finding.hint) for finding in wrong)
        )
    filled = list(_parts(text))
    filled[1::2] = [known[word] if word in known else _given(word, values) for word in words]
    return "".join(filled)


def says_cluster(text: str) -> bool:
    """Say whether a text is another one for each cluster."""
    return not {"cluster", "context"}.isdisjoint(_words(text))


def blanked(text: str) -> str:
    """Return the text with something in place of every placeholder, to look at its form."""
    return "x".join(_parts(text)[::2])


def findings(
    text: str, arguments: Collection[str], variant_arguments: Collection[str]
) -> Iterator[Finding]:
    """Yield every placeholder that nobody knows, or whose argument is not given; once each."""
    for word in dict.fromkeys(_words(text)):
        if word in NAMES:
            continue
        argument = _argument(word)
        if argument is None:
            yield _unknown(word)
            continue
        group, name = argument
        given = variant_arguments if group == _OF_VARIANT else arguments
        if name not in given:
            where = (
                "canaryArgs, baselineArgs or primaryArgs of the metric"
                if group == _OF_VARIANT
                else "appArgs of the template, or the analysis' appCustomArgs"
            )
            close = readings.did_you_mean(name, given) if given else f"write {name} to {where}"
            yield Finding(
                f"the query needs the argument {name[:_SHOWN]}, which has no value", close
            )
    if "{{" in "".join(_parts(text)[::2]):
        yield Finding("the query has {{ without }}")


def of_rule(rule: analysis.Rule) -> Iterator[tuple[str, Finding]]:
    """Yield what is wrong with the queries of a rule, with the field each is written in."""
    variants = {"canary": rule.canary_arguments}
    if rule.strategy is analysis.Strategy.CANARY_BASELINE or rule.strategy.has_control:
        variants["baseline"] = rule.baseline_arguments
    if rule.strategy.compares and rule.strategy is not analysis.Strategy.CANARY_BASELINE:
        variants["primary"] = rule.primary_arguments
    for field_name, text in (("query", rule.query), ("totalQuery", rule.total_query)):
        said: set[Finding] = set()
        for variant, given in variants.items():
            for finding in findings(text, rule.arguments, given):
                if finding not in said:
                    said.add(finding)
                    is_of_variant = _OF_VARIANT in text and "argument" in finding.message
                    ending = f" for {variant}" if is_of_variant and len(variants) > 1 else ""
                    yield field_name, Finding(finding.message + ending, finding.hint)


def interval_text(interval: timedelta) -> str:
    """Return an interval as metric systems write it: `90s`, `5m`, `1500ms`."""
    milliseconds = round(interval.total_seconds() * 1000)
    for size, unit in ((3_600_000, "h"), (60_000, "m"), (1000, "s")):
        if milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"


def _unknown(word: str) -> Finding:
    shown = word[:_SHOWN]
    if not re.fullmatch(r"[\w.-]*", word):
        message = f"{{{{ {shown} }}}} is more than a name"
        return Finding(message, f"only names are replaced: {', '.join((*NAMES, *_FORMS))}")
    return Finding(
        f"{{{{ {shown} }}}} is not known", readings.did_you_mean(word, (*NAMES, *_FORMS))
    )


@functools.lru_cache(maxsize=2048)
def _parts(text: str) -> tuple[str, ...]:
    """Return what a text consists of: what is asked again and again is taken apart once.

    Every second part is what a placeholder says.
    """
    return tuple(_PLACEHOLDER.split(text))


def _words(text: str) -> list[str]:
    return [placeholder.strip() for placeholder in _parts(text)[1::2]]


def _argument(word: str) -> tuple[str, str] | None:
    match = _ARGUMENT.fullmatch(word) or _INDEX.fullmatch(word)
    return None if match is None else (match[1].removeprefix("."), match[2])


def _given(word: str, values: Values) -> str:
    """Return the value of an argument."""
    argument = _argument(word)
    assert argument is not None, "findings() was asked before"
    group, name = argument
    return (values.variant_arguments if group == _OF_VARIANT else values.arguments)[name]


def _value(word: str, values: Values) -> str:
    if word == ".K8s.Namespace" and _NAMESPACE_ARGUMENT in values.arguments:
        return values.arguments[_NAMESPACE_ARGUMENT]
    value = getattr(values, NAMES[word])
    return interval_text(value) if isinstance(value, timedelta) else str(value)
