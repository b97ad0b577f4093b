"""The console in a real browser: tests of facts that only a browser shows."""
