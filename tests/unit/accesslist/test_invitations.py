"""Tokens of invitations, and the roles that they still give."""

from datetime import UTC, datetime, timedelta

from accesslist.invitations.rules import (
    GROUP_INVITATION_ROLES,
    ORG_INVITATION_ROLES,
    InvitationOutcome,
    LinkFault,
    Proof,
    TokenState,
    link_fault,
    new_secret,
    proof_of,
    secret_hash,
    still_given,
    token_of,
)
from opsapi.roles import READING, Grant, Role, holds_somewhere
from tests.each import each

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
ID, ORG, GROUP = "a" * 24, "b" * 24, "c" * 24
SECOND = timedelta(seconds=1)


def state(
    *,
    outcome: InvitationOutcome | None = None,
    expires: datetime = NOW + SECOND,
    replaced: tuple[str, ...] = (),
) -> TokenState:
    """An invitation whose current secret is `current`."""
    return TokenState(secret_hash("current"), [secret_hash(each) for each in replaced], outcome, expires)


@each(
    ("secret", "facts", "fault"),
    [
        ("current", state(), None),
        ("current", state(expires=NOW), LinkFault.EXPIRED),
        ("current", state(outcome=InvitationOutcome.EXPIRED), LinkFault.EXPIRED),
        ("current", state(outcome=InvitationOutcome.ACCEPTED), LinkFault.USED),
        ("current", state(outcome=InvitationOutcome.ACCEPTED, expires=NOW), LinkFault.USED),
        ("current", state(outcome=InvitationOutcome.REVOKED), LinkFault.REVOKED),
        ("earlier", state(replaced=("earlier",)), LinkFault.REPLACED),
        ("earlier", state(replaced=("earlier",), outcome=InvitationOutcome.REVOKED), LinkFault.REVOKED),
        ("earlier", state(replaced=("earlier",), outcome=InvitationOutcome.ACCEPTED), LinkFault.USED),
        # A stranger with the ID alone learns nothing about the invitation.
        ("guessed", state(), LinkFault.UNKNOWN),
        ("guessed", state(outcome=InvitationOutcome.REVOKED), LinkFault.UNKNOWN),
        ("guessed", state(replaced=("earlier",)), LinkFault.UNKNOWN),
    ],
)
def test_a_link_that_does_not_work_says_why(secret: str, facts: TokenState, fault: LinkFault | None) -> None:
    assert link_fault(Proof(ID, secret_hash(secret)), facts, NOW) is fault


def test_a_token_proves_its_invitation() -> None:
    secret = new_secret()
    assert len(secret) >= 43  # 256 bits
    assert proof_of(token_of(ID, secret)) == Proof(ID, secret_hash(secret))
    assert secret not in secret_hash(secret)
    assert new_secret() != secret


@each("text", ["", ID, ID[:-1], "x" * 80, "A" * 24 + "secret"])
def test_other_texts_prove_nothing(text: str) -> None:
    assert proof_of(text) is None


_OPERATOR, _READER = (
    Grant(Role.GROUP_MONITORING_ADMIN, group_id=GROUP),
    Grant(Role.GROUP_READ_ONLY, None, GROUP),
)
_MEMBER = Grant(Role.ORG_MEMBER, ORG)


@each(
    ("by", "wanted", "given"),
    [
        ([Grant(Role.GROUP_OWNER, group_id=GROUP)], [_OPERATOR, _READER], [_OPERATOR, _READER]),
        ([Grant(Role.ORG_OWNER, ORG)], [_OPERATOR, _READER], [_OPERATOR, _READER]),
        ([Grant(Role.GLOBAL_OWNER)], [_OPERATOR], [_OPERATOR]),
        ([Grant(Role.GROUP_USER_ADMIN, group_id=GROUP)], [_OPERATOR, _READER], [_READER]),
        ([Grant(Role.GLOBAL_USER_ADMIN)], [_OPERATOR, _READER], [_READER]),
        # Who holds the role but no longer administers the project cannot give it.
        ([_OPERATOR], [_OPERATOR, _READER], []),
        ([Grant(Role.ORG_OWNER, "d" * 24)], [_OPERATOR], []),
        ([], [_OPERATOR], []),
        ([Grant(Role.ORG_OWNER, ORG)], [_MEMBER], [_MEMBER]),
        ([Grant(Role.GLOBAL_USER_ADMIN)], [_MEMBER, Grant(Role.ORG_OWNER, ORG)], [_MEMBER]),
        ([Grant(Role.ORG_READ_ONLY, ORG)], [_MEMBER], []),
        ([Grant(Role.GROUP_OWNER, group_id=GROUP)], [_MEMBER], []),
    ],
)
def test_an_invitation_gives_only_roles_that_the_inviter_can_give_now(
    by: list[Grant], wanted: list[Grant], given: list[Grant]
) -> None:
    lost = [grant for grant in wanted if grant not in given]
    assert still_given(wanted, by=by, orgs_of_groups={GROUP: ORG}) == (given, lost)


def test_every_role_of_an_invitation_allows_a_log_in() -> None:
    for role in (*ORG_INVITATION_ROLES, *GROUP_INVITATION_ROLES):
        assert holds_somewhere([Grant(role)], READING)
    assert not any(role.is_global for role in (*ORG_INVITATION_ROLES, *GROUP_INVITATION_ROLES))
