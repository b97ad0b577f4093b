"""The outside: channels, and the delivery of one message."""
