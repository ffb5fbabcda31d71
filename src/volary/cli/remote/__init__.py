"""Commands against a server: who it is and how to get in, requests, and what answers show."""
