"""``PLACEMENT_SYNC`` and ``PLACEMENT_REMOVE``: an application moves between clusters.

No new version comes with it: every cluster gets its part of the placement at the release it runs,
and one that is new the last completed release. Routes stay as they are, so what a run under
way had divided between variants stays divided.

What leaves a cluster goes by inventory and ownership, each object looked at again right before
its delete; volumes, namespaces and what says ``volary.dev/prune: disabled`` stay.
"""

from volary.clusters import live as reading
from volary.clusters import placing, prune
from volary.manifests import workloads
from volary.model import outcome
from volary.stages import carrying, clean, rendering, rollback, work
from volary.stages import context as contexts


async def run_sync(context: contexts.StageContext) -> outcome.Outcome:
    """Bring one cluster what it is to run, and wait until it does."""
    return await work.carry_out(context, _sync)


async def run_remove(context: contexts.StageContext) -> outcome.Outcome:
    """Take the application away from one cluster."""
    return await work.carry_out(context, _remove)


async def _sync(doing: work.Work) -> str:
    context = doing.context
    commit, loader = context.commit, context.target_source
    if context.running_source is not None and context.running_commit:
        commit, loader = context.running_commit, context.running_source
    source = await doing.load(loader)
    found = workloads.find(source, context.application.workloads)
    placed = await placing.place(context.client, found, defining=source)
    live = list((await reading.read(context.client, placed.placed)).values())
    options = rollback.options(context.application, live)
    rendered = rendering.primary(source, context.application, options, commit=commit)
    candidates = carrying.candidates(rendered, context.application)
    carriers = await carrying.look(doing, candidates)
    held = carrying.hold(rendered, carriers, context.application)
    now, late = carrying.apart(held, carriers)
    changes = await doing.apply(now)
    seen = await doing.wait_ready(now)
    if late:
        await doing.apply(late)
    return f"at {commit[:7]}: {changes.summary}; {seen}"


async def _remove(doing: work.Work) -> str:
    context = doing.context
    # What it consists of here tells where to look; nothing of it is applied.
    await doing.load(context.running_source or context.target_source)
    doing.check_stop()
    context.progress("removing the application")
    result = await doing.remove_brought(prune.anything)
    return clean.removed(context.application.name, result.deleted)
