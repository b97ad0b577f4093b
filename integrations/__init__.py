"""The outside: integrations, channels, the delivery of one message, and what scrapers are told."""
