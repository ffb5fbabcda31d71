"""Every kind of stage: its options, and everything that is known of it without carrying it out.

Words: a stage *promotes* when users have the new version after it, it *applies* and *removes* the
objects of a variant, it *routes traffic* between them; it *proves a wave* when the wave may not
go on without it. Users *list* stages in a pipeline; Volary adds the others.

What is asked of a stage elsewhere is asked of its `stage_kind.StageKind`, never of its name. May
import its neighbours in `model.pipeline` but `pipelines`. Start reading at `stage_kind`, then
`rollout_stages`; `catalog` finds a kind by its name.
"""
