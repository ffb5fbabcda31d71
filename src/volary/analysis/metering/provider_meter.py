"""Measures by the providers of the settings: a question becomes queries, answers a measurement."""

import asyncio
import math
import sys
from dataclasses import dataclass

from volary.analysis.metering import bucket_queries, meters, query_templates, query_values
from volary.analysis.providers import provider_pool, query
from volary.config.stages import query_placeholders
from volary.model import analysis, errors, metric_providers

_ZERO = "where that means zero, have it say so (in PromQL `… or vector(0)`)"


@dataclass(frozen=True, slots=True)
class ProviderMeter:
    """See `meters.Meter`."""

    providers: provider_pool.Providers

    async def measure(self, question: meters.Question) -> analysis.Measurement:
        """Fill the queries in, ask, and return what came back."""
        rule = question.rule
        settings = self.providers.find(rule.provider)
        if settings is None:  # the answer says who there is
            return question.failure((await self._ask(question, rule.query)).message)
        try:
            texts = _texts(question, settings)
        except errors.UserError as error:
            return question.failure("; ".join(problem.message for problem in error.problems))
        if question.role is analysis.Role.BUCKET:
            return await self._bucket(question, texts.query)
        if not texts.total:
            answer = await self._ask(question, texts.query)
            return question.measurement(texts.query, answer.reading, answer.message, answer.values)
        return await self._share(question, texts)

    async def _bucket(self, question: meters.Question, text: str) -> analysis.Measurement:
        """Ask for both bounds of the bucket that a quantile falls into."""
        texts = bucket_queries.bounds(text)
        if texts is None:
            return question.nothing(text, "it is not one quantile of one histogram")
        bounds = await asyncio.gather(
            self._ask(question, texts.low), self._ask(question, texts.high)
        )
        for answer in bounds:
            if answer.reading is not analysis.Reading.VALUES:
                return question.measurement(texts.high, answer.reading, answer.message)
        # There may be several points of time, the newest last.
        low, high = (answer.values[-1] for answer in bounds)
        if not 0 <= low <= high < math.inf:
            return question.nothing(texts.high, "no bucket has grown")
        return question.answer(texts.high, (low, high))

    async def _share(
        self, question: meters.Question, texts: query_templates.Text
    ) -> analysis.Measurement:
        """Count events, and what they are among."""
        some, all_of_them = await asyncio.gather(
            self._ask(question, texts.query), self._ask(question, texts.total)
        )
        shown = sys.intern(f"{texts.query} of {texts.total}")
        if all_of_them.reading is not analysis.Reading.VALUES:
            return question.measurement(shown, all_of_them.reading, all_of_them.message)
        if some.reading is analysis.Reading.NO_DATA:
            # A counter of errors may not exist before the first one. It may as well have another
            # name than the query thinks, and then nothing would ever be seen to fail.
            return question.nothing(shown, f"{some.message}: {_ZERO}")
        if some.reading is analysis.Reading.ERROR:
            return question.failure(some.message, shown)
        return question.answer(shown, some.values, all_of_them.values)

    async def _ask(self, question: meters.Question, text: str) -> query.Answer:
        rule = question.rule
        shape = query.Shape.POINTS if rule.kind is analysis.Kind.VALUE else query.Shape.TOTAL
        return await self.providers.measure(
            query.Query(
                text=text,
                end=question.until,
                window=question.window or rule.interval,
                provider=rule.provider,
                target=question.target,
                shape=shape,
                timeout=rule.timeout,
                is_earlier=question.is_earlier,
                is_whole=question.window is not None,
            )
        )


def _texts(question: meters.Question, settings: metric_providers.Provider) -> query_templates.Text:
    """Return the queries of a rule with everything filled in.

    Raises:
        errors.UserError: Something cannot be.
    """
    rule, application = question.rule, question.application
    method = application.traffic_routing.method
    template = query_templates.for_rule(rule, method, settings, variant=question.side.value)
    values = query_values.of(question)
    total = query_placeholders.fill(template.total, values) if template.total else ""
    # A measurement bears its query. Every look has the same one, and each is kept until the end.
    return query_templates.Text(
        sys.intern(query_placeholders.fill(template.query, values)), sys.intern(total)
    )
