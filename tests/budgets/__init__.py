"""The dearest inputs of operations that a tenant may call, and what they cost: `python -m tests.budgets`.

`search` looks for the dearest input that is accepted. `operations` has the operations and their inputs.
`site` is the running platform with a second project, whose messages are timed meanwhile.
"""
