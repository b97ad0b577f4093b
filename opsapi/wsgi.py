"""The platform as a WSGI application: `gunicorn -c python:opsapi.gunicorn_conf opsapi.wsgi`."""

import os

import django
from django.urls import get_resolver

from opsapi.api.wsgi import Handler
from opsapi.startup import importing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")

with importing():
    django.setup(set_prefix=False)
    application = Handler()
    # All views are imported now and not in the first request, which would be slow.
    get_resolver().url_patterns  # noqa: B018 the look-up is the point
