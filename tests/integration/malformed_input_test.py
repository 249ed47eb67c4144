"""Texts that are not UTF-8, and files with random faults: a plain error and the right exit code, never a crash."""

import os
import random
import shutil
import subprocess
import tempfile
import unittest

import grpc

from support.server_process import API, SERVER, ServerProcess, ServerTestCase

SOURCE_DIR = os.environ["FORETOKEN_SOURCE_DIR"]
NOT_UTF8 = (b"\xff\xfe", b"caf\xe9", b"cut-\xc3")
USAGE, NOT_FOUND, FAILED = 2, 3, 4
SEED = 21


def read(path):
    with open(path, "rb") as file:
        return file.read()


def mutated(text, rng):
    """`text` with one to four faults: bytes changed, cut out, doubled, or put in from a list of the format's own."""
    tokens = [b"{", b"}", b"[", b"]", b":", b"\"", b"'", b"\\x", b"\\377", b"\xff", b"\0", b"-", b"1e999", b"nan", b"inf",
              b"0x", b"99999999999999999999", b"\n", b"#", b"sources {", b"id: \"x\"", b"[type.googleapis.com/x] {"]
    data = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([1, 1, 2, 8, 64, 1000]))
        action = rng.randrange(5)
        if action == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            del data[at:end]
        elif action == 2:
            data[at:at] = data[at:end] * rng.choice([1, 2, 50])
        elif action == 3:
            data[at:at] = rng.choice(tokens) * rng.choice([1, 1, 1, 3000])
        else:
            del data[at:]
    return bytes(data)


class Texts(ServerTestCase):
    def cli(self, *arguments, **kwargs):
        environment = {**os.environ, "FORETOKEN_SERVER": self.server.address}
        command = [os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretoken"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False, **kwargs)

    def test_an_id_that_is_not_utf8_is_named_in_one_line(self):
        for text in NOT_UTF8:
            for arguments in (["get", "hardware", text], ["get", "model", text], ["get", "calibration", text],
                              ["delete", "hardware", text], ["revisions", "model", text],
                              ["estimate", "--model", text, "--hardware", "nvidia-h100-sxm-80gb"],
                              ["sweep", "--model", "llama-2-7b", "--hardware", text, "--axis", "batch-size=1,2"]):
                told = self.cli(*arguments)
                lines = told.stderr.decode().splitlines()
                self.assertEqual((told.returncode, told.stdout, len(lines)), (USAGE, b"", 1), told)
                self.assertRegex(lines[0], r"^foretoken: [a-z_.]+ \".*\\x..\" is not UTF-8 \(INVALID_ARGUMENT\)$")

    def test_an_entry_with_such_a_text_is_refused(self):
        for text in (b"id: '\xff' memory_bandwidth_bytes_per_second: 1e12", b"id: 'x' display_name: '\\377'"):
            told = self.cli("register-hardware", "-", input=text)
            self.assertEqual(told.returncode, USAGE, told)
            self.assertIn(b"is not UTF-8 (INVALID_ARGUMENT)", told.stderr)

    def test_bytes_on_the_wire_that_are_no_request_end_in_a_status(self):
        channel = self.server.client.channel
        for method in ("EstimatorService/Estimate", "CatalogService/GetHardware", "CatalogService/RegisterHardware"):
            for data in (b"\x0a\x02\xff\xfe", b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x0f", b"\x0b" * 100_000, b"\x12"):
                call = channel.unary_unary(f"/foretoken.v1.{method}", request_serializer=bytes,
                                           response_deserializer=bytes)
                with self.assertRaises(grpc.RpcError) as refused:
                    call(data, timeout=10)
                self.assertIn(refused.exception.code().name, ("UNIMPLEMENTED", "INVALID_ARGUMENT", "NOT_FOUND"), data[:9])
        self.assertEqual(self.server.client.health(), 1)

    def test_an_entry_with_random_faults_ends_in_a_plain_error(self):
        rng = random.Random(SEED)
        text = read(os.path.join(SOURCE_DIR, "deploy", "example-hardware.textproto"))
        codes = {}
        for _ in range(120):
            data = mutated(text, rng)
            told = self.cli("register-hardware", "-", "--dry-run", input=data)
            self.assertIn(told.returncode, (0, USAGE, NOT_FOUND, FAILED), (data, told))
            self.assertEqual(told.stderr == b"", told.returncode == 0, told)
            self.assertNotIn(b"libprotobuf", told.stderr)
            codes[told.returncode] = codes.get(told.returncode, 0) + 1
        self.assertGreater(codes.get(USAGE, 0), 60, codes)
        self.assertEqual(self.server.client.health(), 1)


class CatalogFiles(unittest.TestCase):
    """Folders of a catalog with random faults: every fault is a line that names a file, and the exit code is 1."""

    FILES = ("hardware/nvidia-h100-sxm-80gb.textproto", "models/llama-2-7b.textproto", "calibrations/vllm.textproto")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-mutated-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in self.FILES:
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            shutil.copy(os.path.join(SOURCE_DIR, "catalogs", name), os.path.join(self.folder, name))

    def check(self):
        return subprocess.run([SERVER, f"--check_catalog={self.folder}"], capture_output=True, timeout=60, check=False)

    def test_mutated_files(self):
        rng = random.Random(SEED)
        self.assertEqual(self.check().returncode, 0)
        faulty = 0
        for i in range(200):
            name = os.path.join(self.folder, self.FILES[i % len(self.FILES)])
            sound = read(name)
            data = mutated(sound, rng)
            with open(name, "wb") as file:
                file.write(data)
            told = self.check()
            with open(name, "wb") as file:
                file.write(sound)
            self.assertIn(told.returncode, (0, 1), (data, told))
            faulty += told.returncode
            if told.returncode == 1:
                for line in told.stdout.decode("utf-8", "replace").splitlines():
                    self.assertRegex(line, r"^(hardware|models|calibrations)", told)
        self.assertGreater(faulty, 100)

    def test_what_is_no_catalog(self):
        os.remove(os.path.join(self.folder, self.FILES[0]))
        os.mkdir(os.path.join(self.folder, self.FILES[0]))  # a folder with the name of a file
        os.symlink("/nowhere", os.path.join(self.folder, "models", "dangling.textproto"))
        os.symlink(self.folder, os.path.join(self.folder, "hardware", "loop"))
        with open(os.path.join(self.folder, "models", os.fsdecode(b"caf\xe9.textproto")), "w", encoding="ascii") as file:
            file.write("id: 'x'")
        told = self.check()
        self.assertEqual(told.returncode, 1, told)
        self.assertIn(b"hardware/nvidia-h100-sxm-80gb.textproto: cannot be read", told.stdout)
        self.assertIn(b"models/dangling.textproto: cannot be read", told.stdout)
        with self.assertRaisesRegex(RuntimeError, "event=catalog_unavailable"):
            ServerProcess(store="memory:", flags=[f"--catalog_dir={self.folder}"])

    def test_a_text_of_a_million_levels(self):
        for text in (b"sources {" * 1_000_000, b"{" * 1_000_000, b"id: [" * 1_000_000, b"peak <" * 1_000_000,
                     b"linear_profiles { prefill {" * 500_000):
            with open(os.path.join(self.folder, self.FILES[0]), "wb") as file:
                file.write(text)
            told = self.check()
            self.assertEqual(told.returncode, 1, told.stderr[-500:])
            self.assertLess(len(told.stdout), 100_000)


if __name__ == "__main__":
    unittest.main()
