"""mypy reads the hints of the Python package: right use passes, and wrong use is named. Needs mypy, so tests/clients/run
runs it."""

import subprocess
import sys
import tempfile
import unittest

CODE = """
import foretoken
client = foretoken.Client()
reply = client.estimate("m", "h", prompt_tokens=1)
seconds: float = reply.estimate.ttft.seconds
rows: int = len(client.sweep("m", "h", prompt_tokens=[1, 2]))
wrong: str = reply.estimate.ttft.seconds
reply.estimate.tttft
client.estimate("m", "h", timeout="10")
"""


class Hints(unittest.TestCase):
    def test_mypy(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(CODE)
            file.flush()
            done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir=/dev/null", file.name], capture_output=True,
                                  text=True, timeout=300, check=False)
        found = [line.split(": ", 2) for line in done.stdout.splitlines() if ": error: " in line]
        self.assertEqual([(int(where.rsplit(":", 1)[1]), kind) for where, kind, _ in found],
                         [(7, "error"), (8, "error"), (9, "error")], done.stdout)
        self.assertIn('maybe "ttft"?', done.stdout)


if __name__ == "__main__":
    unittest.main()
