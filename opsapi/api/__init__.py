"""Conventions that all routes of the API share."""
