"""Passwords of tests: hashed as in service, at the least cost the library takes."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class QuickArgon2Hasher(Argon2PasswordHasher):
    """Argon2id in a twentieth of a millisecond, where a login in service takes a fifth of a second."""

    time_cost = 1
    memory_cost = 8
    parallelism = 1
