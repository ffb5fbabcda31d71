"""`volary run`: plan, preflight, the run itself, and how it is shown.

`matrix` folds events to what a person sees; `grid`, `cells` and `screen` draw it, `views`
choose between them. May import `controller` and what is below it, and no other sub-package of
`cli`. Start with `local_run`.
"""
