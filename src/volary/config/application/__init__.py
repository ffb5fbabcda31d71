"""Application files, in PipeCD's dialect or our own, into the model.

`application_files.parse` tells the dialects apart, also Flagger's and Karmada's
(`config.dialects`); `assembly` builds the application from its sections; `consistency` checks
what only shows when they are seen together. May import everything of `config` but `crosscheck`
and `generated`. Start at `application_files.parse`.
"""
