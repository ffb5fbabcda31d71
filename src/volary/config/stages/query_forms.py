"""Queries that a system refuses, or answers without numbers, as their form tells. Pure."""

import re
from collections.abc import Iterator

from volary.config.stages import document_queries, http_queries, query_placeholders
from volary.model import analysis, metric_providers

_Finding = query_placeholders.Finding
#: What is between quotes, in any of the languages.
_WORDS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")
_TRACEQL_METRIC = re.compile(
    r"\|\s*(?:rate|compare|histogram_over_time|quantile_over_time|[a-z]+_over_time)\s*\("
)


def faults(
    rule: analysis.Rule, options: metric_providers.Options
) -> Iterator[tuple[str, _Finding]]:
    """Yield why a query is never sent, with the field it is written in."""
    match options:
        case metric_providers.HttpOptions():
            yield from http_queries.refused_by_provider(rule, may_post=options.allow_post)
        case metric_providers.ElasticsearchOptions():
            yield from document_queries.of_rule(rule)


def doubts(
    rule: analysis.Rule, options: metric_providers.Options
) -> Iterator[tuple[str, _Finding]]:
    """Yield why a query hardly has an answer, with the field it is written in."""
    for name, text in (("query", rule.query), ("totalQuery", rule.total_query)):
        bare = _WORDS.sub("", query_placeholders.blanked(text)).strip()
        if bare and (finding := _without_numbers(bare, options)):
            yield name, finding


def _without_numbers(bare: str, options: metric_providers.Options) -> _Finding | None:
    """Return what a query lacks, without what is between its quotes; None: nothing that shows."""
    match options:
        case metric_providers.LokiOptions() if bare.startswith("{"):
            hint = "write sum(count_over_time({…} [1m])), or another function around it"
            return _Finding("its query finds lines of logs, and no numbers", hint)
        case metric_providers.TempoOptions() if _TRACEQL_METRIC.search(bare) is None:
            hint = "write {…} | count_over_time(), or another metrics function"
            return _Finding("its query finds traces, and no numbers", hint)
        case metric_providers.SplunkOptions() if "publish" not in bare:
            return _Finding("its program publishes nothing", "write data(…).sum().publish()")
        case _:
            return None
