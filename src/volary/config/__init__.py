"""What users write, checked and turned into the model: dialects, fleet files, lint, schema.

Text comes in, frozen values of `volary.model` and problems go out; nothing here
opens a file. May import `volary.model` only. Start reading at `application`;
`yaml` reads text as kubectl does, `sections` and `options` describe the fields,
`shape` compares a file with them, `convert` makes the model, `crosscheck` looks
at what only shows when parts are seen together.
"""
