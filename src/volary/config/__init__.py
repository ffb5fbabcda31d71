"""What users write, checked and turned into the model: dialects, fleet files, lint, schema.

Text comes in, frozen values of `volary.model` and problems go out; nothing here opens a file.
From the bottom up: `text` (grammars), `decoding` (from a document to checked sections), `fleet`,
`stages`, `placement`, `server`, `dialects`, `application`, then `crosscheck`, which looks at what
only shows when files are seen together, and `generated`. May import `volary.model` only. Start
reading at `application.application_files`.
"""
