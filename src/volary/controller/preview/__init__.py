"""What a run would change, object by object, and its forms: text, Markdown, JSON.

May import `planning`. Everything but `previews.look` is pure. Start reading at `previews`.
"""
