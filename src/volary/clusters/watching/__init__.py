"""Waiting until objects are in a state, by watching them.

`collection_watch` listens to several collections until a question is answered; `waits` asks
whether objects are ready or gone, `readiness` is the pure answer, `endpoints` is about pods
that can take traffic. `list_snapshot` answers several questions with one list.

Imports `api` and `client`. Start reading at `waits`.
"""
