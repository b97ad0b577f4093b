"""Short descriptions of errors, for a line of the log or the terminal."""


def first_line(error: Exception) -> str:
    """The first line of the error, without hints; the type of an error without text."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
