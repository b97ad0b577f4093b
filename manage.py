#!/usr/bin/env python
"""The command line of a checkout; `opsapi` is the same where the package is installed."""

from opsapi.__main__ import main

if __name__ == "__main__":
    main()
