"""Builds the wheel: the package, and foretoken.v1, its messages, which protoc makes of ../../proto.

protoc is that of grpcio-tools where it is installed (pip's isolated builds), else the one on the PATH.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

PROTO = pathlib.Path(__file__).resolve().parent.parent.parent / "proto"
FILES = sorted((PROTO / "foretoken" / "v1").glob("*.proto"))


def protoc():
    try:
        import grpc_tools  # noqa: F401
    except ImportError:
        return ["protoc"]
    return [sys.executable, "-m", "grpc_tools.protoc"]


def generate(folder):
    """Writes foretoken/v1 below `folder`."""
    if not FILES:
        raise SystemExit(f"{PROTO}/foretoken/v1: no .proto file; build from a checkout of the repository")
    subprocess.run([*protoc(), f"-I{PROTO}", f"--python_out={folder}", f"--pyi_out={folder}", *map(str, FILES)],
                   check=True)
    package = pathlib.Path(folder) / "foretoken" / "v1"
    lines = [f"from foretoken.v1.{file.stem}_pb2 import *\n" for file in FILES]
    (package / "__init__.py").write_text('"""The messages of the API."""\n\n' + "".join(lines), encoding="utf-8")
    return package


def oldest_protobuf(package):
    """The runtime that the stubs need: newer generators write it at their top."""
    text = (package / "scenario_pb2.py").read_text(encoding="utf-8")
    stated = re.search(r"Protobuf Python Version: ([\d.]+)", text)
    return stated.group(1) if stated else "3.20.2"


class BuildWithMessages(build_py):
    def run(self):
        super().run()
        messages = pathlib.Path(self.build_lib) / "foretoken" / "v1"
        shutil.rmtree(messages, ignore_errors=True)  # of an earlier build
        shutil.copytree(MESSAGES, messages)


with tempfile.TemporaryDirectory() as scratch:
    MESSAGES = generate(scratch)
    setup(
        cmdclass={"build_py": BuildWithMessages},
        install_requires=["grpcio>=1.51", "googleapis-common-protos>=1.56", f"protobuf>={oldest_protobuf(MESSAGES)}"],
    )
