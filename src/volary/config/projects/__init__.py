"""Files of kind `Project`, and of what else a platform team says about its teams.

A *definition* is one document of such a file. `project_files` reads all files of a server
together, because names are unique over all of them, and knows the kinds that there are; each
kind has its fields and its checks in a module of its own (`project_sections`). May import
`config.server`, `config.placement` and what is below them. Start at `project_files.parse`.
"""
