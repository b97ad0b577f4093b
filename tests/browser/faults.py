"""What no page may do, whatever a test is about: errors, answers nobody expected, asking another host."""

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

# Chromium reports violations of the content security policy on the console.
_ERRORS = frozenset({"assert", "error"})
# The answer, or the request that failed, reports the same with the address.
_SAID_ELSEWHERE = "Failed to load resource"
# The page was left meanwhile, or the answer became a download.
_LEFT = "net::ERR_ABORTED"
_OF_THE_NETWORK = frozenset({"http", "https", "ws", "wss"})


class Faults:
    """Collects them from all pages of a browser context, from its beginning to its end."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        """`url` is where the pages come from, and the only host they may ask."""
        self._host = urlsplit(url).netloc
        self._found: list[str] = []
        self._expected: list[int] = []
        self._without_answer = False
        context.on("console", self._hear)
        context.on("weberror", self._catch)
        context.on("request", self._see_request)
        context.on("requestfailed", self._see_failure)
        context.on("response", self._see_answer)

    def expects(self, *statuses: int) -> None:
        """Answers of these statuses are meant: each comes once, or it is a fault that it did not."""
        self._expected.extend(statuses)

    def expects_no_answer(self) -> None:
        """From now on requests without an answer are meant: the server is gone."""
        self._without_answer = True

    def all(self) -> list[str]:
        """Everything found, a line each; complete once the context is closed."""
        return [*self._found, *(f"an answer {status} never came" for status in self._expected)]

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in _ERRORS and not message.text.startswith(_SAID_ELSEWHERE):
            self._found.append(f"console: {message.text}")

    def _catch(self, error: WebError) -> None:
        self._found.append(f"script: {error.error}")

    def _see_request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in _OF_THE_NETWORK and url.netloc != self._host:
            self._found.append(f"another host was asked: {request.method} {request.url}")

    def _see_failure(self, request: Request) -> None:
        if request.failure != _LEFT and not self._without_answer:
            self._found.append(f"no answer: {request.method} {request.url}: {request.failure}")

    def _see_answer(self, response: Response) -> None:
        if response.status < 400:
            return
        if response.status in self._expected:
            self._expected.remove(response.status)
            return
        self._found.append(f"answered {response.status}: {response.request.method} {response.url}")
