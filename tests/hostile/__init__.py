"""Hostile input: random values, harmful requests, octets on the sockets of the real server."""
