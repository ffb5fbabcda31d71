"""Questions to the clusters while a run is prepared: to all at once, each with a deadline.

A cluster that does not answer delays nobody for longer than `patience`, and only once: it is not
asked again, whatever is still to be found out. Who is waited for is told after a moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import TypeVar

from volary.clusters.apply import apply_errors
from volary.clusters.client import client_pool, clients
from volary.concurrency import fan_out, races
from volary.model import errors, phrases

Answer = TypeVar("Answer")
Question = Callable[[clients.Client], Awaitable[Answer]]

#: How long a cluster may say nothing at all while it is asked something.
PATIENCE = timedelta(seconds=15)
#: Seconds of silence after which it is told whom a preparation waits for.
_TOLD_AFTER = 3.0


class ClusterQuestions:
    """Asks clusters, and remembers who was silent; one for the preparation of a run.

    Args:
        clusters: The clients of the fleet.
        patience: How long a cluster may say nothing before it counts as silent.
        told: Given a sentence with whom is waited for, when that changes.
        silent: Clusters that are not asked, with the reason of each.
    """

    def __init__(
        self,
        clusters: client_pool.FleetClients,
        patience: timedelta = PATIENCE,
        *,
        told: Callable[[str], None] = lambda _: None,
        silent: Mapping[str, str] | None = None,
    ) -> None:
        self.clusters = clusters
        #: Who did not answer, and why.
        self.silent = dict(silent or {})
        self.patience = patience
        self._patience = patience.total_seconds()
        self._told = told
        self._said = ""
        #: Who is asked something now, and since when it is silent.
        self._open: dict[str, Callable[[], float]] = {}

    async def ask_all(
        self, targets: Iterable[str], question: Question[Answer]
    ) -> dict[str, Answer | client_pool.Unavailable]:
        """Ask clusters the same at once; a failure of one is no failure of the others."""
        names = tuple(targets)
        answers = await fan_out.run_all(names, lambda name: self.ask(name, question))
        return dict(zip(names, answers, strict=True))

    async def ask(
        self, target: str, question: Question[Answer]
    ) -> Answer | client_pool.Unavailable:
        """Return what a cluster answers, or why it does not."""
        if target in self.silent:
            return client_pool.Unavailable(target, self.silent[target])
        client = await self.clusters.client(target)
        if isinstance(client, client_pool.Unavailable):
            return client
        began = asyncio.get_running_loop().time()
        self._open[target] = lambda: max(began, client.answered)
        try:
            asking, _ = await races.first(_attempt(question, client), self._until_silent(target))
        finally:
            del self._open[target]
        if asking.cancelled():
            self.silent[target] = f"no answer within {self._patience:g} s"
            return client_pool.Unavailable(target, self.silent[target])
        answer = asking.result()
        if not isinstance(answer, errors.VolaryError):
            return answer
        if apply_errors.unreachable(answer) is not None:
            self.silent[target] = str(answer)
        problems = answer.problems if isinstance(answer, errors.UserError) else ()
        return client_pool.Unavailable(target, str(answer), problems)

    async def _until_silent(self, target: str) -> None:
        """Return once a cluster has said nothing at all for as long as it may."""
        while (silence := self._silence(target)) < self._patience:
            until = _TOLD_AFTER
            if silence >= until:
                self._tell()
                until = self._patience
            await asyncio.sleep(min(until, self._patience) - silence)

    def _silence(self, target: str) -> float:
        return asyncio.get_running_loop().time() - self._open[target]()

    def _tell(self) -> None:
        """Say whom is waited for; those who are asked at the same time are told of together."""
        silent = [name for name in self._open if self._silence(name) >= _TOLD_AFTER / 2]
        said = f"waiting for {phrases.join_names(silent)} to answer"
        if said != self._said:
            self._said = said
            self._told(said)


async def _attempt(
    question: Question[Answer], client: clients.Client
) -> Answer | errors.VolaryError:
    try:
        return await question(client)
    except errors.VolaryError as error:
        return error
