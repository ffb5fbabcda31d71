"""The stages of a pipeline: what may be written for each, and what is checked of it.

`stage_sections` has the options by the name of the stage, `pipelines` turns entries into stages
of the model; analyses, webhooks, scripts and traffic have a module each. May import
`config.fleet` and what is below it. Start at `pipelines.convert`.
"""
