"""The scenarios, a module each, with `run` as their only public function.

A scenario opens an environment, plays its steps and says whether it ended as expected. May
import its siblings in `volary.demo` and `volary.cli`, never another scenario. Start with
`release`.
"""
