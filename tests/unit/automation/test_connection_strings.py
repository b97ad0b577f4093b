"""Connection strings: what is refused, what is redacted, and which stored string a redacted string means."""

from automation.agent_settings.rules import FORMS, redacted_string, replaced_strings, stored_partners
from automation.metrics import Engine
from tests.each import each

SECRET = "s3cret"
MONGODB = [
    "mongodb://db1.example.com",
    "mongodb://db1:27017,db2:27018/?replicaSet=rs0",
    "mongodb://user:pa%40ss@[2001:db8::1]:27017/admin?tls=true&tlsCAFile=/etc/ca.pem",
    "mongodb://CN=agent%2COU=ops@db1/?authMechanism=MONGODB-X509",
    "mongodb+srv://user:s3cret@cluster.example.com/?readPreference=nearest",
    "mongodb://db1?tls=true",
]
POSTGRESQL = [
    "postgresql://db1",
    "postgres://user:s3cret@db1:5432,db2/postgres?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    "postgresql://user@/postgres?host=db1&port=5433",
    "postgresql://db1/postgres?options=-c%20x%3D1;2",
]
WRONG_MONGODB = [
    "",
    "db1",
    "http://db1",
    "postgresql://db1",
    "mongodb://",
    "mongodb://db1:0",
    "mongodb://db1:65536",
    "mongodb://db_1",
    "mongodb://db1,",
    "mongodb:///run/mongodb.sock",
    "mongodb://user:s3c/ret@db1",
    "mongodb://user:12/s3cret@db1",
    "mongodb://user:12?s3c=ret@db1",
    "mongodb://user:s3c@ret@db1",
    "mongodb://user:s3c:ret@db1",
    "mongodb://user:s3c#ret@db1",
    "mongodb://user:s3c%ret@db1",
    "mongodb://user:s3c ret@db1",
    "mongodb://user:s3cret@db1/\n?x=1",
    "mongodb://:s3cret@db1",
    "mongodb://db1/?s3cret",
    "mongodb://db1/?tls=true&",
    "mongodb://db1/?tls=true;tlsCertificateKeyFilePassword=s3cret",
    "mongodb+srv://db1:27017",
    "mongodb+srv://db1,db2",
]
WRONG_POSTGRESQL = [
    "mongodb://db1",
    "host=db1 password=s3cret",
    "postgresql://user:12/s3cret@db1",
    "postgresql://user:12/?s3c=ret@db1",
    "postgresql:///postgres",
    "postgresql://%2Frun%2Fpostgresql/postgres",
    "postgresql://db1/postgres?service=s3cret",
    "postgresql://db1/postgres?passfile=/s3cret",
    "postgresql://db1/postgres?%70assfile=/s3cret",
]
REDACTED = {
    "mongodb://user:s3cret@db1/?authSource=admin": "mongodb://user:******@db1/?authSource=admin",
    "mongodb://user@db1": "mongodb://user@db1",
    "mongodb://db1/?tlsCertificateKeyFile=/a.pem&tlsCertificateKeyFilePassword=s3cret": (
        "mongodb://db1/?tlsCertificateKeyFile=/a.pem&tlsCertificateKeyFilePassword=******"
    ),
    "mongodb://db1/?authMechanismProperties=AWS_SESSION_TOKEN:s3cret": (
        "mongodb://db1/?authMechanismProperties=******"
    ),
    "postgresql://user:s3cret@db1/x?sslmode=require": "postgresql://user:******@db1/x?sslmode=require",
    "postgresql://db1/x?user=u&password=s3cret": "postgresql://db1/x?user=u&password=******",
    "postgresql://db1/x?pass%77ord=s3cret": "postgresql://db1/x?pass%77ord=******",
    "postgresql://db1/x?sslpassword=s3;cret=s3cret": "postgresql://db1/x?sslpassword=******",
    "postgresql://db1/x?oauth_client_secret=s3cret": "postgresql://db1/x?oauth_client_secret=******",
    "postgresql://db1/x?scram_client_key=s3cret": "postgresql://db1/x?scram_client_key=******",
}
A, A2, B = "mongodb://u:a@db1", "mongodb://u:a2@db1", "mongodb://u:b@db2"
SHOWN_A, SHOWN_B = redacted_string(A), redacted_string(B)


@each("text", MONGODB)
def test_strings_of_mongodb_are_accepted(text: str) -> None:
    assert FORMS[Engine.MONGODB].fault(text) is None


@each("text", POSTGRESQL)
def test_uris_of_postgresql_are_accepted(text: str) -> None:
    assert FORMS[Engine.POSTGRESQL].fault(text) is None


@each("text", WRONG_MONGODB)
def test_other_strings_are_refused_without_quoting_them(text: str) -> None:
    fault = FORMS[Engine.MONGODB].fault(text)
    assert fault
    assert "s3c" not in fault


@each("text", WRONG_POSTGRESQL)
def test_other_uris_are_refused_without_quoting_them(text: str) -> None:
    fault = FORMS[Engine.POSTGRESQL].fault(text)
    assert fault
    assert "s3c" not in fault


@each("text", REDACTED)
def test_passwords_and_secret_options_are_redacted_and_the_rest_is_shown(text: str) -> None:
    assert redacted_string(text) == REDACTED[text]


@each(
    ("sent", "stored", "meant"),
    [
        ([SHOWN_A, SHOWN_B], [A, B], [A, B]),
        ([SHOWN_B, SHOWN_A], [A, B], [B, A]),
        ([SHOWN_B], [A, B], [B]),
        (["mongodb://new", SHOWN_B], [A, B], ["mongodb://new", B]),
        (["mongodb://new", SHOWN_A, SHOWN_B], [A, B], ["mongodb://new", A, B]),
        ([SHOWN_A.replace("db1", "evil")], [A], [None]),
        ([SHOWN_A.replace("u:", "v:")], [A], [None]),
        ([SHOWN_A], [], [None]),
        # Two strings look the same: only all of them mean all of them.
        ([SHOWN_A, SHOWN_A], [A, A2], [A, A2]),
        ([SHOWN_A], [A, A2], [None]),
        ([SHOWN_A], None, [None]),
    ],
    ids=str,
)
def test_a_redacted_string_means_the_stored_string_that_looks_the_same(
    sent: list[str], stored: list[str] | None, meant: list[str | None]
) -> None:
    shown = [redacted_string(text) for text in (stored if stored is not None else [A])]
    assert stored_partners(sent, shown, stored) == meant


def test_an_event_marks_strings_of_which_only_a_secret_was_changed() -> None:
    assert replaced_strings([A, B], [A2, B, "mongodb://x:y@new"]) == [
        f"{SHOWN_A} (replaced)",
        SHOWN_B,
        "mongodb://x:******@new",
    ]


def test_without_the_strings_before_every_secret_counts_as_replaced() -> None:
    assert replaced_strings(None, [A, "mongodb://db1"]) == [f"{SHOWN_A} (replaced)", "mongodb://db1"]
