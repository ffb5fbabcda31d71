"""The API as HTTP: middleware, problem details, event streams, pages, JSON and its OpenAPI
document.

May import `server.authorization` and what that may; knows no route. Start with `middleware`.
"""
