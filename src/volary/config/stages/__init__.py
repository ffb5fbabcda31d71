"""The stages of a pipeline: what may be written for each, and what is checked of it.

`pipelines` turns `stage_entries` into stages of the model. `stage_sections` has the options by the
name of the stage, `stage_readers` reads them; analyses, webhooks and traffic have a module each.
Those are imported once there is a stage: files without one are read at each start of a command,
and all that judges releases takes as long as everything else. May import `config.fleet` and what
is below it. Start at `pipelines.convert`.
"""
