"""The receivers of the tests keep out of the log, which is for what the platform says."""

import logging
import smtplib

import pytest

from tests.receivers import MailReceiver


def test_a_mail_that_is_taken_leaves_nothing_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with MailReceiver().running() as receiver, smtplib.SMTP("127.0.0.1", receiver.port) as client:
        client.sendmail("ops@example.com", ["oncall@example.com"], "Subject: down\r\n\r\ndb1")
    assert len(receiver.mails) == 1
    assert caplog.record_tuples == []
