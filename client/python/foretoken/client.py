"""The client: a function for each question. Every request is checked by the server alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

import grpc
from google.protobuf.message import Message

from foretoken import keywords, v1
from foretoken.retry import with_retry
from foretoken.v1 import catalog_service_pb2, estimator_service_pb2

if TYPE_CHECKING:
    import pandas

Named = Union[str, Mapping[str, Any], Message, None]
"""An id or an alias of the catalog, or a spec of one's own: a message or a dict of its fields."""

SERVICES = [module.DESCRIPTOR.services_by_name[name] for module, name in (
    (estimator_service_pb2, "EstimatorService"), (catalog_service_pb2, "CatalogService"))]
METHODS = {method.name: method for service in SERVICES for method in service.methods}
NO_SIDE_EFFECTS = 1  # of google.protobuf.MethodOptions.IdempotencyLevel

# Several addresses: calls go to them in turn, to those alone whose health service says SERVING.
IN_TURN = """{"loadBalancingConfig": [{"round_robin": {}}],
              "healthCheckConfig": {"serviceName": "foretoken.v1.EstimatorService"}}"""
MAX_RECEIVE_BYTES = 64 << 20  # a batch of 1,000 estimates with operators is more than gRPC's own 4 MiB


class Client:
    """A connection to a server, or to its replicas. Safe for use by several threads.

    Keywords of the questions are the names of fields: of the request, of its scenario and of the scenario's workload,
    deployment, live_load and slo (proto/foretoken/v1 says what each means). `tp`, `pp`, `ep` and `dp` stand for the
    parallel degrees. Values of enums are written short: weight_dtype="fp8". A path of two underscores leads to any other
    field: speculative_decoding__draft_tokens=4. A whole part may be a dict: slo={"max_ttft_seconds": 0.5}.

    Raises: Error: what the server refused, with the fields at fault; UNAVAILABLE or DEADLINE_EXCEEDED where none
    answers. TypeError, ValueError: a keyword or a value that the API does not have.
    """

    def __init__(self, target: Optional[str] = None, *, ca_file: Optional[str] = None, cert_file: Optional[str] = None,
                 key_file: Optional[str] = None, token: Optional[str] = None, author: Optional[str] = None,
                 timeout: Optional[float] = 10.0, sweep_timeout: Optional[float] = None, max_attempts: int = 4):
        """
        target: "host:port", or replicas as "dns:///name:port" or "ipv4:10.0.0.7:50051,10.0.0.8:50051". Absent: what
          FORETOKEN_SERVER says, else 127.0.0.1:50051.
        ca_file: PEM of the authorities of the server's certificate: calls go over TLS. Absent: in plain text.
        cert_file, key_file: PEM of this caller's own certificate, where the server asks for one.
        token: sent with every call, in plain text too: whoever can read the network then has it.
        author: of writes to the catalog, where nothing better is known of the caller.
        timeout, sweep_timeout: seconds that a call may take, retries included; None: no limit.
        max_attempts: of a call that got UNAVAILABLE and is safe to repeat.
        """
        self._timeout, self._sweep_timeout, self._attempts = timeout, sweep_timeout, max_attempts
        self._metadata = tuple((key, value) for key, value in (
            ("authorization", f"Bearer {token}" if token else None), ("foretoken-author", author)) if value)
        self._channel = _channel(target or os.environ.get("FORETOKEN_SERVER") or "127.0.0.1:50051",
                                 ca_file, cert_file, key_file)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def estimate(self, model: Named = None, hardware: Named = None, *, timeout: Optional[float] = None,
                 **fields: Any) -> v1.EstimateResponse:
        """How long one request, or one batch, takes. `include_operators=True` also answers each operator."""
        return self._ask("Estimate", model, hardware, fields, timeout)

    def simulate(self, model: Named = None, hardware: Named = None, *, timeout: Optional[float] = None,
                 **fields: Any) -> v1.SimulateResponse:
        """Percentiles under random arrivals and lengths: the engine's scheduler, step by step."""
        return self._ask("Simulate", model, hardware, fields, timeout)

    def solve(self, model: Named = None, hardware: Named = None, *,
              candidates: Iterable[Union[Mapping[str, Any], v1.HardwareCandidate]] = (), timeout: Optional[float] = None,
              **fields: Any) -> v1.SolveResponse:
        """The largest or smallest value that meets the SLO: solve_for="batch_size", "request_rate", "prompt_tokens",
        "tensor_parallel", or "hardware" among `candidates`, which are as those of batch_estimate."""
        request = self._request("Solve", model, hardware, fields)
        _add_candidates(request, candidates)
        return self._send(METHODS["Solve"], request, timeout)

    def batch_estimate(self, model: Named = None, hardware: Named = None, *,
                       candidates: Iterable[Union[Mapping[str, Any], v1.Candidate]], timeout: Optional[float] = None,
                       **fields: Any) -> v1.BatchEstimateResponse:
        """Up to 1,000 variations of one scenario. A candidate is a dict of keywords ("hardware" too), which change
        single fields of the scenario; a candidate that gives a whole part, as {"deployment": {...}}, replaces it.

        A result has an estimate or a status: `result.HasField("estimate")`, else Error(result.status).
        `rank_by="ttft"` also answers `ranking`."""
        request = self._request("BatchEstimate", model, hardware, fields)
        _add_candidates(request, candidates)
        return self._send(METHODS["BatchEstimate"], request, timeout)

    def sweep(self, model: Any = None, hardware: Any = None, *, progress: Optional[Callable[[float], object]] = None,
              timeout: Optional[float] = None, **fields: Any) -> pandas.DataFrame:
        """Every combination of the values of keywords that are lists, ranges or arrays, as a pandas.DataFrame.

        One row a point: a column for each such keyword, in their order, and one for each of `metrics` (names of Metric,
        as "ttft_seconds"; NaN where it is not known). Also `status`, `reason`, `provenance`, and `on_frontier`: no other
        point is better in both latency and throughput per device. `attrs` has "catalog_revision", "best_under_slo" (a
        row), "warnings", and "errors" (texts of the first refused rows). `progress` is called with 0 to 1; what it
        raises cancels the sweep."""
        from foretoken import frame  # pandas is needed here alone
        request, axes = frame.request_of({"model": model, "hardware": hardware, **fields})
        call = self._channel.unary_stream(_path(METHODS["Sweep"]), v1.SweepRequest.SerializeToString,
                                          v1.SweepResponse.FromString)
        limit = self._sweep_timeout if timeout is None else timeout

        def start(left: Optional[float]) -> frame.Reader:
            return frame.Reader(call(request, timeout=left, metadata=self._metadata))

        return with_retry(start, self._attempts, limit).read(axes, progress)

    def call(self, rpc: str, request: Optional[Message] = None, *, timeout: Optional[float] = None,
             **fields: Any) -> Any:
        """Any other RPC by its name, with a request or its fields: call("ListHardware", page_size=100)."""
        method = METHODS.get(rpc)
        if method is None or method.server_streaming:
            raise TypeError(f"{rpc!r} is no RPC of one reply{keywords.near(rpc, METHODS)}")
        if request is None:
            request = getattr(v1, method.input_type.name)()
        keywords.fill(request, fields)
        return self._send(method, request, timeout)

    def _ask(self, rpc: str, model: Named, hardware: Named, fields: Mapping[str, Any], timeout: Optional[float]) -> Any:
        return self._send(METHODS[rpc], self._request(rpc, model, hardware, fields), timeout)

    def _request(self, rpc: str, model: Named, hardware: Named, fields: Mapping[str, Any]) -> Any:
        request = getattr(v1, METHODS[rpc].input_type.name)()
        scenario = request.scenario if rpc in ("Estimate", "Simulate") else request.base
        scenario.SetInParent()
        keywords.fill(scenario, {"model": model, "hardware": hardware})
        for keyword, value in fields.items():
            path = keywords.path_of(request.DESCRIPTOR, keyword)
            if value is not None:
                keywords.set_at(request, path, value)
        return request

    def _send(self, method: Any, request: Message, timeout: Optional[float]) -> Any:
        call = self._channel.unary_unary(_path(method), type(request).SerializeToString,
                                         getattr(v1, method.output_type.name).FromString)
        repeatable = (method.GetOptions().idempotency_level == NO_SIDE_EFFECTS
                      or bool(getattr(request, "request_id", "")))
        return with_retry(lambda left: call(request, timeout=left, metadata=self._metadata),
                          self._attempts if repeatable else 1, self._timeout if timeout is None else timeout)


def _add_candidates(request: Any, candidates: Iterable[Any]) -> None:
    for candidate in candidates:
        if isinstance(candidate, Message):
            request.candidates.add().CopyFrom(candidate)
        else:
            _vary(request.candidates.add(), request.base, candidate)


def _vary(candidate: Any, base: Any, fields: Mapping[str, Any]) -> None:
    """Sets a candidate's fields; a part of which one field changes begins as the base's."""
    for keyword, value in fields.items():
        if keyword in keywords.NAMED:
            keywords.fill(candidate, {keyword: value})
            continue
        path = keywords.path_of(candidate.DESCRIPTOR, keyword)
        if len(path) > 1 and not candidate.HasField(path[0]) and base.HasField(path[0]):
            getattr(candidate, path[0]).CopyFrom(getattr(base, path[0]))
        if value is not None:
            keywords.set_at(candidate, path, value)


def _path(method: Any) -> str:
    return f"/{method.containing_service.full_name}/{method.name}"


def _read(path: Optional[str]) -> Optional[bytes]:
    if path is None:
        return None
    with open(path, "rb") as file:
        return file.read()


def _channel(target: str, ca: Optional[str], cert: Optional[str], key: Optional[str]) -> grpc.Channel:
    if (cert is None) != (key is None) or (ca is None and key is not None):
        raise ValueError("cert_file goes with key_file and ca_file")
    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", MAX_RECEIVE_BYTES),
        ("grpc.initial_reconnect_backoff_ms", 50),  # gRPC's own second is longer than the waits between attempts
        ("grpc.min_reconnect_backoff_ms", 5000),  # gRPC's name for the limit of one connection attempt
        ("grpc.enable_http_proxy", 0 if ca is None else 1)]  # a proxy could read plain text
    if target.startswith(("dns:", "ipv4:", "ipv6:")):
        options.append(("grpc.service_config", IN_TURN))
    if ca is None:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(_read(ca), _read(key), _read(cert)), options)
