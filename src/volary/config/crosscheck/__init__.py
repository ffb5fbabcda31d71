"""Files compared with one another: an application with its fleet, and all files of a tree
(`volary lint`).

`eligibility` says which clusters take something new. May import everything of `config` but
`generated`. Start at `lint.check`.
"""
