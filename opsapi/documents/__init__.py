"""The documents at `/docs/`: the Markdown of the project, shown as pages, with a navigation and a search.

The pages need neither a build nor a log-in nor the database. `rendering` makes HTML of Markdown, `library`
knows which documents there are and finds words in them, `pages` answers requests.
"""
