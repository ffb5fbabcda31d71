"""What a run would change, object by object, and its forms: text, Markdown, JSON.

May import `planning`. Everything but asking the clusters is pure. Start reading at `previews`.
"""
