"""Other projects' files, read as applications of ours.

A *draft* is a file of our own dialect in the making. May import all of `config` but `crosscheck`
and `generated`. Start reading at `drafts`, then `flagger.translation`.
"""
