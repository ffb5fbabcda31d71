"""``K8S_SYNC``: everything of the target source, at once.

The same steps as a primary rollout; the options are of another kind, and what they
prune is not limited to primary's objects (PipeCD: sync).
"""

from volary.model.pipeline.stage_kinds import rollout_stages
from volary.stages.kinds import primary_rollout
from volary.stages.runtime import stage_runners

RUNNER = stage_runners.StageRunner(
    kind=rollout_stages.SYNC, run=primary_rollout.run, plan=primary_rollout.rollout
)
