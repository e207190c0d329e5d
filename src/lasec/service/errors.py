"""What the service refuses, as RFC 9457 has it."""

from __future__ import annotations

from typing import Any

TITLES = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "The key is not for this",
    404: "There is no such thing",
    405: "There is no such method here",
    409: "It does not fit what is there",
    410: "It is gone",
    413: "The request is too large",
    415: "The type of the body is not known",
    422: "The request makes no sense",
    429: "Too many requests",
    500: "The service has failed",
    503: "The service is not ready",
}


class Problem(Exception):  # noqa: N818
    """A request that is refused, before anything was changed.

    >>> Problem(404, "there is no model 'mails'").body()
    {'type': 'about:blank', 'title': 'There is no such thing', 'status': 404, 'detail': ...}
    """

    def __init__(self, status: int, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.retry_after = status, detail, retry_after

    def body(self) -> dict[str, Any]:
        """The problem as JSON."""
        return {
            "type": "about:blank", "title": TITLES[self.status], "status": self.status,
            "detail": self.detail,
        }  # fmt: skip
