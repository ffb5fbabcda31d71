"""The stages of a pipeline, and what their options speak of.

Words: a *stage* is a step of the pipeline; *primary*, *canary* and *baseline* are the variants
of a workload; *traffic* is divided between them; a *webhook* asks somebody else's server. Pure
data.

May import `model.analysis`. Start reading at `pipelines`.
"""
