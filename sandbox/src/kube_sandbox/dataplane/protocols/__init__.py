"""HTTP/1.1 and HTTP/2 between pods, proxies and clients of one process.

No task and few objects per request, so that one process can be servers, proxies and clients at
once. `listeners` answer, `connections` ask; `http1` and `http2` are the messages.
"""
