"""Finds the most expensive inputs of operations that a tenant can call: `python -m tests.budgets`.

`search` looks for the most expensive input that is accepted. `operations` has the operations and their
inputs. `site` is the running platform with a second project. The delay of its messages is measured meanwhile.
"""
