"""Keywords become fields of a request, by its descriptor: no list of fields is kept here.

A name is that of a field of the request, else of its scenario, or of one of the scenario's parts (PARTS). Names that mean
several of these are refused, and take a path instead: deployment__max_num_seqs. A path also leads into what has no short
names: speculative_decoding__draft_tokens.
"""

from __future__ import annotations

import datetime
import difflib
import functools
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

Path = tuple[str, ...]

SCENARIOS = ("scenario", "base")
PARTS = ("workload", "deployment", "live_load", "slo", "simulation")
SHORT = {"tp": "tensor_parallel", "pp": "pipeline_parallel", "ep": "expert_parallel", "dp": "data_parallel"}
NAMED = ("model", "hardware")  # oneofs of an id and a spec


@functools.lru_cache(maxsize=None)
def names_of(descriptor: Descriptor) -> dict[str, list[Path]]:
    """Every short name of a request, with the paths that it may mean."""
    names: dict[str, list[Path]] = {}

    def add(message: Descriptor, path: Path) -> None:
        for field in message.fields:
            here = (*path, field.name)
            names.setdefault(field.name, []).append(here)
            if field.name in SCENARIOS + PARTS and field.message_type is not None:
                add(field.message_type, here)

    add(descriptor, ())
    return names


def near(name: str, allowed: Iterable[str]) -> str:
    """The end of a message: what `name` may have been meant to be."""
    close = difflib.get_close_matches(name, list(allowed), n=3, cutoff=0.5)
    return f"; near: {', '.join(close)}" if close else ""


def path_of(descriptor: Descriptor, keyword: str) -> Path:
    """Where a keyword goes. Raises TypeError: no field, or several."""
    names = names_of(descriptor)
    first, *rest = SHORT.get(keyword, keyword).split("__")
    paths = names.get(first, [])
    if not paths:
        raise TypeError(f"unknown keyword {keyword!r}{near(keyword, [*names, *SHORT])}")
    if (first,) in paths:  # the request's own fields come first
        paths = [(first,)]
    if len(paths) > 1:
        told = " or ".join("__".join(path[-2:]) for path in paths)
        raise TypeError(f"keyword {keyword!r} means several fields; allowed: {told}")
    path = paths[0]
    for name in rest:
        path = (*path, child(field_at(descriptor, path).message_type, name).name)
    return path


def child(descriptor: Descriptor | None, name: str) -> FieldDescriptor:
    """The field `name` of a message. Raises TypeError: there is none."""
    if descriptor is None:
        raise TypeError(f"{name!r} is looked for inside a field that is no message")
    field = descriptor.fields_by_name.get(name)
    if field is None:
        raise TypeError(f"{descriptor.name} has no field {name!r}{near(name, descriptor.fields_by_name)}")
    return field


def field_at(descriptor: Descriptor, path: Path) -> FieldDescriptor:
    field = child(descriptor, path[0])
    for name in path[1:]:
        field = child(field.message_type, name)
    return field


def is_repeated(field: FieldDescriptor) -> bool:
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def enum_prefix(enum: EnumDescriptor) -> str:
    """ "DTYPE_" of Dtype: what all names of values begin with, by the rules of the API."""
    return str(enum.values_by_number[0].name)[:-len("UNSPECIFIED")]


def enum_number(enum: EnumDescriptor, value: Any, where: str) -> int:
    """The number of "bf16", "DTYPE_BF16" or 2."""
    if isinstance(value, int):
        return value
    prefix = enum_prefix(enum)
    short = str(value).upper().replace("-", "_").replace(".", "_")
    for name in (short, prefix + short):
        if name in enum.values_by_name:
            return int(enum.values_by_name[name].number)
    allowed = [name[len(prefix):].lower() for name in enum.values_by_name if not name.endswith("_UNSPECIFIED")]
    raise ValueError(f"{where}: asked {value!r}{near(str(value).lower(), allowed)}; allowed: {', '.join(allowed)}")


def fill(message: Message, values: Mapping[str, Any]) -> None:
    """Sets fields of one message by their own names; a value None is one that is not given."""
    for name, value in values.items():
        if value is None:
            continue
        if name in NAMED and name in message.DESCRIPTOR.oneofs_by_name:
            name += "_id" if isinstance(value, str) else "_spec"
        set_field(message, child(message.DESCRIPTOR, name), value)


def set_at(message: Message, path: Path, value: Any) -> None:
    for name in path[:-1]:
        child(message.DESCRIPTOR, name)
        message = getattr(message, name)
        message.SetInParent()
    set_field(message, child(message.DESCRIPTOR, path[-1]), value)


def set_field(message: Message, field: FieldDescriptor, value: Any) -> None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        getattr(message, field.name).update(value)
    elif is_repeated(field):
        set_list(message, field, value)
    elif field.message_type is not None:
        set_message(getattr(message, field.name), value, field.name)
    else:
        set_scalar(message, field, value)


def set_list(message: Message, field: FieldDescriptor, values: Any) -> None:
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(f"{field.name}: asked {values!r}; allowed: a list")
    into = getattr(message, field.name)
    for value in values:
        if field.message_type is not None:
            set_message(into.add(), value, field.name)
        elif field.enum_type is not None:
            into.append(enum_number(field.enum_type, value, field.name))
        else:
            into.append(value)


def set_message(message: Message, value: Any, where: str) -> None:
    if isinstance(value, Message):
        message.CopyFrom(value)
    elif isinstance(value, Mapping):
        message.SetInParent()
        fill(message, value)
    elif isinstance(value, datetime.datetime) and hasattr(message, "FromDatetime"):
        message.FromDatetime(value)
    elif isinstance(value, datetime.timedelta) and hasattr(message, "FromTimedelta"):
        message.FromTimedelta(value)
    else:
        raise TypeError(f"{where}: asked {value!r}; allowed: a {message.DESCRIPTOR.name} or a dict of its fields")


def set_scalar(message: Message, field: FieldDescriptor, value: Any) -> None:
    if field.enum_type is not None:
        value = enum_number(field.enum_type, value, field.name)
    elif field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT) and hasattr(value, "__float__"):
        value = float(value)
    elif field.cpp_type not in (FieldDescriptor.CPPTYPE_BOOL, FieldDescriptor.CPPTYPE_STRING) and hasattr(value, "__index__"):
        value = value.__index__()
    try:
        setattr(message, field.name, value)
    except (TypeError, ValueError) as refused:
        raise type(refused)(f"{field.name}: asked {value!r}; {refused}") from None
