"""What a server answers instead of a reply."""

from __future__ import annotations

from typing import NamedTuple, Optional

import grpc
from google.rpc import error_details_pb2, status_pb2

DETAILS = "grpc-status-details-bin"
CODES = {code.value[0]: code for code in grpc.StatusCode}


class FieldError(NamedTuple):
    """One field at fault."""

    path: str  # inside the request: "scenario.workload.batch_size"
    description: str  # what was asked, what was found, what is allowed


class Error(Exception):
    """A call that failed, or a point or candidate that was refused. `str()` says everything."""

    def __init__(self, status: status_pb2.Status):
        self.code: grpc.StatusCode = CODES.get(status.code, grpc.StatusCode.UNKNOWN)
        self.message: str = status.message
        self.reason: str = ""  # a name of foretoken.v1.Reason, as "OUT_OF_MEMORY"
        self.metadata: dict[str, str] = {}  # what goes with the reason, as "current_etag"
        self.fields: list[FieldError] = []
        self.retry_after_seconds: Optional[float] = None  # of a server that is overloaded
        self._read(status)
        super().__init__(self._text())

    @classmethod
    def of_call(cls, call: grpc.RpcError) -> Error:
        """The error of a call over gRPC, with its details."""
        status = status_pb2.Status(code=call.code().value[0], message=call.details() or "")
        for key, value in call.trailing_metadata() or ():
            if key == DETAILS:
                status.details.extend(status_pb2.Status.FromString(value).details)
        return cls(status)

    def _read(self, status: status_pb2.Status) -> None:
        info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        for detail in status.details:
            if detail.Unpack(info):
                self.reason, self.metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(bad):
                self.fields = [FieldError(one.field, one.description) for one in bad.field_violations]
            elif detail.Unpack(retry):
                self.retry_after_seconds = retry.retry_delay.ToTimedelta().total_seconds()

    def _text(self) -> str:
        names = [self.code.name] + ([self.reason] if self.reason not in ("", self.code.name) else [])
        lines = [f"{self.message or 'no message'} ({', '.join(names)})"]
        for field in self.fields:
            told = len(self.fields) == 1 and field.description in self.message
            lines.append(f"  field {field.path}" + ("" if told else f": {field.description}"))
        return "\n".join(lines)
