"""The pure machine: an event happens to a run, and commands say what has to be done.

Words: an *event* is an input, a *command* an output, a *request* what a person asks for;
`settle` asks the rules until none changes anything. No clock, no input or output.

May import `engine.runs`. Start reading at `machine`, then `settle`.
"""
