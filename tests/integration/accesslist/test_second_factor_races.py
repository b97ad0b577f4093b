"""Second factors that are used, or set up, by several requests at once."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.login.changes import second_factor_confirm, second_factor_use
from accesslist.login.store import factor_state
from opsapi.api.errors import ApiError
from tests.factories.accesslist import UserFactory
from tests.factories.second_factors import STEP, acting, begin_second_factor, code_at, make_second_factor
from tests.racing import THREADS, at_once

NOW = datetime(2099, 11, 21, 12, tzinfo=UTC)
LATER = NOW + 2 * STEP


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["by time", "recovery"])
def test_one_of_concurrent_requests_uses_the_code(kind: str) -> None:
    user = UserFactory.create()
    secret, codes = make_second_factor(user, NOW)
    code = code_at(secret, LATER) if kind == "by time" else codes[0]

    def use(_: int) -> bool:
        try:
            second_factor_use(user_id=user.id, code=code, actor=acting(user), now=LATER)
        except ApiError:
            return False
        return True

    assert sorted(at_once(use)) == [False] * (THREADS - 1) + [True]
    assert factor_state(user.id).recovery_codes_left == (10 if kind == "by time" else 9)


@pytest.mark.django_db(transaction=True)
def test_one_of_concurrent_confirmations_returns_recovery_codes() -> None:
    user = UserFactory.create()
    secret = begin_second_factor(user, NOW)
    shown: list[list[str]] = []

    def confirm(number: int) -> None:
        code = code_at(secret, NOW + (number % 3 - 1) * timedelta(seconds=30))
        try:
            shown.append(second_factor_confirm(code=code, actor=acting(user), now=NOW))
        except ApiError:
            return

    at_once(confirm)
    assert len(shown) == 1
    second_factor_use(user_id=user.id, code=shown[0][0], actor=acting(user), now=LATER)
