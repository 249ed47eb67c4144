"""A sweep's columns become a pandas.DataFrame, without a Python loop over points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable, NamedTuple, Optional

import grpc
import numpy
import pandas
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.rpc import status_pb2

from foretoken import keywords, v1
from foretoken.errors import CODES, Error
from foretoken.retry import error_of

PROVENANCE = v1.Provenance.DESCRIPTOR
REASON = v1.Reason.DESCRIPTOR
METRIC = v1.Metric.DESCRIPTOR


class Axis(NamedTuple):
    """A keyword with several values, and its field."""

    name: str
    field: FieldDescriptor


def request_of(fields: Mapping[str, Any]) -> tuple[v1.SweepRequest, list[Axis]]:
    """The request, in which a keyword of several values is an axis."""
    request, axes = v1.SweepRequest(), []
    request.base.SetInParent()
    for keyword, value in fields.items():
        if value is None:
            continue
        path = _path(keyword, value)
        field = keywords.field_at(request.DESCRIPTOR, path)
        if not _is_several(value) or keywords.is_repeated(field):
            keywords.set_at(request, path, value)
            continue
        axis = request.axes.add(field=".".join(path[1:]))
        _set_values(axis, field, list(value))
        axes.append(Axis(keywords.SHORT.get(keyword, keyword), field))
    return request, axes


def _path(keyword: str, value: Any) -> keywords.Path:
    if keyword in keywords.NAMED:
        by_id = isinstance(value, str) or _is_several(value)
        return ("base", keyword + ("_id" if by_id else "_spec"))
    return keywords.path_of(v1.SweepRequest.DESCRIPTOR, keyword)


def _is_several(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)) and not hasattr(value, "DESCRIPTOR")


def _set_values(axis: v1.SweepAxis, field: FieldDescriptor, values: list[Any]) -> None:
    if field.enum_type is not None:
        numbers = [keywords.enum_number(field.enum_type, value, field.name) for value in values]
        axis.texts.values.extend(field.enum_type.values_by_number[number].name for number in numbers)
    elif field.type == FieldDescriptor.TYPE_STRING:
        axis.texts.values.extend(values)
    else:
        axis.numbers.values.extend(float(value) for value in values)


class Reader:
    """A sweep whose header was read."""

    def __init__(self, call: Any):
        self._call = call
        first = next(call, None)
        if first is None or not first.HasField("header"):
            raise _cut("the sweep does not begin with a header")
        self._header = first.header

    def read(self, axes: list[Axis], progress: Optional[Callable[[float], object]]) -> pandas.DataFrame:
        """The rest of the stream. Whatever ends it early cancels the call."""
        points = Points(self._header)
        try:
            for message in self._call:
                if message.HasField("chunk"):
                    points.take(message.chunk)
                    if progress is not None:
                        progress(message.chunk.progress)
                elif message.HasField("summary"):
                    return points.frame(axes, message.summary)
        except grpc.RpcError as failure:
            raise error_of(failure) from failure
        finally:
            self._call.cancel()
        raise _cut("the sweep ended without a summary")


def _cut(message: str) -> Error:
    return Error(status_pb2.Status(code=grpc.StatusCode.DATA_LOSS.value[0], message=message))


class Points:
    """The columns of a sweep, filled chunk by chunk."""

    def __init__(self, header: v1.SweepHeader):
        self._header = header
        self._metrics = {metric: numpy.full(header.total_points, numpy.nan) for metric in header.metrics}
        self._statuses = numpy.zeros(header.total_points, numpy.int8)
        self._reasons = numpy.zeros(header.total_points, numpy.int8)
        self._provenances = numpy.zeros(header.total_points, numpy.int8)
        self._errors: dict[int, str] = {}

    def take(self, chunk: v1.SweepChunk) -> None:
        here = slice(chunk.first_point, chunk.first_point + chunk.num_points)
        for column in chunk.columns:
            self._metrics[column.metric][here] = numpy.array(column.values)
        # One value stands for all points: numpy spreads it.
        self._statuses[here] = numpy.array(chunk.statuses)
        self._reasons[here] = numpy.array(chunk.reasons)
        self._provenances[here] = numpy.array(chunk.provenances)
        self._errors.update((error.point, str(Error(error.status))) for error in chunk.errors)

    def frame(self, axes: list[Axis], summary: v1.SweepSummary) -> pandas.DataFrame:
        total = self._header.total_points
        columns: dict[str, Any] = {}
        inner = total
        for axis, header in zip(axes, self._header.axes):
            values = _values(axis.field, header)
            inner //= len(values)
            columns[axis.name] = _spread(values, inner, total)
        columns.update((short(METRIC, metric), values) for metric, values in self._metrics.items())
        columns["status"] = _categorical(self._statuses, lambda code: CODES[code].name)
        columns["reason"] = _categorical(self._reasons, _reason)
        columns["provenance"] = _categorical(self._provenances, _provenance)
        on_frontier = numpy.zeros(total, bool)
        on_frontier[[point.point for point in summary.frontier]] = True
        frame = pandas.DataFrame({**columns, "on_frontier": on_frontier})
        frame.attrs.update(self._about(summary))
        return frame

    def _about(self, summary: v1.SweepSummary) -> dict[str, Any]:
        revision = self._header.catalog_revision
        best = summary.best_under_slo.point if summary.HasField("best_under_slo") else None
        return {"catalog_revision": f"{revision.bundle_digest} revision {revision.store_revision}", "best_under_slo": best,
                "warnings": [warning.warning.message for warning in summary.warnings], "errors": self._errors}


def short(enum: EnumDescriptor, number: int) -> str:
    """ "ttft_seconds" of METRIC_TTFT_SECONDS; a number that is newer than this package stays one."""
    value = enum.values_by_number.get(number)
    return str(number) if value is None else value.name[len(keywords.enum_prefix(enum)):].lower()


def _reason(number: int) -> str:
    """As Error.reason has it; nothing of a point that was answered."""
    return "" if number == 0 else short(REASON, number).upper()


def _provenance(number: int) -> str:
    return "" if number == 0 else short(PROVENANCE, number)


def _values(field: FieldDescriptor, axis: v1.SweepAxis) -> Any:
    if axis.WhichOneof("values") == "numbers":
        numbers = numpy.array(axis.numbers.values)
        if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64):
            return numbers.astype(numpy.int64)
        return numbers.astype(bool) if field.type == FieldDescriptor.TYPE_BOOL else numbers
    if field.enum_type is None:
        return list(axis.texts.values)
    prefix = keywords.enum_prefix(field.enum_type)
    if axis.WhichOneof("values") == "dtypes":
        return [short(field.enum_type, number) for number in axis.dtypes.values]
    return [text[len(prefix):].lower() for text in axis.texts.values]


def _spread(values: Any, inner: int, total: int) -> Any:
    """A value for each point: each is repeated over the axes inside, and all over those outside."""
    codes = numpy.tile(numpy.repeat(numpy.arange(len(values)), inner), total // (inner * len(values)))
    if isinstance(values, numpy.ndarray):
        return values[codes]
    return pandas.Categorical.from_codes(codes, values)


def _categorical(numbers: Any, name: Callable[[int], str]) -> pandas.Categorical:
    found, codes = numpy.unique(numbers, return_inverse=True)
    return pandas.Categorical.from_codes(codes, [name(int(number)) for number in found])
