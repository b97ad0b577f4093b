"""What the platform does per second, in milliseconds and in memory, each next to its bare limit.

`make bench` runs `python -m tests.benchmarks`. Every limit is measured in the same run, on the same
machine and database, because only ratios say something on another machine. Nothing here asserts a figure.
"""
