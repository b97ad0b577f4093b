"""What the processes of the platform read at their start, in tests."""
