"""The first set-up in the browser: the first user and the first project, while no user exists."""
