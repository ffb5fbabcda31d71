"""The command line: results on standard output, messages on standard error.

`commands` declares commands and options and imports nothing heavy, so that `volary --help`
stays quick; the work is in the other sub-packages: `run`, `local` (no server needed), `lint`,
`remote` (against a server), `analysis`. A *view* shows a run while it happens. May import
`server` and everything below. Start with `commands.root`.
"""
