"""Exit with 0 if the web server of this container answers."""

import http.client
import os
import ssl
import sys

port = int(os.environ["OPSAPI_BIND"].rpartition(":")[2])
if os.environ.get("OPSAPI_TLS_CERT"):
    # The certificate names the platform's public host, not this address.
    unchecked = ssl._create_unverified_context()  # noqa: S323 - of this container's own server
    connection: http.client.HTTPConnection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=5, context=unchecked
    )
else:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
connection.request("GET", "/health/live")
sys.exit(connection.getresponse().status != http.HTTPStatus.OK)
