"""An independent client: messages and stubs made at run time from the descriptor set that ships, with no generated code.

Example:
    api = Api(path_of_descriptor_set)
    client = api.connect("127.0.0.1:50051")
    reply = client.call("EstimatorService/Estimate", scenario={"model_id": "llama-3.1-8b", ...})
"""

import os

# A channel without calls is looked after this often; the default of 5 s would delay every connect and close by as much.
os.environ.setdefault("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "50")

# pylint: disable=wrong-import-position
import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

PACKAGE = "foretoken.v1"


class Refused(Exception):
    """An error of an RPC, with the details that the API promises."""

    def __init__(self, code, message, reason, domain, metadata, fields):
        super().__init__(f"{code.name} {reason} {fields}: {message}")
        self.code = code  # grpc.StatusCode
        self.message = message
        self.reason = reason  # google.rpc.ErrorInfo.reason, "" where there is none
        self.domain = domain
        self.metadata = metadata
        self.fields = fields  # paths of google.rpc.BadRequest


class Api:
    """The messages and services of a descriptor set."""

    def __init__(self, descriptor_set_path):
        self.pool = descriptor_pool.DescriptorPool()
        with open(descriptor_set_path, "rb") as file:
            for proto in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file:
                self.pool.Add(proto)
        # MessageFactory is gone from newer protobuf, and GetMessageClass not yet in Debian's.
        self._class_of = (getattr(message_factory, "GetMessageClass", None)
                          or message_factory.MessageFactory(self.pool).GetPrototype)

    def message_class(self, full_name):
        return self._class_of(self.pool.FindMessageTypeByName(full_name))

    def method(self, path):
        """The descriptor of "EstimatorService/Estimate"."""
        service, name = path.split("/")
        return self.pool.FindServiceByName(f"{PACKAGE}.{service}").methods_by_name[name]

    def methods(self):
        """Every RPC as "Service/Rpc"."""
        services = [self.pool.FindServiceByName(f"{PACKAGE}.{name}") for name in ("EstimatorService", "CatalogService")]
        return sorted(f"{service.name}/{method.name}" for service in services for method in service.methods)

    def build(self, descriptor, fields):
        """A message from Python values; enums by name, NaN and infinity as floats."""
        message = self._class_of(descriptor)()
        for name, value in fields.items():
            self._set(message, descriptor.fields_by_name[name], value)
        return message

    def _set(self, message, field, value):
        if field.label == field.LABEL_REPEATED:
            for item in value:
                self._append(getattr(message, field.name), field, item)
        elif field.message_type is not None:
            getattr(message, field.name).CopyFrom(self._built(field, value))
        else:
            setattr(message, field.name, self._scalar(field, value))

    def _append(self, repeated, field, item):
        if field.message_type is not None:
            repeated.add().CopyFrom(self._built(field, item))
        else:
            repeated.append(self._scalar(field, item))

    def _built(self, field, value):
        return self.build(field.message_type, value) if isinstance(value, dict) else value

    @staticmethod
    def _scalar(field, value):
        by_name = field.enum_type is not None and isinstance(value, str)
        return field.enum_type.values_by_name[value].number if by_name else value

    def refused(self, error):
        """What a grpc.RpcError tells."""
        trailers = {key: value for key, value in error.trailing_metadata() or ()}
        status = self.message_class("google.rpc.Status")()
        status.ParseFromString(trailers.get("grpc-status-details-bin", b""))
        info = self.message_class("google.rpc.ErrorInfo")()
        fields = []
        for detail in status.details:
            if detail.Is(info.DESCRIPTOR):
                detail.Unpack(info)
            bad = self.message_class("google.rpc.BadRequest")()
            if detail.Is(bad.DESCRIPTOR):
                detail.Unpack(bad)
                fields += [violation.field for violation in bad.field_violations]
        return Refused(error.code(), error.details(), info.reason, info.domain, dict(info.metadata), fields)

    def connect(self, address, credentials=None):
        return Client(self, address, credentials)


class Client:
    """One channel, over TLS where credentials are given. Calls raise Refused."""

    def __init__(self, api, address, credentials=None):
        self.api = api
        options = [("grpc.max_receive_message_length", 64 << 20), ("grpc.use_local_subchannel_pool", 1),
                   ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
        self.channel = (grpc.secure_channel(address, credentials, options=options) if credentials else
                        grpc.insecure_channel(address, options=options))

    def call(self, path, request=None, timeout=30, **fields):
        method = self.api.method(path)
        request = request or self.api.build(method.input_type, fields)
        stub = self.channel.unary_unary(self._wire_path(path), **self._codec(method))
        try:
            return stub(request, timeout=timeout)
        except grpc.RpcError as error:
            raise self.api.refused(error) from None

    def stream(self, path, timeout=60, **fields):
        """The messages of a server stream, and the call itself for cancel(): (call, iterator)."""
        method = self.api.method(path)
        call = self.channel.unary_stream(self._wire_path(path), **self._codec(method))(
            self.api.build(method.input_type, fields), timeout=timeout)
        return call, self._messages(call)

    def _messages(self, call):
        try:
            yield from call
        except grpc.RpcError as error:
            raise self.api.refused(error) from None

    def health(self, service=b"", timeout=2):
        """grpc.health.v1: 1 SERVING, 2 NOT_SERVING; its two one-field messages are written by hand."""
        request = b"\x0a" + bytes([len(service)]) + service if service else b""
        reply = self.channel.unary_unary("/grpc.health.v1.Health/Check")(request, timeout=timeout)
        return reply[1] if len(reply) == 2 and reply[0] == 0x08 else 0

    def close(self):
        self.channel.close()

    @staticmethod
    def _wire_path(path):
        return f"/{PACKAGE}.{path}"

    def _codec(self, method):
        response = self.api.message_class(method.output_type.full_name)
        return {"request_serializer": lambda message: message.SerializeToString(),
                "response_deserializer": response.FromString}


def as_dict(message):
    """A reply as Python values under the proto's own names."""
    return json_format.MessageToDict(message, preserving_proto_field_name=True)
