"""Who gets a webhook and does not lead tells who does."""

import asyncio

import fixed_clock
import process_time
from volary.server.sharing import refresh_relay
from volary.store import factory


async def test_the_leader_looks_at_what_others_were_told() -> None:
    looked: list[str] = []
    leads = False

    def look(name: str) -> bool:
        looked.append(name)
        return True

    async with factory.open_store("memory:", clock=fixed_clock.FixedClock()) as store:
        standing = refresh_relay.RefreshRelay(lambda _: False)
        leader = refresh_relay.RefreshRelay(look)
        async with asyncio.TaskGroup() as group:
            standing.request("before")
            tasks = [group.create_task(standing.keep_relaying(store, lambda: False))]
            async with asyncio.timeout(process_time.HANG):
                while True:
                    if await store.refreshes.all():
                        break
                    await asyncio.sleep(0.05)
            leads = True
            tasks.append(group.create_task(leader.keep_relaying(store, lambda: leads)))
            leader.request("own")
            # What it is told in its first look is what was asked for before it began.
            await process_time.until(lambda: leader._seen is not None)
            for _ in range(5):
                standing.request("shop")
            await process_time.until(lambda: "shop" in looked)
            counts = await store.refreshes.all()
            for task in tasks:
                task.cancel()

    assert looked == ["own", "shop"]
    assert counts == {"before": 1, "shop": 1}, "many pushes are one word"
