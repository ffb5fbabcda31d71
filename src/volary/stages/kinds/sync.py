"""``K8S_SYNC``: everything of the target source, at once.

The same steps as a primary rollout; the options are of another kind, and what they
prune is not limited to primary's objects (PipeCD: sync).
"""

from volary.model import statuses
from volary.stages.kinds import primary_rollout
from volary.stages.runtime import contexts


async def run(context: contexts.StageContext) -> statuses.Outcome:
    """Carry out the stage on one cluster."""
    return await primary_rollout.run(context)
