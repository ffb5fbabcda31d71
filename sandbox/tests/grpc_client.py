"""When a real client of gRPC calls; and what it was told. Skips where there is none."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest

import process_time

grpc = pytest.importorskip("grpc", reason="grpcio is not installed")
#: As many as are under way at a time.
AT_ONCE = 20


@dataclass
class Calls:
    """What became of them."""

    codes: Counter[str] = field(default_factory=Counter)
    by_variant: Counter[str] = field(default_factory=Counter)
    by_version: Counter[str] = field(default_factory=Counter)
    details: set[str] = field(default_factory=set)


async def call(
    address: str, count: int, *, host: str = "", method: str = "/shop.Shop/Buy"
) -> Calls:
    """When: so many unary calls are made to ``host:port``, some at a time, on one connection."""
    options = [("grpc.default_authority", host)] if host else []
    found = Calls()
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        stub = channel.unary_unary(method)
        gate = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            async with gate:
                asked = stub(b"\n\x02hi", timeout=process_time.HANG)
                found.codes[(await asked.code()).name] += 1
                if (await asked.code()) is not grpc.StatusCode.OK:
                    found.details.add(await asked.details())
                    return
                told = dict(await asked.initial_metadata())
                found.by_variant[str(told.get("x-variant", ""))] += 1
                found.by_version[str(told.get("x-version", ""))] += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(one())
    return found
