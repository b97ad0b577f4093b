"""Integrations: channels, the delivery of a message, and service discovery for scrapers."""
