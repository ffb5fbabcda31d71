"""Broken input for everything that reads what others wrote.

A *parser* (`parsers`) is one reader of untrusted input with examples of it. A *trial* (`trials`)
makes an input of the examples by a seed (`changes`), has it read, and says what must not have
happened: another exception than the declared ones, more work than any input may make, a secret in
a message, a message that cannot be sent. A parser's name and a seed make the same input again.

`make fuzz` runs it (`__main__`); the tests play a few seeds of each parser.
"""
