"""The grammars of what users write, each on its own: nothing here knows a section.

YAML and JSON as kubectl reads them (`yaml`, of which `yaml_tree` and `yaml_scalars` are the
parts), CEL (`expressions`), JSONPath, regular expressions (`patterns`), globs, iCalendar,
addresses of Git repositories. May import `volary.model` only. Start at `yaml`: a `Document`
knows the line of everything.
"""
