"""The account page of the console: what people do to their own account."""
