"""The pages of docs/reference, made of what the code knows."""
