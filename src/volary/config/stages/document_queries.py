"""Queries for documents in Elasticsearch and OpenSearch, as text. Pure.

Text that begins with a brace is a clause of their query language in JSON, such as
`{"term": {"level": "error"}}`; other text is in Lucene's, such as `level:error AND app:shop`.

Read here by who sends them and by who checks files before, so that both refuse the same.
"""

from collections.abc import Iterator

from volary.config.stages import query_placeholders
from volary.model import analysis, json

_HINT = 'write a clause, such as {"term": {"level": "error"}}, or text such as level:error'


def read(text: str) -> json.JsonObject:
    """Return the clause of a query that has no faults."""
    written = text.strip()
    if not written.startswith("{"):
        return {"query_string": {"query": " ".join(written.split())}}
    clause = json.decode(written.encode())
    assert isinstance(clause, dict)
    return clause


def faults(text: str) -> Iterator[query_placeholders.Finding]:
    """Yield what is wrong with a query."""
    if not text.strip().startswith("{"):
        return
    try:
        clause = json.decode(text.strip().encode())
    except json.UNREADABLE:
        yield query_placeholders.Finding("its query begins as JSON and is none", _HINT)
        return
    if not isinstance(clause, dict) or len(clause) != 1:
        yield query_placeholders.Finding("its query is not one clause", _HINT)
    elif "query" in clause:
        message = "its query has another query around it"
        yield query_placeholders.Finding(message, "write what is in it")


def of_rule(rule: analysis.Rule) -> Iterator[tuple[str, query_placeholders.Finding]]:
    """Yield what is wrong with the queries of a metric, with the field each is written in."""
    for name, text in (("query", rule.query), ("totalQuery", rule.total_query)):
        if text:
            for fault in faults(query_placeholders.blanked(text)):
                yield name, fault
