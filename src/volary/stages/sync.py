"""``K8S_SYNC``: everything of the target source, at once.

The same steps as a primary rollout; the options are of another kind, and what they
prune is not limited to primary's objects (PipeCD: sync).
"""

from volary.model import outcome
from volary.stages import context as contexts
from volary.stages import primary_rollout


async def run(context: contexts.StageContext) -> outcome.Outcome:
    """Carry out the stage on one cluster."""
    return await primary_rollout.run(context)
