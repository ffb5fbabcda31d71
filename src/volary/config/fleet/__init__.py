"""Fleet files: clusters, their taints and properties, and the systems that are asked for
measurements.

Reads our own fleet files (`fleet_files`) and PipeCD's piped files (`piped_files`); health rules
and taints are used by applications too. May import `config.text` and `config.decoding`. Start
at `fleet_files.parse`.
"""
