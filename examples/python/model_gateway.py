"""A client of the model gateway that needs only the standard library of Python 3.9 or newer."""

from __future__ import annotations

import http.client
import json
import os
import random
import shutil
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Optional, Union
from urllib import error, parse, request

Json = dict[str, Any]
Body = Union[bytes, Iterable[bytes]]

# After any other status, the same request fails again, or it is not known whether the work was done.
RETRYABLE_STATUSES = frozenset({408, 429, 502, 503, 504, 524, 529})

FINAL_STATUSES = frozenset({"completed", "failed", "cancelled", "expired"})


class GatewayError(Exception):
    """A call failed. `status` is None if no response arrived."""

    def __init__(
        self,
        message: str,
        *,
        status: Optional[int] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        request_id: Optional[str] = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.metadata = metadata or {}
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        status = "no response" if self.status is None else str(self.status)
        request_id = f" (request {self.request_id})" if self.request_id else ""
        return f"{status}: {super().__str__()}{request_id}"

    @property
    def is_retryable(self) -> bool:
        return self.status is None or self.status in RETRYABLE_STATUSES


class VideoNotCompleted(Exception):
    """A video job ended as `failed`, `cancelled` or `expired`. It costs nothing."""

    def __init__(self, job: Json) -> None:
        super().__init__(f"video job {job['id']} ended as {job['status']}: {job.get('error', 'no reason given')}")
        self.job = job


class Gateway:
    """The operations of a gateway. A paid call that is retried is charged once.

    `timeout` is how long one attempt may wait for the network, `deadline` how long a call may take
    with its retries, both in seconds.
    """

    def __init__(
        self, base_url: str, api_key: str, *, retries: int = 3, timeout: float = 90.0, deadline: float = 300.0
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._retries = retries
        self._timeout = timeout
        self._deadline = deadline
        self._opener = request.build_opener(_RefuseRedirects)

    @classmethod
    def from_environment(cls, **options: Any) -> Gateway:
        """Reads MODEL_GATEWAY_BASE_URL and MODEL_GATEWAY_API_KEY."""
        return cls(os.environ["MODEL_GATEWAY_BASE_URL"], os.environ["MODEL_GATEWAY_API_KEY"], **options)

    def rerank(self, *, idempotency_key: Optional[str] = None, **fields: Any) -> Json:
        """Sorts `documents` by how relevant they are for `query`, by `model`."""
        return self._post_json("/rerank", fields, idempotency_key)

    def upload(self, path: Path, *, idempotency_key: Optional[str] = None) -> Json:
        """Uploads a file. It is read while it is sent, so it may be larger than the memory."""
        boundary = uuid.uuid4().hex
        filename = path.name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        head = (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="file"; filename="{filename}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()

        def parts() -> Iterable[bytes]:
            yield head
            with path.open("rb") as file:
                while chunk := file.read(65_536):
                    yield chunk
            yield tail

        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(head) + path.stat().st_size + len(tail)),
            "Idempotency-Key": idempotency_key or str(uuid.uuid4()),
        }
        return self._json("POST", "/files", headers=headers, body=parts)

    def submit_video(self, *, idempotency_key: Optional[str] = None, **fields: Any) -> Json:
        """Submits a video job, and returns it at once."""
        return self._post_json("/videos", fields, idempotency_key)

    def wait_for_video(
        self, job_id: str, *, timeout: float = 1_800.0, on_change: Callable[[Json], None] = lambda job: None
    ) -> Json:
        """Returns the job when it is completed. Raises VideoNotCompleted, or TimeoutError after
        `timeout` seconds: the job goes on then, and can be waited for again."""
        end = time.monotonic() + timeout
        status: Optional[str] = None
        pause = 0.25
        while True:
            # The gateway answers when the status changes, or after `wait` seconds.
            left = max(0.0, end - time.monotonic())
            query = f"?wait={min(60, int(left))}" if status else ""
            job = self._json("GET", f"/videos/{parse.quote(job_id, safe='')}{query}")
            if job["status"] != status:
                status, pause = job["status"], 0.25
                on_change(job)
            if status == "completed":
                return job
            if status in FINAL_STATUSES:
                raise VideoNotCompleted(job)
            if time.monotonic() + pause > end:
                raise TimeoutError(f"video job {job_id} is {status} after {timeout:g} seconds")
            # A gateway that has too many waiting requests answers at once.
            time.sleep(pause)
            pause = min(pause * 2, 5.0)

    def download_video(self, job_id: str, path: Path) -> None:
        """Writes the finished video to a file, which appears when it is complete."""
        part = path.with_name(f"{path.name}.part")

        def save(response: http.client.HTTPResponse) -> None:
            with part.open("wb") as file:
                shutil.copyfileobj(response, file)
            # copyfileobj does not notice a connection that ends early.
            if response.length:
                raise http.client.IncompleteRead(b"", response.length)

        self._call("GET", f"/videos/{parse.quote(job_id, safe='')}/content", read=save)
        part.replace(path)

    def _post_json(self, path: str, fields: Json, idempotency_key: Optional[str]) -> Json:
        headers = {"Content-Type": "application/json", "Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        body = json.dumps(fields).encode()
        return self._json("POST", path, headers=headers, body=lambda: body)

    def _json(self, method: str, path: str, **options: Any) -> Json:
        return self._call(method, path, read=_read_json, **options)

    def _call(
        self,
        method: str,
        path: str,
        *,
        read: Callable[[http.client.HTTPResponse], Any],
        headers: Optional[Mapping[str, str]] = None,
        body: Callable[[], Optional[Body]] = lambda: None,
    ) -> Any:
        """Sends a request, and again if that may help. Only for requests that are safe to repeat:
        a POST has an Idempotency-Key, which all attempts share."""
        end = time.monotonic() + self._deadline
        attempt = 0
        while True:
            try:
                return self._send(method, path, read, headers or {}, body())
            except GatewayError as failure:
                # Full jitter, so that clients that failed together do not return together.
                backoff = random.uniform(0.1, min(10.0, 0.5 * 2**attempt))
                delay = max(backoff, failure.retry_after)
                attempt += 1
                if not failure.is_retryable or attempt > self._retries or time.monotonic() + delay > end:
                    raise
                time.sleep(delay)

    def _send(
        self,
        method: str,
        path: str,
        read: Callable[[http.client.HTTPResponse], Any],
        headers: Mapping[str, str],
        body: Optional[Body],
    ) -> Any:
        all_headers = {"Authorization": f"Bearer {self._api_key}", "Accept": "*/*", **headers}
        message = request.Request(self.base_url + path, data=body, headers=all_headers, method=method)
        try:
            with self._opener.open(message, timeout=self._timeout) as response:
                return read(response)
        except error.HTTPError as response:
            raise _error_of(response) from None
        except (OSError, http.client.HTTPException) as cause:
            # The request may have been carried out: only a repetition with the same key finds out.
            raise GatewayError(f"{type(cause).__name__}: {cause}") from cause


class _RefuseRedirects(request.HTTPRedirectHandler):
    """urllib would send the API key to wherever a redirect leads."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _read_json(response: http.client.HTTPResponse) -> Json:
    try:
        return json.load(response)
    except ValueError:
        raise GatewayError("the response is not JSON; check the base URL", status=response.status) from None


def _error_of(response: error.HTTPError) -> GatewayError:
    message, metadata = response.reason, {}
    try:
        envelope = json.load(response)["error"]
        message, metadata = envelope["message"], envelope.get("metadata") or {}
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        pass  # A proxy answered, or the connection broke: the status has to do.
    retry_after = response.headers.get("Retry-After", "")
    return GatewayError(
        message,
        status=response.code,
        metadata=metadata,
        request_id=response.headers.get("x-request-id"),
        retry_after=float(retry_after) if retry_after.isdecimal() else 0.0,
    )
