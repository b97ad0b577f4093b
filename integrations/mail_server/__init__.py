"""The page of the mail server: its settings, and a test message."""
