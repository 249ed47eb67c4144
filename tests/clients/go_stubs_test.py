"""The committed Go stubs are of the API as it is: the descriptors in them are those of the descriptor set. Needs no Go."""

import ast
import glob
import os
import re
import unittest

from google.protobuf import descriptor_pb2

ROOT = os.environ["FORETOKEN_SOURCE_DIR"]
STUBS = os.path.join(ROOT, "client", "go", "foretoken", "v1")
DESCRIPTORS = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretoken_v1.pb")
RAW = re.compile(r'_rawDesc = "" \+\n((?:\t".*"(?: \+)?\n)+)')


def in_stub(path):
    """The descriptor that a stub holds as Go strings, whose escapes are those of Python."""
    with open(path, encoding="utf-8") as file:
        lines = RAW.search(file.read()).group(1).splitlines()
    raw = b"".join(ast.literal_eval("b" + line.strip().rstrip(" +")) for line in lines)
    return descriptor_pb2.FileDescriptorProto.FromString(raw)


def in_set():
    with open(DESCRIPTORS, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file
    found = {}
    for file in files:
        if file.name.startswith("foretoken/"):
            file.ClearField("source_code_info")
            found[os.path.basename(file.name)] = file
    return found


class GoStubs(unittest.TestCase):
    def test_they_are_current(self):
        wanted = in_set()
        found = {os.path.basename(path).replace(".pb.go", ".proto"): in_stub(path)
                 for path in glob.glob(os.path.join(STUBS, "*.pb.go")) if not path.endswith("_grpc.pb.go")}
        self.assertEqual(sorted(found), sorted(wanted))
        for name, file in wanted.items():
            self.assertTrue(found[name] == file, f"{name}: client/go/generate.sh makes the stubs anew")


if __name__ == "__main__":
    unittest.main()
