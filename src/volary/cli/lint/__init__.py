"""`volary lint`: all problems of application, fleet and settings files.

`linting` collects the files and the findings of its siblings; rules that need no file system
are in `volary.config`. May import `cli.local`. Start with `linting`.
"""
