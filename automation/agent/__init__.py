"""The monitoring agent: a program that watches databases and reports to the platform.

It runs without Django, on Python 3.9 and newer: nothing in here imports more of the platform than its version
and the pure modules that read host names. `python -m automation.agent` starts it.

`engine` says what a kind of database has to offer; `mongodb` and `postgresql` are two. `poller` asks all
hosts in rounds, `report` writes what they answered as reports, `spool` keeps these on disk until `sender`
has sent them through `client`.
"""
