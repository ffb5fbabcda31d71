"""What "How Volary decides" says, claim by claim, beside what is measured.

A *claim* is a sentence of that page as it stands there, a number or a bound that it promises, and a
computation that measures it through the functions that verdicts are made with: exact where that
is possible, else releases drawn with a seed. `python -m benchmarks.claims` measures all of them, or
those under the headings that are named, and writes ``claims.md``; a test measures those that are
quick. Start reading at `claim`; each other module is a part of the page.
"""
