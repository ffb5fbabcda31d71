"""Secrets in Git become values: files of SOPS, and PipeCD's encrypted values and attached files.

A *decrypted tree* is the repository's tree with some files read differently; nothing of it is
written to a disk here. `opening` makes one, of `sops_files` (which files, and which of their
values are secret), `sops` (the program), `ciphertexts` and `templates` (PipeCD's). `keys` says
where keys come from, which is never the repository.

Imports `trees`. Start at `opening.open_files`.
"""
