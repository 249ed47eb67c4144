"""The files of deploy/, and what the programs that are started by them know."""

import json
import os
import re
import subprocess
from pathlib import Path

import jsonschema
import yaml

DEPLOY = Path(os.environ["FORETOKEN_SOURCE_DIR"]) / "deploy"
SERVER = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretokend")
SCHEMAS = Path(__file__).parent / "schemas"


class UniqueKeys(yaml.SafeLoader):
    """Refuses a mapping that has a key twice, of which YAML's readers keep the last without a word."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.value != "<<"]
        if len(keys) != len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, f"a key stands twice among {keys}", node.start_mark)
        return super().construct_mapping(node, deep)


def load(path):
    return yaml.load(path.read_text(encoding="utf-8"), UniqueKeys)  # which is a SafeLoader


def faults(document, schema_file, kind=None):
    """What the schema finds wrong, a text each; `kind`: one of several in the file."""
    schema = json.loads((SCHEMAS / schema_file).read_text(encoding="utf-8"))
    root = {"definitions": schema["definitions"], "allOf": [schema["properties"][kind]]} if kind else schema
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
            for error in jsonschema.Draft7Validator(root).iter_errors(document)]


def unknown_flags(arguments):
    """Those that `foretokend --helpfull` does not list."""
    known = set(re.findall(r"^\s+--(\w+) \(", subprocess.run([SERVER, "--helpfull"], capture_output=True, text=True,
                                                              check=False).stdout, re.MULTILINE))
    return [argument for argument in arguments if argument.split("=")[0].removeprefix("--") not in known]


def refusal(arguments):
    """What foretokend says against the flags' values; "" where nothing is. No file that they name is read."""
    done = subprocess.run([SERVER, *arguments, f"--check_catalog={DEPLOY.parent / 'catalogs'}"], capture_output=True,
                          text=True, check=False, timeout=60)
    return done.stderr if done.returncode == 2 else ""


def value(arguments, flag):
    """Of the flag among the arguments; None where it is not."""
    return next((argument.split("=", 1)[1] for argument in arguments if argument.startswith(f"--{flag}=")), None)


def seconds(duration):
    """45 of "45s"."""
    return int(re.fullmatch(r"(\d+)s", duration).group(1))
