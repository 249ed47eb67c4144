"""The alerts and the dashboard of deploy/, by a real Prometheus."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

import yaml

from support.certificates import Certificates
from support.foretoken_api import Refused
from support.replicas import wait_until
from support.scenarios import hardware, scenario
from support.server_process import ServerProcess, free_port

DEPLOY = os.path.join(os.environ["FORETOKEN_SOURCE_DIR"], "deploy")
ALERTS = os.path.join(DEPLOY, "prometheus", "alerts.yml")
DASHBOARD = os.path.join(DEPLOY, "grafana", "foretoken.json")
CONFIG = """
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [%s]
scrape_configs: [{job_name: foretoken, static_configs: [{targets: ["%s"]}]}]
"""


def promtool(*arguments, folder=None):
    return subprocess.run([shutil.which("promtool"), *arguments], cwd=folder, text=True, capture_output=True,
                          check=False)


def expressions():
    """Title and query of every line of the dashboard."""
    with open(DASHBOARD, encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]


class Prometheus:
    """One that scrapes `server`, on a free port, with a folder of its own."""

    def __init__(self, server):
        self.folder = tempfile.mkdtemp(prefix="foretoken-prometheus-")
        config = os.path.join(self.folder, "prometheus.yml")
        with open(config, "w", encoding="ascii") as file:
            file.write(CONFIG % (ALERTS, server.metrics_address))
        self.address = f"127.0.0.1:{free_port()}"
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [shutil.which("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self.folder}/data",
                 f"--web.listen-address={self.address}"], stdout=log, stderr=log)

    def ask(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}", timeout=5) as reply:
                return json.load(reply)["data"]
        except OSError:
            return None

    def query(self, expression):
        """The series of a query; none while Prometheus starts."""
        answer = self.ask("query?" + urllib.parse.urlencode({"query": expression}))
        return answer["result"] if answer else []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait(timeout=30)
        shutil.rmtree(self.folder)


class Monitoring(unittest.TestCase):
    def test_alerts_fire_when_they_should(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ALERTS, folder)
            shutil.copy(os.path.join(os.path.dirname(__file__), "alerts_test.yml"), folder)
            self.assertEqual(promtool("check", "rules", "alerts.yml", folder=folder).returncode, 0)
            tests = promtool("test", "rules", "alerts_test.yml", folder=folder)
            self.assertEqual(tests.returncode, 0, tests.stdout + tests.stderr)

    def test_every_line_of_the_dashboard_and_every_alert_meets_the_servers_series(self):
        folder = tempfile.mkdtemp(prefix="foretoken-certificates-")
        self.addCleanup(shutil.rmtree, folder)
        c = Certificates(folder, days=30)
        tls = [f"--tls_cert_file={c.cert}", f"--tls_key_file={c.key}"]
        with ServerProcess(flags=tls, credentials=c.channel_credentials()) as server, Prometheus(server) as prometheus:
            wait_until(lambda: prometheus.query('up{job="foretoken"} == 1'), 30, "the first scrape")
            self.use(server)
            for title, expression in expressions():
                self.meets(prometheus, title, expression.replace("$__rate_interval", "1m").replace("$job", "foretoken"))
            rules = prometheus.ask("rules")["groups"][0]["rules"]
            self.assertEqual(len(rules), 16)
            for rule in rules:
                self.assertEqual((rule["health"], rule["state"]), ("ok", "inactive"), rule["name"])
                for name in re.findall(r"\b(?:foretoken|grpc_server|process)_\w+", rule["query"]):
                    self.assertTrue(prometheus.query(name), f"{rule['name']} asks for {name}")

    def test_every_alert_has_a_severity_and_a_runbook(self):
        with open(ALERTS, encoding="utf-8") as file:
            group, = yaml.safe_load(file)["groups"]
        with open(os.path.join(DEPLOY, "..", "docs", "runbooks.md"), encoding="utf-8") as file:
            sections = re.findall(r"^## (\w+)$", file.read(), re.MULTILINE)
        for rule in group["rules"]:
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"), rule["alert"])
            self.assertEqual(rule["annotations"]["runbook"], f"docs/runbooks.md#{rule['alert'].lower()}")
        self.assertEqual(sections, [rule["alert"] for rule in group["rules"]])

    def test_every_line_of_the_dashboard_goes_by_the_chosen_job(self):
        for title, expression in expressions():
            self.assertEqual(expression.count("job="), expression.count('job=~"$job"'), title)
            self.assertIn('job=~"$job"', expression, title)

    @staticmethod
    def meets(prometheus, title, expression):
        wait_until(lambda: prometheus.query(expression), 15, f"a series of {title}: {expression}")

    def use(self, server):
        """A rate needs two scrapes of different counts."""
        for _ in range(3):
            server.client.call("EstimatorService/Estimate", scenario=scenario(slo={"max_ttft_seconds": 10.0}))
            server.client.call("EstimatorService/BatchEstimate", base=scenario(), candidates=[{}] * 7)
            server.client.call("CatalogService/RegisterHardware", spec=hardware("chip"), etag="*")
            axes = [{"field": "workload.batch_size", "numbers": {"values": [1.0, 2.0]}}]
            list(server.client.stream("EstimatorService/Sweep", base=scenario(), axes=axes)[1])
            try:
                server.client.call("EstimatorService/Estimate")
            except Exception:  # pylint: disable=broad-except
                pass  # a refusal, counted by its code
            time.sleep(0.5)


if __name__ == "__main__":
    unittest.main()
