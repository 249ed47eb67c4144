"""The job of deploy/ci: its flags are those of the command line, and its pod is as the schema of Kubernetes says."""

import os
import re
import subprocess
import unittest

from deploy_files import DEPLOY, faults, load

CLI = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "foretoken")
JOB = load(DEPLOY / "ci" / "kubernetes-job.yaml")
WORKFLOW = load(DEPLOY / "ci" / "github-workflow.yml")


def flags_of_profile():
    shown = subprocess.run([CLI, "profile", "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return set(re.findall(r"--[\w-]+", shown))


class Job(unittest.TestCase):
    def setUp(self):
        self.pod = JOB["spec"]["template"]
        self.profile, = self.pod["spec"]["containers"]
        self.engine, = self.pod["spec"]["initContainers"]

    def test_the_pod_is_as_its_schema_says(self):
        deployment = load(DEPLOY / "kubernetes" / "deployment.yaml")
        deployment["spec"]["template"] = self.pod
        self.assertEqual(faults(deployment, "kubernetes.json", "Deployment"), [])
        self.assertEqual((JOB["apiVersion"], JOB["kind"]), ("batch/v1", "Job"))

    def test_the_command_line_knows_the_flags(self):
        flags = {argument.split("=")[0] for argument in self.profile["args"] if argument.startswith("--")}
        self.assertEqual(flags - flags_of_profile(), set())

    def test_the_engine_runs_until_the_profile_ends_and_is_up_before_it(self):
        self.assertEqual(self.engine["restartPolicy"], "Always")
        self.assertEqual(self.engine["startupProbe"]["httpGet"]["path"], "/v1/models")
        self.assertEqual(self.pod["spec"]["restartPolicy"], "Never")

    def test_the_engine_has_the_limits_that_the_profile_states(self):
        engine = dict(argument.removeprefix("--").split("=") for argument in self.engine["args"])
        profile = dict(argument.removeprefix("--").split("=") for argument in self.profile["args"] if "=" in argument)
        self.assertEqual((engine["max-num-seqs"], engine["max-num-batched-tokens"]),
                         (profile["max-running"], profile["chunk"]))

    def test_files_are_mounted(self):
        mounts = [mount["mountPath"] for mount in self.profile["volumeMounts"]]
        files = [entry["value"] for entry in self.profile["env"] if entry["name"].endswith("_FILE")]
        self.assertEqual([file for file in files if file.rsplit("/", 1)[0] not in mounts], [])
        volumes = {volume["name"] for volume in self.pod["spec"]["volumes"]}
        used = {mount["name"] for container in (self.profile, self.engine) for mount in container["volumeMounts"]}
        self.assertEqual(used, volumes)

    def test_the_server_is_a_service_of_the_manifests(self):
        server = next(entry["value"] for entry in self.profile["env"] if entry["name"] == "FORETOKEN_SERVER")
        name, port = re.fullmatch(r"dns:///([\w-]+):(\d+)", server).groups()
        service = load(DEPLOY / "kubernetes" / "headless-service.yaml")
        self.assertEqual(service["metadata"]["name"], name)
        self.assertIn(int(port), [entry["port"] for entry in service["spec"]["ports"]])


class Workflow(unittest.TestCase):
    def setUp(self):
        self.steps = WORKFLOW["jobs"]["profile"]["steps"]
        self.commands = "\n".join(step.get("run", "") for step in self.steps)

    def test_it_runs_files_of_the_tree(self):
        for path in ("deploy/install-packages", "deploy/ci/profile"):
            self.assertIn(path, self.commands)
            self.assertTrue(os.access(DEPLOY.parent / path, os.X_OK), path)

    def test_the_command_line_knows_the_flags(self):
        step = next(step for step in self.steps if "deploy/ci/profile" in step.get("run", ""))
        flags = set(re.findall(r"--[\w-]+", step["run"].split("deploy/ci/profile", 1)[1]))
        self.assertEqual(flags - flags_of_profile(), set())

    def test_no_input_is_expanded_inside_a_command(self):
        self.assertNotIn("${{", self.commands)

    def test_the_engine_and_the_token_are_removed_whatever_happens(self):
        last = next(step for step in self.steps if "docker rm" in step.get("run", ""))
        self.assertEqual(last["if"], "always()")
        self.assertIn('rm -f "$RUNNER_TEMP/token"', last["run"])


if __name__ == "__main__":
    unittest.main()
