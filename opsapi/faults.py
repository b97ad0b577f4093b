"""What went wrong, in words short enough for a line of the log or the terminal."""


def first_line(error: Exception) -> str:
    """What is wrong, without the hints that follow; the kind of error where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
