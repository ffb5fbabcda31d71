"""The machine that decides what happens next, and the runner that carries it out."""
