"""The monitoring agent: a program that watches databases and reports to the platform.

It runs without Django, on Python 3.9 and newer. Of the platform, it imports only the version and pure
modules: host names, labels, and the plan of an automation configuration.
`python -m automation.agent` starts it.

`engine` is the interface of a database engine; `mongodb` and `postgresql` implement it. `poller` polls all
hosts in rounds. `report` converts the answers to reports. `spool` keeps the reports on disk until `sender`
has sent them through `client`.
"""
