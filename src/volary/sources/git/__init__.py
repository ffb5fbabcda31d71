"""Git: repositories read without a checkout, and mirrors of remote ones.

`repositories` reads commits, `mirrors` keeps bare mirrors up to date from a remote, which is
reached by `libgit2_remote` (https, files; `branch_listing` asks for branches) or `ssh_remote`;
`git_hosts` is what both promise, and how a host's complaints are reported.

Imports `trees`. Start reading at `mirrors`.
"""
