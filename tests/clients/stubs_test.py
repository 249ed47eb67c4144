"""buf on proto/ and buf.gen.yaml: lint, breaking changes, and stubs of which programs start. Run by tests/clients/run,
which puts buf and its plugins on the PATH."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.environ["FORETOKEN_SOURCE_DIR"]
PROGRAMS = os.path.join(ROOT, "tests", "clients", "stubs")
BASELINE = os.path.join(ROOT, "tests", "proto", "foretoken_v1.baseline.pb") + "#format=binpb"
DESCRIPTORS = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretoken_v1.pb") + "#format=binpb"
RULES = '{"version": "v2", "breaking": {"use": ["%s"]}}'


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Buf(unittest.TestCase):
    def test_lint(self):
        self.assertEqual(run(ROOT, "buf", "lint"), "")

    def test_nothing_breaks(self):
        with tempfile.TemporaryDirectory() as folder:
            run(ROOT, "buf", "build", "-o", f"{folder}/now.binpb")
            for rules in ("FILE", "WIRE_JSON"):
                run(folder, "buf", "breaking", "now.binpb", "--against", BASELINE, "--config", RULES % rules)


class Stubs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="stubs-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("buf.yaml", "buf.gen.yaml", "proto"):
            copy = shutil.copytree if name == "proto" else shutil.copy
            copy(os.path.join(ROOT, name), os.path.join(self.folder, name))
        shutil.copytree(PROGRAMS, self.folder, dirs_exist_ok=True)

    def template(self, old, new):
        path = os.path.join(self.folder, "buf.gen.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def check_programs(self):
        run(self.folder, "go", "mod", "init", "example.com/yours")
        run(self.folder, "go", "mod", "tidy")
        self.assertEqual(run(self.folder, "go", "run", "."), "started\n")
        self.assertEqual(run(self.folder, "env", "PYTHONPATH=stubs", "python", "main.py"), "started\n")
        run(self.folder, "npm", "install", "--no-audit", "--no-fund", "@bufbuild/protobuf@2.17.0", "tsx@4.23.15")
        self.assertEqual(run(self.folder, "npx", "tsx", "main.ts"), "started\n")

    def test_in_managed_mode(self):
        run(self.folder, "buf", "generate")
        self.check_programs()

    def test_without_managed_mode(self):
        self.template("managed:\n  enabled: true", "managed:\n  enabled: false")
        run(self.folder, "buf", "generate")
        self.check_programs()

    def test_from_the_descriptor_set(self):
        run(self.folder, "buf", "generate", DESCRIPTORS, "--path", "foretoken", "--template", "buf.gen.yaml")
        self.check_programs()

    def test_the_fault_that_the_template_avoids(self):
        """google.rpc renamed and linked twice: the check of programs would see it."""
        self.template("  disable:\n    - path: google/rpc\n", "")
        self.template("    opt: paths=source_relative\n  - local: protoc-gen-go-grpc",
                      "    opt: paths=source_relative\n    include_imports: true\n  - local: protoc-gen-go-grpc")
        self.template("    paths:\n      - proto/foretoken\n", "")
        run(self.folder, "buf", "generate")
        with self.assertRaises(AssertionError):
            self.check_programs()


if __name__ == "__main__":
    unittest.main()
