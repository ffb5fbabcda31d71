"""Git: repositories read without a checkout, and mirrors of remote ones.

`repositories` reads commits, `mirrors` keeps bare mirrors up to date from a remote, which is
reached by `libgit2_remote` (https, files; `branch_listing` asks for branches) or `ssh_remote`;
`git_hosts` is what both promise, and how a host's complaints are reported.

Imports `trees`. Start reading at `mirrors`.
"""

import importlib

from volary.http_client import system_certificates

with system_certificates.unread():
    importlib.import_module("pygit2")  # `libgit2_remote` has it read them, once hosts are asked
