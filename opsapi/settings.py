"""Every setting, read once from the environment (or `.env`) and checked.

An invalid value raises `ImproperlyConfigured` with one line that names the setting, the fault and the allowed
values. `manage.py serve` prints that line and exits non-zero. `.env.example` explains each setting, and
docs/reference/settings.md is generated from it.
"""

from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from opsapi import VERSION, program
from opsapi import environment as read
from opsapi.api.content_security import STRICT
from opsapi.console.theme import UNFOLD  # noqa: F401 - a setting of the theme
from opsapi.embedded.layout import Layout
from opsapi.environment import build_commit
from opsapi.hostnames import is_unspecified
from opsapi.postgresql.url import database_of, with_defaults
from opsapi.secret_files import secret_from_file

read.lines_of(program.env_file())
BASE_DIR = program.base_dir()


# --- process ---------------------------------------------------------------------------------------
OPSAPI_BIND = read.bind("OPSAPI_BIND", "127.0.0.1:8000")
read.declare("OPSAPI_DATA_DIR", program.default_data_dir().name, "path of a directory")
OPSAPI_DATA_DIR = program.data_dir()
OPSAPI_PUBLIC_URL = read.url("OPSAPI_PUBLIC_URL")
OPSAPI_WORKERS = read.number("OPSAPI_WORKERS", 2, 1, 64)
OPSAPI_THREADS = read.number("OPSAPI_THREADS", 8, 1, 256)
OPSAPI_CONNECTIONS_PER_ADDRESS = read.number("OPSAPI_CONNECTIONS_PER_ADDRESS", 1000, 1, 2000)
OPSAPI_SENDERS = read.number("OPSAPI_SENDERS", 256, 1, 1024)
OPSAPI_TLS_CERT = read.text("OPSAPI_TLS_CERT", allowed="path of a file")
OPSAPI_TLS_KEY = read.text("OPSAPI_TLS_KEY", allowed="path of a file")
OPSAPI_TRUSTED_PROXIES = read.networks("OPSAPI_TRUSTED_PROXIES")
OPSAPI_VERSION = VERSION
OPSAPI_BUILD = build_commit(read.text("OPSAPI_BUILD", allowed="40 hex digits"), BASE_DIR)
OPSAPI_LOG_LEVEL = read.choice("OPSAPI_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))

_local_names = ["localhost", "127.0.0.1", "[::1]"]
_bind_names = [f"[{OPSAPI_BIND[0]}]" if ":" in OPSAPI_BIND[0] else OPSAPI_BIND[0]]
if is_unspecified(OPSAPI_BIND[0]):
    _bind_names.append(program.machine_name())
ALLOWED_HOSTS = read.words(
    "OPSAPI_ALLOWED_HOSTS", list(dict.fromkeys([*_bind_names, *_local_names])), allowed="host names"
)

# --- secrets ---------------------------------------------------------------------------------------
SECRET_KEY = read.text("SECRET_KEY") or secret_from_file(OPSAPI_DATA_DIR / "secret_key")
# Newest first: the first key encrypts, all of them decrypt.
# None before the first start: `prepare` creates the file if the database contains no encrypted values.
OPSAPI_ENCRYPTION_KEY_FILE = OPSAPI_DATA_DIR / "encryption_key"
OPSAPI_ENCRYPTION_KEYS = read.keys("OPSAPI_ENCRYPTION_KEYS", OPSAPI_ENCRYPTION_KEY_FILE)
OPSAPI_ENCRYPTION_KEY_LOST = read.flag("OPSAPI_ENCRYPTION_KEY_LOST", False)

# --- database --------------------------------------------------------------------------------------
OPSAPI_DB_POOLER = read.choice("OPSAPI_DB_POOLER", "none", ("none", "session", "transaction"))
_database_url = read.text("DATABASE_URL", allowed="`postgresql://` URL")
OPSAPI_EMBEDDED_DATABASE = not _database_url
OPSAPI_POSTGRESQL_BIN = read.text("OPSAPI_POSTGRESQL_BIN", allowed="absolute path of a directory")
if OPSAPI_EMBEDDED_DATABASE:
    _database = Layout(OPSAPI_DATA_DIR).django_database()
    _database["OPTIONS"] = with_defaults({}, hosts="")
else:
    _database = database_of(_database_url)
_prepared = {} if OPSAPI_DB_POOLER == "transaction" else {"server_side_binding": True, "prepare_threshold": 3}
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "opsapi.postgresql",  # It checks connections before each use, in place of health checks.
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,
        "DISABLE_SERVER_SIDE_CURSORS": OPSAPI_DB_POOLER == "transaction",
        "OPTIONS": {
            **_database["OPTIONS"],
            **_prepared,
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- access ----------------------------------------------------------------------------------------
OPSAPI_INVITATION_ONLY = read.flag("OPSAPI_INVITATION_ONLY", True)
OPSAPI_LDAP = read.flag("OPSAPI_LDAP", False)
OPSAPI_USERNAME_VALIDATION = read.choice("OPSAPI_USERNAME_VALIDATION", "none", ("none", "loose", "strict"))
OPSAPI_UNAUTH_GLOBAL_ROLES = read.flag("OPSAPI_UNAUTH_GLOBAL_ROLES", False)
OPSAPI_ACCESS_LIST_EXEMPT = read.networks(
    "OPSAPI_ACCESS_LIST_EXEMPT", "127.0.0.0/8,::1/128" if OPSAPI_EMBEDDED_DATABASE else ""
)
OPSAPI_LOGIN_ATTEMPTS = read.number("OPSAPI_LOGIN_ATTEMPTS", 10, 1, 1000)
OPSAPI_SECOND_FACTOR = read.choice("OPSAPI_SECOND_FACTOR", "optional", ("optional", "required"))
OPSAPI_SESSION_HOURS = read.number("OPSAPI_SESSION_HOURS", 8, 1, 720)
OPSAPI_SESSION_IDLE_MINUTES = read.number("OPSAPI_SESSION_IDLE_MINUTES", 60, 1, 43_200)
# In addition to loopback, addresses that may read /metrics without a key.
OPSAPI_METRICS_ALLOW = read.networks("OPSAPI_METRICS_ALLOW")
# Per minute; 0 means no limit.
OPSAPI_RATE_FAILED_AUTH = read.number("OPSAPI_RATE_FAILED_AUTH", 60, 0, 1_000_000)
OPSAPI_RATE_FIRST_USER = read.number("OPSAPI_RATE_FIRST_USER", 30, 0, 1_000_000)
OPSAPI_RATE_TEST_NOTIFICATIONS = read.number("OPSAPI_RATE_TEST_NOTIFICATIONS", 10, 0, 1_000_000)
OPSAPI_RATE_INVITATIONS = read.number("OPSAPI_RATE_INVITATIONS", 30, 0, 1_000_000)
OPSAPI_RATE_REPORTS = read.number("OPSAPI_RATE_REPORTS", 60_000, 0, 1_000_000)

# --- limits ----------------------------------------------------------------------------------------
OPSAPI_MAX_REPORT_MB = read.number("OPSAPI_MAX_REPORT_MB", 4, 1, 16)
OPSAPI_MAX_BODIES_MB = read.number("OPSAPI_MAX_BODIES_MB", 64, 16, 1024)
OPSAPI_MAX_HOSTS = read.number("OPSAPI_MAX_HOSTS", 20_000, 1, 1_000_000)
OPSAPI_MAX_AGENTS = read.number("OPSAPI_MAX_AGENTS", 20_000, 1, 1_000_000)
OPSAPI_MAX_SHARING_AGENTS = read.number("OPSAPI_MAX_SHARING_AGENTS", 1_000, 1, 10_000)
OPSAPI_MAX_CLUSTERS = read.number("OPSAPI_MAX_CLUSTERS", 20_000, 1, 1_000_000)
OPSAPI_MAX_REPLICA_SETS = read.number("OPSAPI_MAX_REPLICA_SETS", 20_000, 1, 1_000_000)
OPSAPI_MAX_PROCESSES = read.number("OPSAPI_MAX_PROCESSES", 20_000, 1, 1_000_000)
OPSAPI_MAX_DATABASES = read.number("OPSAPI_MAX_DATABASES", 1_000_000, 1, 10_000_000)
OPSAPI_MAX_DAILY_MB = read.number("OPSAPI_MAX_DAILY_MB", 20_000, 1, 100_000_000)
OPSAPI_MAX_ALERT_CONFIGS = read.number("OPSAPI_MAX_ALERT_CONFIGS", 1_000, 1, 1_000_000)

# --- fleet -----------------------------------------------------------------------------------------
# In days; 0 keeps them forever.
OPSAPI_MEASUREMENT_RETENTION_DAYS = read.number("OPSAPI_MEASUREMENT_RETENTION_DAYS", 7, 0, 3650)
# In days; 0 stores no such rollups.
OPSAPI_MEASUREMENT_PT5M_DAYS = read.number("OPSAPI_MEASUREMENT_PT5M_DAYS", 90, 0, 3650)
OPSAPI_MEASUREMENT_PT1H_DAYS = read.number("OPSAPI_MEASUREMENT_PT1H_DAYS", 730, 0, 3650)

# --- retention -------------------------------------------------------------------------------------
# In days; 0 keeps the rows forever. None: the choice in the console decides (`events.retention`).
OPSAPI_EVENT_RETENTION_DAYS = read.optional_number("OPSAPI_EVENT_RETENTION_DAYS", 0, 3650)
OPSAPI_ALERT_RETENTION_DAYS = read.optional_number("OPSAPI_ALERT_RETENTION_DAYS", 0, 3650)

# --- outbound services -----------------------------------------------------------------------------
OPSAPI_OUTBOUND_ALLOW = read.networks("OPSAPI_OUTBOUND_ALLOW")
OPSAPI_OUTBOUND_PROXY = read.outgoing_proxy("OPSAPI_OUTBOUND_PROXY")
OPSAPI_OUTBOUND_NO_PROXY = read.unproxied("OPSAPI_OUTBOUND_NO_PROXY")
OPSAPI_OUTBOUND_CA_FILE = read.authorities("OPSAPI_OUTBOUND_CA_FILE", BASE_DIR)
read.declare("SSL_CERT_FILE", "", "path of a file (PEM)")  # OpenSSL reads it.
OPSAPI_EMAIL_FROM = read.text("OPSAPI_EMAIL_FROM", "ops@localhost", allowed="e-mail address")
OPSAPI_EMAIL_HELO = read.text("OPSAPI_EMAIL_HELO", allowed="host name or IP address")
_email_url = read.text(
    "EMAIL_URL", "smtp://localhost:25", allowed="`smtp://`, `smtp+tls://` or `smtp+ssl://` URL"
)
try:
    _email = environ.Env.email_url_config(_email_url)
except (ValueError, ImproperlyConfigured):
    raise ImproperlyConfigured("EMAIL_URL: not a mail server URL") from None
if not _email.get("EMAIL_BACKEND", "").endswith("smtp.EmailBackend"):
    raise ImproperlyConfigured("EMAIL_URL: only smtp://, smtp+tls:// and smtp+ssl:// are supported")
EMAIL_BACKEND = "opsapi.outbound.mail.EmailBackend"
EMAIL_HOST = _email["EMAIL_HOST"]
EMAIL_PORT = _email["EMAIL_PORT"] or 25
EMAIL_HOST_USER = _email["EMAIL_HOST_USER"] or ""
EMAIL_HOST_PASSWORD = _email["EMAIL_HOST_PASSWORD"] or ""
EMAIL_USE_TLS = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _email.get("EMAIL_USE_SSL", False)
DEFAULT_FROM_EMAIL = OPSAPI_EMAIL_FROM
# The base URL of each service; `integrations.apps` checks them.
OPSAPI_SMS_BASE_URL = read.url("OPSAPI_SMS_BASE_URL", "https://api.twilio.com")
OPSAPI_SMS_ACCOUNT = read.text("OPSAPI_SMS_ACCOUNT")
OPSAPI_SMS_TOKEN = read.text("OPSAPI_SMS_TOKEN")
OPSAPI_SMS_FROM = read.text("OPSAPI_SMS_FROM")
OPSAPI_PAGER_BASE_URL = read.url("OPSAPI_PAGER_BASE_URL", "https://events.pagerduty.com")
OPSAPI_OPS_ALERT_US_BASE_URL = read.url("OPSAPI_OPS_ALERT_US_BASE_URL", "https://api.opsgenie.com")
OPSAPI_OPS_ALERT_EU_BASE_URL = read.url("OPSAPI_OPS_ALERT_EU_BASE_URL", "https://api.eu.opsgenie.com")
OPSAPI_ON_CALL_BASE_URL = read.url("OPSAPI_ON_CALL_BASE_URL", "https://alert.victorops.com")
OPSAPI_CHAT_BASE_URL = read.url("OPSAPI_CHAT_BASE_URL", "https://slack.com")
# HipChat was shut down, so there is no default.
OPSAPI_GROUP_CHAT_BASE_URL = read.url("OPSAPI_GROUP_CHAT_BASE_URL")
OPSAPI_METRICS_US_BASE_URL = read.url("OPSAPI_METRICS_US_BASE_URL", "https://api.datadoghq.com")
OPSAPI_METRICS_EU_BASE_URL = read.url("OPSAPI_METRICS_EU_BASE_URL", "https://api.datadoghq.eu")

# --- Django ----------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "opsapi.console.apps.ConsoleConfig",  # django.contrib.admin with our site.
    "opsapi",  # It replaces some commands of the apps below.
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "events",
    "accesslist",
    "automation",
    "integrations",
    "alerting",
    *(["tools"] if program.IS_CHECKOUT else []),
]
MIDDLEWARE = [
    "opsapi.api.middleware.client_scheme",
    "opsapi.api.middleware.request_log",
    "opsapi.api.middleware.request_count",
    "opsapi.api.middleware.response_headers",
    "opsapi.compression.Compression",
    "opsapi.api.content_security.ContentSecurityPolicy",
    "opsapi.api.middleware.TransientFaults",
    "opsapi.api.middleware.trailing_slash",
    "django.middleware.security.SecurityMiddleware",
    "opsapi.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "opsapi.console.sessions.session_limits",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accesslist.login.middleware.operator",
    "accesslist.login.middleware.second_factor_required",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "opsapi.urls"
WSGI_APPLICATION = "opsapi.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [program.FILES / "templates"],
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
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"  # Some of its templates are ours.
AUTH_USER_MODEL = "accesslist.User"
LOGIN_REDIRECT_URL = "admin:index"  # The theme's form has no action attribute.
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
FORMAT_MODULE_PATH = ["opsapi.console"]
STATIC_URL = "/static/"
STORAGES = {"staticfiles": {"BACKEND": "opsapi.hashed_files.HashedFiles"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
# More parameters than a request line of gunicorn can hold: any number of unknown parameters is ignored.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 10_000
# No form has files. Larger bodies are skipped; Django would write them to the disk for anybody.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.MemoryFileUploadHandler"]
SILENCED_SYSTEM_CHECKS = [
    "security.W004",  # opsapi.api.middleware sends HSTS with every response, for five minutes.
    "auth.W004",  # username_key is unique and finds a user.
    "security.W008",  # TLS may end at a proxy or not exist on loopback: OPSAPI_PUBLIC_URL decides.
]
SESSION_ENGINE = "opsapi.console.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
# Always secure with these settings; otherwise by request, as `client_scheme` decides.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = OPSAPI_PUBLIC_URL.startswith("https://") or bool(OPSAPI_TLS_CERT)
CSRF_FAILURE_VIEW = "opsapi.console.error_pages.csrf_failure"
SESSION_COOKIE_AGE = OPSAPI_SESSION_HOURS * 3600
# Behind a proxy that ends TLS, browsers send the origin of the public URL, not of the request.
_public = urlsplit(OPSAPI_PUBLIC_URL)
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"] if OPSAPI_PUBLIC_URL else []
CONTENT_SECURITY_POLICY = {"DIRECTIVES": STRICT}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["accesslist.digest.authentication.DigestAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["opsapi.api.permissions.DeclaredAccess"],
    "DEFAULT_PARSER_CLASSES": ["opsapi.api.bodies.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["opsapi.api.bodies.DocumentRenderer"],
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
        "Authenticate with an API key and HTTP Digest: the username is the public key, the password is the "
        "private key. A browser asks for them.\n\n"
        "Every error response is an ErrorDocument. This document lists the error codes of each operation and "
        "status; `GET /api/public/v1.0/errorCodes` explains them. Unsupported methods return 405 with "
        "`Allow`, unknown paths return 404 RESOURCE_NOT_FOUND.\n\n"
        "With `envelope=true`, a response has the resource in `content` next to `status`. A list has "
        "`status` next to its results. The schemas of responses show both forms."
    ),
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "opsapi.api.schema.describe_nulls",
    ],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "StateNameEnum": "automation.choices.AgentState",
        "AgentType": "automation.choices.AgentType",
        "HostType": "automation.choices.HostType",
        "EventTypeName": "events.types.EventType",
        "Severity": "events.types.Severity",
        "RoleName": "opsapi.roles.Role",
        "GroupRoleName": "alerting.configs.notification_types.GROUP_ROLES",
        "OrgRoleName": "alerting.configs.notification_types.ORG_ROLES",
        "GroupInvitationRole": "accesslist.invitations.resource.GROUP_ROLES",
        "Region": "integrations.choices.Region",
        "WebhookTemplate": "integrations.webhooks.templates.NAMES",
        "MatcherField": "alerting.configs.matchers.CONFIG_FIELDS",
        "WindowMatcherField": "alerting.configs.matchers.MatcherField",
        "MatcherOperator": "alerting.configs.matchers.MatcherOperator",
        "KindEnum": "integrations.choices.MessageKind",
        "LoggedNotificationDocumentKindEnum": "alerting.engine.resource.KINDS",
        "LoggedNotificationDocumentStatusEnum": "alerting.engine.resource.STATUSES",
        "LoggedNotificationDocumentTypeNameEnum": "alerting.engine.resource.TYPE_NAMES",
        "MoveEnum": "automation.plan.values.MoveKind",
        "PlanReasonDocumentReasonEnum": "automation.desired_state.resource.REASONS",
        "ReasonEnum": "alerting.insight.host_documents.REASONS",
        "NoMessageReason": "alerting.insight.alert_documents.NO_MESSAGE_REASONS",
        "NotificationReason": "alerting.insight.alert_documents.SENT_REASONS",
        "UserNotificationReason": "alerting.insight.alert_documents.USER_REASONS",
        "ConditionState": "alerting.insight.recorded_conditions.ConditionState",
        "CutReason": "alerting.budgets.CutReason",
        "DryRunLimit": "alerting.insight.dry_run_documents.LIMITS",
        "Engine": "automation.metrics.Engine",
        "Metric": "automation.metrics.Metric",
        "MetricStateName": "automation.choices.MetricState",
        "MetricKind": "automation.metrics.MetricKind",
        "Preset": "alerting.configs.presets.Preset",
        "ThresholdOperator": "alerting.configs.rules.ThresholdOperator",
        "Unit": "automation.metrics.MEASURED_UNITS",
    },
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "opsapi.logs.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": OPSAPI_LOG_LEVEL},
    # The request log of the platform contains more.
    "loggers": {
        "django.request": {"level": "CRITICAL"},
        "django.security": {"level": "CRITICAL"},
        "django.server": {"level": "CRITICAL"},
    },
}
