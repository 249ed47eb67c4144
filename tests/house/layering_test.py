"""Dependencies run one way (CONTRIBUTING.md, "Rooms"): every #include of our code is checked against what its room may know."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Room -> prefixes of the quoted includes of ours that it may use. Generated code is "foretoken/v1/" and "google/rpc/".
ALLOWED = {
    "estimator/": ("estimator/",),
    "server/catalog/": ("server/catalog/", "estimator/", "foretoken/v1/", "google/rpc/"),
    "text/": ("text/",),
    "server/guard/": ("server/guard/",),
    "server/ops/": ("server/ops/", "text/", "server/guard/", "server/catalog/", "estimator/", "foretoken/v1/",
                    "google/rpc/", "grpc/health/v1/"),
    "server/work/": ("server/work/", "server/ops/", "estimator/"),
    "server/rpc/": ("server/rpc/", "text/", "server/work/", "server/ops/", "server/catalog/", "estimator/",
                    "foretoken/v1/", "google/rpc/"),
    "server/": ("server/", "text/", "estimator/", "foretoken/v1/", "google/rpc/"),
    "local/": ("local/", "client/", "server/", "foretoken/v1/"),
    "client/": ("client/", "text/", "foretoken/v1/", "google/rpc/", "grpc/health/v1/"),
}
OURS = ("text/", "local/", "estimator/", "server/", "client/", "foretoken/", "google/rpc/", "grpc/health/", "tests/")

# The core model is pure: no clock, no file, no network, no message.
IMPURE = re.compile(
    r"<(chrono|ctime|time\.h|fstream|filesystem|cstdio|iostream|thread|mutex|future|random)>"
    r"|absl/(time|synchronization|flags|random)/|grpc|protobuf|prometheus|sqlite|\.pb\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
BINARY_PREFIX = re.compile(r"(?<![\d.])1024(?!\d)")
# A limit on a count, such as a parallel degree, is no unit.
COUNT_LIMIT = re.compile(r"constexpr int k(Largest|Max|Most)\w+ = 1024;")


def room_of(path):
    """The longest room that holds the file; None for a file outside all of them."""
    rooms = [room for room in ALLOWED if path.startswith(room)]
    return max(rooms, key=len) if rooms else None


def code_of(line):
    """The line without its comment and its texts."""
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]


def is_binary_prefix(code):
    return bool(BINARY_PREFIX.search(code)) and not COUNT_LIMIT.search(code)


def faults_of(path, text):
    """What a file breaks, one text per fault."""
    room, faults = room_of(path), []
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            named = include.group(2)
            if named.startswith(OURS) and not named.startswith(ALLOWED[room]):
                faults.append(f"{path}:{number}: {room} may not include {named}")
            if room == "estimator/" and IMPURE.search(f"<{named}>"):
                faults.append(f"{path}:{number}: the core model may not include {named}")
        elif room == "estimator/" and path != "estimator/base/units.h" and is_binary_prefix(code_of(line)):
            faults.append(f"{path}:{number}: 1024 outside estimator/base/units.h")
    return faults


def sources():
    """(path, text) of every source file of ours."""
    for room in ("text", "estimator", "server", "client", "local"):
        for path in sorted((ROOT / room).rglob("*.*")):
            if path.suffix in (".h", ".cc"):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


class Layering(unittest.TestCase):
    def test_every_include_points_the_right_way(self):
        seen = list(sources())
        self.assertGreater(len(seen), 50)
        self.assertEqual([fault for path, text in seen for fault in faults_of(path, text)], [])

    def test_each_rule_can_fail(self):
        cases = [  # path, line, wrong?
            ("estimator/a.h", '#include "estimator/base/units.h"', False),
            ("estimator/a.h", "#include <vector>", False),
            ("estimator/a.h", '#include "absl/status/statusor.h"', False),
            ("estimator/a.h", '#include "server/catalog/spec/parse.h"', True),
            ("estimator/a.h", '#include "foretoken/v1/model.pb.h"', True),
            ("estimator/a.cc", "#include <chrono>", True),
            ("estimator/a.cc", "#include <fstream>", True),
            ("estimator/a.cc", '#include "absl/time/time.h"', True),
            ("estimator/a.cc", "#include <grpcpp/grpcpp.h>", True),
            ("estimator/a.cc", "constexpr double kKilo = 1024;", True),
            ("estimator/a.cc", "constexpr int kLargestTensorParallel = 1024;", False),
            ("estimator/a.cc", "// allowed 1 to 1024", False),
            ("estimator/a.cc", 'Refuse("allowed 1 to 1024");', False),
            ("estimator/a.cc", "double x = 10240;", False),
            ("estimator/base/units.h", "constexpr double kKibi = 1024;", False),
            ("server/catalog/a.cc", '#include "estimator/scenario/model.h"', False),
            ("server/catalog/a.cc", '#include "server/rpc/wire/convert.h"', True),
            ("server/catalog/a.cc", '#include "server/ops/log.h"', True),
            ("server/ops/a.cc", '#include "server/rpc/wire/convert.h"', True),
            ("server/rpc/a.cc", '#include "server/catalog/entries/snapshot.h"', False),
            ("server/rpc/a.cc", '#include "client/client.h"', True),
            ("server/main.cc", '#include "server/rpc/services.h"', False),
            ("client/a.cc", '#include "foretoken/v1/model.pb.h"', False),
            ("client/a.cc", '#include "estimator/base/units.h"', True),
            ("client/a.cc", '#include "local/estimator.h"', True),
            ("local/a.cc", '#include "server/rpc/estimate/estimator_api.h"', False),
            ("client/cli/a.cc", '#include "server/catalog/spec/parse.h"', True),
            ("client/cli/a.cc", '#include "tests/client/fake.h"', True),
        ]
        for path, line, wrong in cases:
            with self.subTest(f"{path}: {line}"):
                self.assertEqual(bool(faults_of(path, line)), wrong)


if __name__ == "__main__":
    unittest.main()
