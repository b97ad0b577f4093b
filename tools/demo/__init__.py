"""The demonstration: a day of a fleet, written with the services that also write real days.

Each step happens at the time that it would have had, in one transaction. All names and addresses are reserved
(RFC 2606, RFC 5737). Times are minutes before the end of the day.
"""
