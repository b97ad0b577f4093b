"""Kiosks: their tokens, and how long they are valid. Pure."""

import hmac
from dataclasses import dataclass
from datetime import timedelta

from accesslist.invitations.rules import secret_hash
from opsapi.ids import ID_LENGTH, is_id

LONGEST = timedelta(days=366)
"""The longest time that a kiosk is valid."""
KEPT = timedelta(days=30)
"""How long a kiosk is listed after its end."""


@dataclass(frozen=True, slots=True)
class KioskProof:
    """What a screen knows: the ID of the kiosk and the hash of the secret."""

    kiosk_id: str
    token_hash: str

    def opens(self, token_hash: str) -> bool:
        """Whether the stored hash is that of the secret; compared in constant time."""
        return hmac.compare_digest(self.token_hash, token_hash)


def kiosk_proof(token: str) -> KioskProof | None:
    """Return what the token proves; None if it cannot be a token."""
    kiosk_id, secret = token[:ID_LENGTH], token[ID_LENGTH:]
    return KioskProof(kiosk_id, secret_hash(secret)) if is_id(kiosk_id) and secret else None
