"""The platform as a WSGI application: `gunicorn -c python:opsapi.gunicorn_conf opsapi.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")

application = get_wsgi_application()
# All views are imported now and not in the first request, which would be slow.
get_resolver().url_patterns  # noqa: B018 the look-up is the point
