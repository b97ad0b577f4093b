"""Requests of webhooks with a document of their own: placeholders, ready templates, and how they are sent."""
