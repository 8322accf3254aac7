"""HTTP to a model server: time-outs, repeats with back-off, and typed errors without secrets."""

import logging
from collections.abc import Mapping
from typing import TypeVar

import httpx2
import stamina
from pydantic import BaseModel, ValidationError

from likely.errors import ServerError

Reply = TypeVar("Reply", bound=BaseModel)

# A repeat is no news: without a handler of the application's own, Python would print each one.
logging.getLogger("stamina").addHandler(logging.NullHandler())

_FIRST_WAIT = 0.1  # seconds before the first repeat; doubles each time, with jitter
_LONGEST_WAIT = 60.0  # seconds; a server that asks for a longer pause gets an error instead
_SHOWN = 200  # characters of an answer that an error message quotes


class RefusedError(ServerError):
    """The server understood a request and said no; asking again would change nothing."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class AnswerError(ServerError):
    """The server answered, and the answer cannot be used."""


class _BusyError(ServerError):
    """A failure that may pass: 429, 5xx, a lost connection, a time-out."""

    def __init__(self, message: str, *, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class Transport:
    """Sends requests from any number of threads.

    Args:
        api_key: Sent as a bearer token; never part of a message.
        timeout: Seconds that one request may take.
        retries: How often a request that failed for a passing reason is sent again.
        concurrency: Connections open at once.
    """

    def __init__(
        self, *, api_key: str | None, timeout: float, retries: int, concurrency: int
    ) -> None:
        self._api_key = api_key
        self._timeout = timeout
        self._repeat = stamina.RetryingCaller(
            attempts=retries + 1,
            timeout=None,
            wait_initial=_FIRST_WAIT,
            wait_max=_LONGEST_WAIT,
            wait_jitter=_FIRST_WAIT,
        )
        self._client = httpx2.Client(
            timeout=timeout,
            limits=httpx2.Limits(max_connections=concurrency),
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        )

    def close(self) -> None:
        """Close all connections; further use raises."""
        self._client.close()

    def get(self, url: str, reply: type[Reply]) -> Reply:
        """Return the checked answer to a GET.

        Raises:
            RefusedError: A status of 4xx.
            ServerError: No usable answer, after all repeats.
        """
        return self._ask("GET", url, None, reply, final=None)

    def post(
        self, url: str, body: Mapping[str, object], reply: type[Reply], *, final: str | None = None
    ) -> Reply:
        """Return the checked answer to a POST; errors as in `get`.

        Args:
            url: Absolute.
            body: Sent as JSON.
            reply: What the answer must look like; other fields in it are ignored.
            final: A text that makes an error of 5xx a refusal, not worth a repeat.
        """
        return self._ask("POST", url, body, reply, final=final)

    def _ask(
        self,
        method: str,
        url: str,
        body: Mapping[str, object] | None,
        reply: type[Reply],
        *,
        final: str | None,
    ) -> Reply:
        # No arguments: stamina may log the arguments of what it repeats.
        raw: bytes = self._repeat(_may_pass, lambda: self._send(method, url, body, final))
        try:
            return reply.model_validate_json(raw)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the answer"
            raise AnswerError(
                f"{url} sent an answer that cannot be read: {place}: {first['msg']}; "
                f"got {self._quote(raw)}"
            ) from None

    def _send(
        self, method: str, url: str, body: Mapping[str, object] | None, final: str | None
    ) -> bytes:
        try:
            response = self._client.request(method, url, json=body)
        except httpx2.TimeoutException as error:
            raise _BusyError(
                f"{url} gave no answer within {self._timeout} s; raise timeout="
            ) from error
        except httpx2.TransportError as error:
            raise _BusyError(f"cannot reach {url}: {str(error) or type(error).__name__}") from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise ServerError(f"cannot ask {url}: {error}") from error
        self._check_status(response, url, final)
        return response.content

    def _check_status(self, response: httpx2.Response, url: str, final: str | None) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        said = f"{url} answered {status}: {self._quote(response.content)}"
        if final and status >= 500 and final in response.text:
            raise RefusedError(said, status=status)
        if status == 429 or status >= 500:
            wait = _seconds(response.headers.get("Retry-After"))
            if wait is not None and wait > _LONGEST_WAIT:
                raise ServerError(f"{said}; it asks for a pause of {wait:.0f} s, try again then")
            raise _BusyError(said, wait=wait)
        if status in (401, 403):
            said += "; pass api_key= or set LIKELY_API_KEY"
        if status < 400:
            raise ServerError(f"{said}; give the address that it points to")
        raise RefusedError(said, status=status)

    def _quote(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "replace").strip()
        if self._api_key:
            text = text.replace(self._api_key, "***")
        return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _may_pass(error: Exception) -> bool | float:
    """Return whether to repeat, or after how many seconds the server asked us to."""
    if not isinstance(error, _BusyError):
        return False
    return True if error.wait is None else error.wait


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None without one, or for a date."""
    if header is None or not header.strip().isdigit():
        return None
    return float(header)
