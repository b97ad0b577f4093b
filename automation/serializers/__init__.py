"""The fleet as the API shows and takes it, a file per noun."""
