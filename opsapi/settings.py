"""Every setting, read once from the environment (or `.env`) and checked on the way in.

A wrong value raises `ImproperlyConfigured` with one line that names the setting, the value's fault
and what is allowed; `manage.py serve` prints that line and exits non-zero.
The README lists every name read here.
"""

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

import django_stubs_ext
import environ
from django.core.exceptions import ImproperlyConfigured

from opsapi import VERSION
from opsapi.build import build_commit
from opsapi.embedded.layout import Layout
from opsapi.secret_files import secret_from_file

# Lets Django's generic classes be written with their parameters, as mypy --strict wants them.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
env.read_env(env.str("OPSAPI_ENV_FILE", default=str(BASE_DIR / ".env")))


def _choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    value: str = env.str(name, default=default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}: {value!r} is not one of {', '.join(allowed)}")
    return value


def _number(name: str, default: int, minimum: int, maximum: int) -> int:
    value: str = env.str(name, default=str(default))
    if not (value.isascii() and value.isdigit() and minimum <= int(value) <= maximum):
        raise ImproperlyConfigured(f"{name}: {value!r} is not a whole number from {minimum} to {maximum}")
    return int(value)


def _flag(name: str, default: bool) -> bool:
    value: str = env.str(name, default=str(default)).lower()
    if value not in {"true", "false"}:
        raise ImproperlyConfigured(f"{name}: {value!r} is not true or false")
    return value == "true"


def _networks(name: str, default: str = "") -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    parts = [part.strip() for part in env.str(name, default=default).split(",") if part.strip()]
    try:
        return [ipaddress.ip_network(part) for part in parts]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}") from None


def _bind(name: str, default: str) -> tuple[str, int]:
    value: str = env.str(name, default=default)
    host, separator, port = value.rpartition(":")
    if not separator or not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ImproperlyConfigured(f"{name}: {value!r} is not <address>:<port>")
    return host.strip("[]"), int(port)


def _url(name: str, default: str = "") -> str:
    value: str = env.str(name, default=default).rstrip("/")
    if value and not value.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{name}: {value!r} is not an http or https URL")
    return value


# --- where it runs ---------------------------------------------------------------------------------
OPSAPI_BIND = _bind("OPSAPI_BIND", "127.0.0.1:8000")
OPSAPI_DATA_DIR = (BASE_DIR / env.str("OPSAPI_DATA_DIR", default="var")).absolute()
OPSAPI_PUBLIC_URL = _url("OPSAPI_PUBLIC_URL")
OPSAPI_WORKERS = _number("OPSAPI_WORKERS", 2, 1, 64)
OPSAPI_THREADS = _number("OPSAPI_THREADS", 8, 1, 256)
OPSAPI_SENDERS = _number("OPSAPI_SENDERS", 4, 1, 64)
OPSAPI_TLS_CERT = env.str("OPSAPI_TLS_CERT", default="")
OPSAPI_TLS_KEY = env.str("OPSAPI_TLS_KEY", default="")
OPSAPI_TRUSTED_PROXIES = _networks("OPSAPI_TRUSTED_PROXIES")
OPSAPI_VERSION = VERSION
OPSAPI_BUILD = build_commit(env.str("OPSAPI_BUILD", default=""), BASE_DIR)
OPSAPI_LOG_LEVEL = _choice("OPSAPI_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))

_local_names = ["localhost", "127.0.0.1", "[::1]"]
_bind_name = f"[{OPSAPI_BIND[0]}]" if ":" in OPSAPI_BIND[0] else OPSAPI_BIND[0]
ALLOWED_HOSTS = env.list("OPSAPI_ALLOWED_HOSTS", default=list(dict.fromkeys([_bind_name, *_local_names])))

# --- secrets ---------------------------------------------------------------------------------------
SECRET_KEY = env.str("SECRET_KEY", default="") or secret_from_file(OPSAPI_DATA_DIR / "secret_key")
# Newest first: the first key encrypts, all of them decrypt.
OPSAPI_ENCRYPTION_KEYS = env.list("OPSAPI_ENCRYPTION_KEYS", default=[]) or [
    secret_from_file(OPSAPI_DATA_DIR / "encryption_key")
]

# --- database --------------------------------------------------------------------------------------
OPSAPI_DB_POOLER = _choice("OPSAPI_DB_POOLER", "none", ("none", "session", "transaction"))
OPSAPI_EMBEDDED_DATABASE = not env.str("DATABASE_URL", default="")
if OPSAPI_EMBEDDED_DATABASE:
    _database = Layout(OPSAPI_DATA_DIR).django_database()
else:
    try:
        _database = dict(env.db_url("DATABASE_URL"))
    except (ValueError, ImproperlyConfigured):
        raise ImproperlyConfigured("DATABASE_URL: not a database URL") from None
    if _database.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured("DATABASE_URL: only postgresql:// is supported")
_prepared = {} if OPSAPI_DB_POOLER == "transaction" else {"server_side_binding": True, "prepare_threshold": 3}
DATABASES = {
    "default": {
        **_database,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,
        "DISABLE_SERVER_SIDE_CURSORS": OPSAPI_DB_POOLER == "transaction",
        "OPTIONS": {
            **_database.get("OPTIONS", {}),
            **_prepared,
            "application_name": "opsapi",
            "connect_timeout": 5,
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- access (decisions 2, 3) -----------------------------------------------------------------------
OPSAPI_INVITATION_ONLY = _flag("OPSAPI_INVITATION_ONLY", True)
OPSAPI_LDAP = _flag("OPSAPI_LDAP", False)
OPSAPI_USERNAME_VALIDATION = _choice("OPSAPI_USERNAME_VALIDATION", "none", ("none", "loose", "strict"))
OPSAPI_UNAUTH_GLOBAL_ROLES = _flag("OPSAPI_UNAUTH_GLOBAL_ROLES", False)
OPSAPI_ACCESS_LIST_EXEMPT = _networks(
    "OPSAPI_ACCESS_LIST_EXEMPT", "127.0.0.0/8,::1/128" if OPSAPI_EMBEDDED_DATABASE else ""
)
OPSAPI_LOGIN_ATTEMPTS = _number("OPSAPI_LOGIN_ATTEMPTS", 10, 1, 1000)
# Beside loopback, who may read /metrics without a key.
OPSAPI_METRICS_ALLOW = _networks("OPSAPI_METRICS_ALLOW")
# In a minute; 0 is no limit.
OPSAPI_RATE_FAILED_AUTH = _number("OPSAPI_RATE_FAILED_AUTH", 60, 0, 1_000_000)
OPSAPI_RATE_FIRST_USER = _number("OPSAPI_RATE_FIRST_USER", 30, 0, 1_000_000)
OPSAPI_RATE_TEST_NOTIFICATIONS = _number("OPSAPI_RATE_TEST_NOTIFICATIONS", 10, 0, 1_000_000)

# --- the fleet (decisions 8) -----------------------------------------------------------------------
# In days; 0 keeps them for good.
OPSAPI_MEASUREMENT_RETENTION_DAYS = _number("OPSAPI_MEASUREMENT_RETENTION_DAYS", 7, 0, 3650)

# --- what is kept (decisions 4) --------------------------------------------------------------------
# In days; 0 keeps them for good.
OPSAPI_EVENT_RETENTION_DAYS = _number("OPSAPI_EVENT_RETENTION_DAYS", 0, 0, 3650)
OPSAPI_ALERT_RETENTION_DAYS = _number("OPSAPI_ALERT_RETENTION_DAYS", 0, 0, 3650)

# --- the outside (decisions 7) ---------------------------------------------------------------------
OPSAPI_OUTBOUND_ALLOW = _networks("OPSAPI_OUTBOUND_ALLOW")
OPSAPI_EMAIL_FROM = env.str("OPSAPI_EMAIL_FROM", default="ops@localhost")
try:
    _email = env.email_url("EMAIL_URL", default="smtp://localhost:25")
except (ValueError, ImproperlyConfigured):
    raise ImproperlyConfigured("EMAIL_URL: not a mail server URL") from None
if not _email.get("EMAIL_BACKEND", "").endswith("smtp.EmailBackend"):
    raise ImproperlyConfigured("EMAIL_URL: only smtp://, smtp+tls:// and smtp+ssl:// are supported")
EMAIL_BACKEND = _email["EMAIL_BACKEND"]
EMAIL_HOST = _email["EMAIL_HOST"]
EMAIL_PORT = _email["EMAIL_PORT"] or 25
EMAIL_HOST_USER = _email["EMAIL_HOST_USER"] or ""
EMAIL_HOST_PASSWORD = _email["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _email.get("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = 5
DEFAULT_FROM_EMAIL = OPSAPI_EMAIL_FROM
# Where each service is reached; `integrations.checks` looks at them.
OPSAPI_SMS_BASE_URL = _url("OPSAPI_SMS_BASE_URL", "https://api.twilio.com")
OPSAPI_SMS_ACCOUNT = env.str("OPSAPI_SMS_ACCOUNT", default="")
OPSAPI_SMS_TOKEN = env.str("OPSAPI_SMS_TOKEN", default="")
OPSAPI_SMS_FROM = env.str("OPSAPI_SMS_FROM", default="")
OPSAPI_PAGER_BASE_URL = _url("OPSAPI_PAGER_BASE_URL", "https://events.pagerduty.com")
OPSAPI_OPS_ALERT_US_BASE_URL = _url("OPSAPI_OPS_ALERT_US_BASE_URL", "https://api.opsgenie.com")
OPSAPI_OPS_ALERT_EU_BASE_URL = _url("OPSAPI_OPS_ALERT_EU_BASE_URL", "https://api.eu.opsgenie.com")
OPSAPI_ON_CALL_BASE_URL = _url("OPSAPI_ON_CALL_BASE_URL", "https://alert.victorops.com")
OPSAPI_CHAT_BASE_URL = _url("OPSAPI_CHAT_BASE_URL", "https://slack.com")
# HipChat is gone: nobody answers unless an installation says who.
OPSAPI_GROUP_CHAT_BASE_URL = _url("OPSAPI_GROUP_CHAT_BASE_URL")
OPSAPI_METRICS_US_BASE_URL = _url("OPSAPI_METRICS_US_BASE_URL", "https://api.datadoghq.com")
OPSAPI_METRICS_EU_BASE_URL = _url("OPSAPI_METRICS_EU_BASE_URL", "https://api.datadoghq.eu")

# --- Django ----------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "opsapi.console.apps.ConsoleConfig",  # django.contrib.admin with our site
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "opsapi",
    "events",
    "accesslist",
    "automation",
    "integrations",
    "alerting",
]
MIDDLEWARE = [
    "opsapi.api.middleware.request_log",
    "opsapi.api.middleware.request_count",
    "opsapi.api.middleware.response_headers",
    "opsapi.api.middleware.DatabaseUnavailable",
    "opsapi.api.middleware.trailing_slash",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "opsapi.urls"
WSGI_APPLICATION = "opsapi.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTH_USER_MODEL = "accesslist.User"
AUTHENTICATION_BACKENDS = ["accesslist.backends.OperatorBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = ["opsapi.console.formats"]
STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
# More parameters than a request line of gunicorn can hold: unknown ones are ignored, however many.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
SILENCED_SYSTEM_CHECKS = [
    "security.W004",  # HSTS is sent on every response by opsapi.api.middleware, five minutes as decided
    "auth.W004",  # usernames are unique by username_key, the form they are looked up by
    "security.W008",  # TLS may end at a proxy or not exist on loopback: OPSAPI_PUBLIC_URL decides
]
SESSION_ENGINE = "opsapi.console.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = OPSAPI_PUBLIC_URL.startswith("https://") or bool(OPSAPI_TLS_CERT)
SESSION_COOKIE_AGE = 8 * 3600
# Behind a proxy that ends TLS a browser's Origin is that of the public URL, not of the request.
_public = urlsplit(OPSAPI_PUBLIC_URL)
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"] if OPSAPI_PUBLIC_URL else []
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accesslist.authentication.DigestAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["opsapi.api.permissions.DeclaredAccess"],
    "DEFAULT_PARSER_CLASSES": ["opsapi.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["opsapi.api.renderers.DocumentRenderer"],
    "DEFAULT_SCHEMA_CLASS": "opsapi.api.schema.DeclaredSchema",
    "EXCEPTION_HANDLER": "opsapi.api.handler.answer_error",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "URL_FORMAT_OVERRIDE": None,
    "FORMAT_SUFFIX_KWARG": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Ops API",
    "VERSION": "1.0",
    "OAS_VERSION": "3.1.0",
    "DESCRIPTION": (
        "Alerts, events, integrations and administration of database operations.\n\n"
        "Callers authenticate with an API key by HTTP Digest; a browser asks for it by itself: the user name "
        "is the public key, the password the private key.\n\n"
        "Every refusal has one shape, ErrorDocument, and what stands beside its status here are the error "
        "codes it can have; `GET /api/public/v1.0/errorCodes` tells what they mean. A path that exists "
        "answers other methods with 405 and `Allow`, an unknown path with 404 RESOURCE_NOT_FOUND.\n\n"
        "With `envelope=true` a document stands in `content` beside its `status`; a list has `status` beside "
        "its results."
    ),
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "EventTypeName": "events.types.EventType",
        "RoleName": "opsapi.roles.Role",
        "GroupRoleName": "alerting.notification_types.people.GROUP_ROLES",
        "OrgRoleName": "alerting.notification_types.people.ORG_ROLES",
        "Region": "integrations.choices.Region",
        "MatcherField": "alerting.rules.matching.MatcherField",
        "MatcherOperator": "alerting.rules.matching.MatcherOperator",
        "Metric": "automation.metrics.Metric",
        "ThresholdOperator": "alerting.rules.thresholds.ThresholdOperator",
        "Unit": "automation.units.Unit",
    },
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "opsapi.logs.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": OPSAPI_LOG_LEVEL},
    # The request log of the platform says more than these two would.
    "loggers": {
        "django.request": {"level": "CRITICAL"},
        "django.server": {"level": "CRITICAL"},
    },
}
