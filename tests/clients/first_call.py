"""Follows docs/first-call.md as a new user: each section in an empty folder, with a server of its own.

A block after a line "`NAME`:" is a file. Lines "$ ..." of a block are commands; after each comes what it prints, to its
end or to a line "...", or nothing where the page shows none. A line "`NAME` is there already:" shows a file that an
earlier command made.

    first_call.py [SECTION...]             follows the page; tells the time to each first answer, and what differs
    first_call.py --update [SECTION...]    writes what the commands print into the page
"""

import os
import re
import subprocess
import sys
import tempfile
import time

from support.server_process import BINARY_DIR, ServerProcess

ROOT = os.environ["FORETOKEN_SOURCE_DIR"]
PAGE = os.path.join(ROOT, "docs", "first-call.md")
ADDRESS = "127.0.0.1:50051"
SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.S | re.M)
FILE = re.compile(r"^`([\w.]+)`( is there already)?:\n\n```\w+\n(.*?)^```$", re.S | re.M)
BLOCK = re.compile(r"(?<=^```\n)\$ .*?(?=^```$)", re.S | re.M)
SHOWN = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
REST = "...\n"


def page():
    with open(PAGE, encoding="utf-8") as file:
        return file.read()


def sections():
    """The text of each section that has commands."""
    return {name: text for name, text in SECTION.findall(page()) if BLOCK.search(text)}


class Follower:
    """Follows one section against a server, in a folder. `skip` and `replace` stand in for what is not to be had here."""

    def __init__(self, server, folder, skip=None, replace=()):
        self.server, self.folder, self.skip = server, folder, skip
        self.replace = [(ADDRESS, server.address), *replace]
        self.began = 0.0
        self.differences = []
        self.first_answer_seconds = None

    def follow(self, text):
        """Does what the section says; its text with what the commands print now."""
        self.began = time.monotonic()
        done = []
        end = 0
        for match in sorted([*FILE.finditer(text), *BLOCK.finditer(text)], key=lambda match: match.start()):
            done.append(text[end:match.start()])
            done.append(self.take_file(match) if match.re is FILE else SHOWN.sub(self.take_command, match.group(0)))
            end = match.end()
        return "".join(done) + text[end:]

    def take_file(self, match):
        name, is_there, text = match.groups()
        path = os.path.join(self.folder, name)
        if is_there:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    self.differences.append(f"{name} is not as the page shows it")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.here(text))
        return match.group(0)

    def take_command(self, match):
        command, shown = match.groups()
        if self.skip and re.match(self.skip, command):
            return match.group(0)
        done = subprocess.run(["bash", "-c", self.here(command)], cwd=self.folder, capture_output=True,
                              text=True, timeout=500, check=False,
                              env={**os.environ, "FORETOKEN": ROOT, "FORETOKEN_SERVER": self.server.address})
        printed = done.stdout.replace(self.server.address, ADDRESS)
        if shown and self.first_answer_seconds is None:
            self.first_answer_seconds = time.monotonic() - self.began
        if done.returncode:
            self.differences.append(f"$ {command}\nends with {done.returncode}:\n{printed}{done.stderr}")
        elif shown and as_shown(printed, shown) != shown:
            self.differences.append(f"$ {command}\nprints:\n{printed}")
        return f"$ {command}\n{as_shown(printed, shown)}"

    def here(self, text):
        for of_the_page, here in self.replace:
            text = text.replace(of_the_page, here)
        return text


def as_shown(printed, shown):
    """As much of what was printed as the page shows."""
    if not shown.endswith(REST):
        return printed if shown else ""
    return "".join(printed.splitlines(keepends=True)[:shown.count("\n") - 1]) + REST


def follow(name, text, update=False, **stand_ins):
    """Follows a section in a folder of its own: the seconds to its first answer, and what differs from the page."""
    build = [("$FORETOKEN/build/release", BINARY_DIR)]
    with ServerProcess(store="memory:") as server, tempfile.TemporaryDirectory(prefix="first-call-") as folder:
        follower = Follower(server, folder, stand_ins.get("skip"), [*build, *stand_ins.get("replace", ())])
        now = follower.follow(text)
    if update:
        whole = page().replace(text, now)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(whole)
        follower.differences = [one for one in follower.differences if "ends with" in one]
    return follower.first_answer_seconds, follower.differences


def main(arguments):
    update = arguments[:1] == ["--update"]
    wanted = arguments[update:]
    failed = False
    for name, text in sections().items():
        if wanted and name not in wanted:
            continue
        seconds, differences = follow(name, text, update)
        print(f"{name}: first answer after {seconds or 0:.0f} s" + "".join(f"\n{one}" for one in differences), flush=True)
        failed = failed or bool(differences)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
