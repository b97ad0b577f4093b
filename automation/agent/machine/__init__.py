"""The machine that the agent runs on: what it reads of it, and whether a database server runs on it too.

Linux only, with the standard library only.
"""
