"""Elasticsearch and OpenSearch: how many documents of an interval a query finds.

`config.stages.document_queries` says what a query is.
"""

import json as json_text
from collections.abc import Sequence
from datetime import datetime
from urllib import parse

from volary.analysis.providers.dialects import dialect
from volary.config.stages import document_queries
from volary.model import metric_providers


class Elasticsearch(dialect.Dialect[metric_providers.ElasticsearchOptions]):
    """Asks `_count` of the index in the settings, within the interval."""

    error_paths = (
        ("error", "root_cause", 0, "reason"),
        ("error", "reason"),
        ("error",),
        ("message",),
    )

    def request(self, reveal: dialect.Reveal, now: datetime) -> dialect.Request:
        """Return what is sent; an index that is not there is to be an error."""
        options = self.options
        for fault in document_queries.faults(self.asked.text):
            raise dialect.AnswerError(f"is not asked: {fault.message}")
        begin, end = map(dialect.milliseconds, (self.asked.start, self.asked.end))
        times = {"gte": begin, "lt": end, "format": "epoch_millis"}
        clause = document_queries.read(self.asked.text)
        filters = [clause, {"range": {options.time_field: times}}]
        body = json_text.dumps({"query": {"bool": {"filter": filters}}}).encode()
        headers = {"Content-Type": "application/json"}
        if options.api_key:
            headers["Authorization"] = f"ApiKey {reveal(options.api_key)}"
        found = (("allow_no_indices", "false"), ("ignore_unavailable", "false"))
        path = f"/{parse.quote(options.index, safe=',*')}/_count"
        return dialect.Request(path, found, "POST", headers, body)

    def read(self, body: bytes) -> Sequence[dialect.Points]:
        """Return the count, if all of the index was counted."""
        answer = dialect.mapping(dialect.decode(body))
        shards = dialect.mapping(answer.get("_shards"))
        if "count" not in answer or not shards:
            raise dialect.AnswerError("answered with JSON that is no count of Elasticsearch's")
        if (failed := dialect.number(shards.get("failed", 0))) != 0:
            raise dialect.AnswerError(f"counted a part only: {failed:g} of its shards failed")
        return [(dialect.number(answer["count"]),)]
