"""Requests whose status is judged (PipeCD: ``https``), within the reach of webhooks."""

import asyncio

import aiohttp

from volary.analysis.metering import meters
from volary.model import analysis
from volary.stages import webhooks

_CLUSTER = "${CLUSTER}"


async def measure(
    check: analysis.HttpCheck, question: meters.Question, reach: webhooks.Reach
) -> analysis.Measurement:
    """Make the request once; its status is the value. Redirects are not followed."""
    url = check.url.replace(_CLUSTER, question.target)
    query = f"{check.method} {url}"
    refusal = webhooks.refusal(url, reach)
    if refusal:
        return question.failure(f"not asked: {refusal}", query)
    try:
        async with (
            asyncio.timeout(check.rule.timeout.total_seconds()),
            aiohttp.ClientSession(connector=webhooks.connector(reach)) as session,
            session.request(
                check.method,
                url,
                headers=[("User-Agent", "volary"), *check.headers],
                allow_redirects=False,
            ) as response,
        ):
            return question.answer(query, (float(response.status),))
    except TimeoutError:
        seconds = check.rule.timeout.total_seconds()
        return question.failure(f"no answer within {seconds:g} s", query)
    except aiohttp.InvalidURL:
        return question.failure("the address cannot be asked", query)
    except (aiohttp.ClientError, OSError) as error:
        said = webhooks.unreached(error) or f"no answer ({type(error).__name__})"
        return question.failure(said, query)
