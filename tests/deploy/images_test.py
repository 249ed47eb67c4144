"""The Dockerfiles: what they copy is there, what they start takes its flags, and the health check finds a server that
is started like that. No image is built."""

import json
import os
import re
import socket
import subprocess
import tempfile
import time
import unittest

from deploy_files import DEPLOY, refusal, unknown_flags, value

CLI = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretoken")
SERVER = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretokend")
START_SECONDS = 30


def instructions(name):
    """(instruction, arguments) of a Dockerfile, in order, continued lines joined."""
    text = (DEPLOY / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def last(name, instruction):
    """The arguments that count: those of the last one."""
    return [arguments for word, arguments in instructions(name) if word == instruction][-1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Images(unittest.TestCase):
    def test_what_is_copied_from_the_tree_is_there(self):
        for name in ("server.Dockerfile", "client.Dockerfile"):
            for word, arguments in instructions(name):
                if word == "COPY" and "--from" not in arguments:
                    for source in arguments.split()[:-1]:
                        self.assertTrue((DEPLOY.parent / source).exists(), f"{name}: {source}")

    def test_every_folder_that_the_build_needs_is_copied(self):
        """Those that CMakeLists.txt adds without a condition, and the catalog, which is compiled in."""
        text = (DEPLOY.parent / "CMakeLists.txt").read_text(encoding="utf-8")
        needed = {*re.findall(r"^add_subdirectory\((\w+)\)$", text, re.MULTILINE), "catalogs"}
        self.assertGreater(len(needed), 4)
        for name in ("server.Dockerfile", "client.Dockerfile"):
            copied = {arguments.split()[0] for word, arguments in instructions(name) if word == "COPY"}
            self.assertEqual(needed - copied, set(), name)

    def test_packages_are_those_of_sections_that_exist(self):
        sections = re.findall(r"^\[(\w+)\]$", (DEPLOY / "packages.txt").read_text(encoding="utf-8"), re.MULTILINE)
        for name in ("server.Dockerfile", "client.Dockerfile"):
            text = (DEPLOY / name).read_text(encoding="utf-8")
            asked = " ".join(re.findall(r"deploy/install-packages ([a-z ]+) &&", text)).split()
            self.assertTrue(asked and set(asked) <= set(sections), asked)

    def test_both_run_as_the_user_that_they_make(self):
        for name in ("server.Dockerfile", "client.Dockerfile"):
            text = (DEPLOY / name).read_text(encoding="utf-8")
            self.assertIn(f"--uid {last(name, 'USER')} ", text)


class Server(unittest.TestCase):
    """`flags` are those of CMD."""

    @classmethod
    def setUpClass(cls):
        cls.flags = json.loads(last("server.Dockerfile", "CMD"))
        cls.health = json.loads(last("server.Dockerfile", "HEALTHCHECK").split("CMD", 1)[1])
        cls.environment = dict(pair.split("=", 1) for pair in last("server.Dockerfile", "ENV").split())

    def test_it_takes_its_flags_and_listens_on_the_ports_that_it_exposes(self):
        self.assertEqual(json.loads(last("server.Dockerfile", "ENTRYPOINT")), ["foretokend"])
        self.assertEqual(unknown_flags(self.flags), [])
        self.assertEqual(refusal(self.flags), "")
        ports = [value(self.flags, flag).rsplit(":", 1)[1] for flag in ("listen", "metrics_listen")]
        self.assertEqual(last("server.Dockerfile", "EXPOSE").split(), ports)

    def test_the_health_check_finds_it(self):
        self.assertEqual(self.health[0], "foretoken")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.check(folder, self.flags, self.environment), 0)

    def test_the_health_check_finds_one_in_plain_text(self):
        """As the Dockerfile's comment tells to start it."""
        comment = re.search(r"-e (FORETOKEN_CA_FILE=) foretokend (.*?)\n(?!#  )",
                            (DEPLOY / "server.Dockerfile").read_text(encoding="utf-8"), re.DOTALL)
        flags = comment.group(2).replace("\\\n#", "").split()
        self.assertIn("--insecure", flags)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.check(folder, flags, {**self.environment, "FORETOKEN_CA_FILE": ""}), 0)
            self.assertNotEqual(self.check(folder, flags, self.environment), 0)

    def check(self, folder, flags, environment):
        """The exit code of the health check while a server runs with the flags, all paths below `folder`."""
        secrets = os.path.join(folder, "secrets")
        subprocess.run([DEPLOY / "compose" / "make-secrets", f"--folder={secrets}"], check=True)
        port = free_port()
        here = {"/etc/foretoken/": f"{secrets}/replica/", "/var/lib/foretoken/": f"{folder}/", "0.0.0.0:50051":
                f"127.0.0.1:{port}", "localhost:50051": f"127.0.0.1:{port}"}

        def placed(text):
            for there, path in here.items():
                text = text.replace(there, path)
            return text

        server = subprocess.Popen([SERVER, *map(placed, flags), "--metrics_listen="], stderr=subprocess.DEVNULL)
        try:
            wait_until_open(port)
            names = {name: placed(text) for name, text in environment.items()}
            return subprocess.run([CLI, "--timeout", "2s", *self.health[1:]], env={**os.environ, **names},
                                  capture_output=True, check=False, timeout=60).returncode
        finally:
            server.terminate()
            server.wait(timeout=60)


def wait_until_open(port):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"nobody listens on {port}")


if __name__ == "__main__":
    unittest.main()
