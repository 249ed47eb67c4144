"""Builds the wheel of client/python without a registry, and unpacks it: unpack_wheel.py FOLDER."""

import glob
import os
import shutil
import subprocess
import sys
import zipfile

ROOT = os.environ["FORETOKEN_SOURCE_DIR"]
PROTO = os.path.join(ROOT, "proto")


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    scratch = os.path.join(folder, "wheel")
    os.makedirs(scratch)
    subprocess.run([sys.executable, "setup.py", "-q", "egg_info", "--egg-base", scratch, "build", "--build-base",
                    os.path.join(scratch, "build"), "bdist_wheel", "--dist-dir", scratch],
                   cwd=os.path.join(ROOT, "client", "python"), check=True)
    (wheel,) = glob.glob(os.path.join(scratch, "*.whl"))
    assert wheel.endswith("-py3-none-any.whl"), wheel  # pure Python
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        assert "foretoken/py.typed" in archive.namelist()
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={folder}", "google/rpc/status.proto",
                    "google/rpc/error_details.proto"], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
