"""deploy/compose: by the schema of the Compose Specification, by each program's own check of its configuration, and by
what must agree between the files."""

import ipaddress
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

from deploy_files import DEPLOY, faults, load, refusal, seconds, unknown_flags, value

COMPOSE = load(DEPLOY / "compose" / "compose.yaml")
SERVICES = COMPOSE["services"]
REPLICAS = ("foretoken-1", "foretoken-2")
MEMBERS = ("etcd-1", "etcd-2", "etcd-3")
HAPROXY_FILE = DEPLOY / "haproxy" / "haproxy.cfg"


def run(*command, **options):
    """The finished program; Debian keeps some in /usr/sbin."""
    program = shutil.which(command[0], path=os.environ["PATH"] + ":/usr/sbin")
    return subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False, timeout=60, **options)


def mounts(service):
    """Container path -> path of deploy/, of what is mounted from there."""
    binds = [volume.split(":") for volume in service["volumes"] if volume.startswith(".")]
    return {parts[1]: (DEPLOY / "compose" / parts[0]).resolve() for parts in binds}


def targets(job):
    config = load(DEPLOY / "prometheus" / "prometheus.yml")
    return next(one for one in config["scrape_configs"] if one["job_name"] == job)["static_configs"][0]["targets"]


class Compose(unittest.TestCase):
    def test_it_is_as_the_schema_says(self):
        self.assertEqual(faults(COMPOSE, "compose.json"), [])
        self.assertNotEqual(faults({**COMPOSE, "services": {"one": {"imagee": "x"}}}, "compose.json"), [])

    def test_the_replicas_are_alike_and_take_their_flags(self):
        self.assertEqual(SERVICES[REPLICAS[0]], SERVICES[REPLICAS[1]])
        command = SERVICES[REPLICAS[0]]["command"]
        self.assertEqual(unknown_flags(command), [])
        self.assertEqual(refusal(command), "")

    def test_the_replicas_believe_the_proxy_whom_it_calls_for(self):
        address = SERVICES["proxy"]["networks"]["serving"]["ipv4_address"]
        self.assertEqual(value(SERVICES[REPLICAS[0]]["command"], "trusted_proxies"), address)
        subnet, = COMPOSE["networks"]["serving"]["ipam"]["config"]
        self.assertIn(ipaddress.ip_address(address), ipaddress.ip_network(subnet["subnet"]))
        self.assertIn("option forwardfor", HAPROXY_FILE.read_text(encoding="utf-8"))

    def test_a_drain_fits_into_the_time_before_the_kill(self):
        for name in REPLICAS:
            drain = sum(seconds(value(SERVICES[name]["command"], flag)) for flag in ("drain_grace", "drain_timeout"))
            self.assertGreater(seconds(SERVICES[name]["stop_grace_period"]), drain)

    def test_a_replica_that_begins_to_drain_is_left_before_it_stops_serving(self):
        """The proxy asks often enough: an interval and an answer that does not come fit into the grace twice."""
        text = HAPROXY_FILE.read_text(encoding="utf-8")
        interval = int(re.search(r"check inter (\d+)ms fall 1 ", text).group(1)) / 1000
        longest = int(re.search(r"timeout check (\d+)s", text).group(1))
        grace = seconds(value(SERVICES[REPLICAS[0]]["command"], "drain_grace"))
        self.assertGreaterEqual(grace, 2 * (interval + longest))

    def test_the_store_is_all_members_of_one_cluster(self):
        endpoints = re.fullmatch(r"etcd:([^/]+)/foretoken", value(SERVICES[REPLICAS[0]]["command"], "catalog_store"))
        self.assertEqual(endpoints.group(1).split(","), [f"{name}:2379" for name in MEMBERS])
        for name in MEMBERS:
            environment = SERVICES[name]["environment"]
            self.assertEqual(environment["ETCD_NAME"], name)
            self.assertEqual(environment["ETCD_ADVERTISE_CLIENT_URLS"], f"http://{name}:2379")
            peers = dict(peer.split("=") for peer in environment["ETCD_INITIAL_CLUSTER"].split(","))
            self.assertEqual(peers, {member: f"http://{member}:2380" for member in MEMBERS})
            self.assertEqual(environment["ETCD_INITIAL_ADVERTISE_PEER_URLS"], peers[name])
            self.assertIn(f"{name}:{environment['ETCD_DATA_DIR']}", SERVICES[name]["volumes"])
            self.assertEqual(list(SERVICES[REPLICAS[0]]["depends_on"]), list(MEMBERS))

    def test_etcd_knows_its_settings(self):
        known = run("etcd", "--help").stdout
        for name in SERVICES[MEMBERS[0]]["environment"]:
            self.assertIn("--" + name.removeprefix("ETCD_").lower().replace("_", "-") + " ", known)

    def test_only_the_proxy_and_what_people_look_at_is_published_and_etcd_is_out_of_reach(self):
        self.assertEqual(sorted(name for name, service in SERVICES.items() if "ports" in service),
                         ["grafana", "prometheus", "proxy"])
        for name in ("grafana", "prometheus"):
            self.assertTrue(all(port.startswith("127.0.0.1:") for port in SERVICES[name]["ports"]))
        self.assertEqual([name for name, network in COMPOSE["networks"].items() if not network.get("internal")],
                         ["outside"])
        self.assertEqual(sorted(name for name, service in SERVICES.items() if "store" in service["networks"]),
                         sorted([*MEMBERS, *REPLICAS, "prometheus"]))
        for one, other in (("proxy", REPLICAS[0]), ("grafana", "prometheus"), ("prometheus", "proxy")):
            self.assertTrue(set(SERVICES[one]["networks"]) & set(SERVICES[other]["networks"]), (one, other))

    def test_what_is_mounted_is_there_or_made_by_make_secrets(self):
        with tempfile.TemporaryDirectory() as folder:
            made = make_secrets(folder)
            for service in SERVICES.values():
                for source in mounts(service).values() if "volumes" in service else ():
                    relative = source.relative_to(DEPLOY / "compose").parts if "secrets" in source.parts else None
                    self.assertTrue(os.path.exists(os.path.join(made, *relative[1:]) if relative else source), source)

    def test_images_are_of_a_fixed_release(self):
        for name, service in SERVICES.items():
            self.assertRegex(service["image"], r":(v?\d+(\.\d+)+|\$\{FORETOKEN_VERSION:-\d+\.\d+\.\d+\})$", name)


def make_secrets(folder, *task):
    """The folder that the script has filled."""
    target = os.path.join(folder, "secrets")
    done = run(str(DEPLOY / "compose" / "make-secrets"), f"--folder={target}", *task)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return target


class Secrets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-secrets-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.made = make_secrets(self.folder)

    def read(self, *parts):
        with open(os.path.join(self.made, *parts), encoding="ascii") as file:
            return file.read()

    def test_nobody_else_on_the_machine_gets_there_and_every_container_reads(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.made).st_mode), 0o700)
        for of_a_container in ("replica", "proxy", "grafana"):
            for folder, _, files in os.walk(os.path.join(self.made, of_a_container)):
                self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o755)
                for name in files:
                    self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o644)

    def test_what_is_there_is_kept(self):
        before = [self.read("replica", "tls", "tls.crt"), self.read("jobs", "token"), self.read("grafana", "password")]
        make_secrets(self.folder)
        after = [self.read("replica", "tls", "tls.crt"), self.read("jobs", "token"), self.read("grafana", "password")]
        self.assertEqual(before, after)

    def test_certificates_are_of_one_authority_before_and_after(self):
        for _ in range(2):
            for name in ("replica", "proxy"):
                verified = run("openssl", "verify", "-CAfile", os.path.join(self.made, "authority", "ca.crt"),
                               os.path.join(self.made, name, "tls", "tls.crt"))
                self.assertEqual(verified.returncode, 0, verified.stderr)
            before = self.read("proxy", "tls", "tls.pem")
            make_secrets(self.folder, "certificates")
            self.assertNotEqual(self.read("proxy", "tls", "tls.pem"), before)

    def test_the_proxy_is_known_by_more_names(self):
        make_secrets(self.folder, "certificates", "--name=foretoken.example")
        shown = run("openssl", "x509", "-noout", "-ext", "subjectAltName", "-in",
                    os.path.join(self.made, "proxy", "tls", "tls.crt"))
        self.assertIn("DNS:localhost, IP Address:127.0.0.1, DNS:foretoken.example", shown.stdout)

    def test_the_last_token_counts_until_it_is_retired(self):
        first = self.read("jobs", "token").strip()
        make_secrets(self.folder, "token")
        second = self.read("jobs", "token").strip()
        self.assertEqual(self.read("replica", "tokens", "writers"), f"ci {second}\nci-before {first}\n")
        make_secrets(self.folder, "retire")
        self.assertEqual(self.read("replica", "tokens", "writers"), f"ci {second}\n")

    def test_wrong_usage_is_told(self):
        self.assertEqual(run(str(DEPLOY / "compose" / "make-secrets"), "rotate").returncode, 2)


class Proxy(unittest.TestCase):
    def test_haproxy_takes_its_file_with_the_environment_of_the_compose_file(self):
        with tempfile.TemporaryDirectory() as folder:
            made = make_secrets(folder)
            environment = {name: text.replace("/etc/foretoken/", os.path.join(made, "proxy", ""))
                           for name, text in SERVICES["proxy"]["environment"].items()}
            checked = run("haproxy", "-c", "-f", str(HAPROXY_FILE), env={**os.environ, **environment})
            self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_its_environment_is_what_the_file_asks_for(self):
        asked = set(re.findall(r"\$\{(\w+)\}", HAPROXY_FILE.read_text(encoding="utf-8")))
        self.assertEqual(asked, set(SERVICES["proxy"]["environment"]))
        port = value(SERVICES[REPLICAS[0]]["command"], "listen").rsplit(":", 1)[1]
        self.assertEqual([SERVICES["proxy"]["environment"][f"FORETOKEN_REPLICA_{i}"] for i in (1, 2)],
                         [f"{name}:{port}" for name in REPLICAS])


class Monitoring(unittest.TestCase):
    def test_prometheus_takes_its_file_and_its_rules(self):
        checked = run("promtool", "check", "config", str(DEPLOY / "prometheus" / "prometheus.yml"))
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("rules found", checked.stdout)

    def test_it_asks_every_replica_the_proxy_and_every_member(self):
        metrics = value(SERVICES[REPLICAS[0]]["command"], "metrics_listen").rsplit(":", 1)[1]
        self.assertEqual(targets("foretoken"), [f"{name}:{metrics}" for name in REPLICAS])
        self.assertEqual(targets("proxy"), ["proxy:" + SERVICES["proxy"]["environment"]["FORETOKEN_METRICS_BIND"][2:]])
        self.assertEqual(targets("etcd"), [f"{name}:2379" for name in MEMBERS])

    def test_grafana_is_given_prometheus_and_the_dashboard(self):
        provisioning = DEPLOY / "grafana" / "provisioning"
        source, = load(provisioning / "datasources" / "prometheus.yaml")["datasources"]
        self.assertEqual((source["type"], source["url"], source["isDefault"]),
                         ("prometheus", "http://prometheus:9090", True))
        provider, = load(provisioning / "dashboards" / "foretoken.yaml")["providers"]
        mounted = mounts(SERVICES["grafana"])
        dashboards = [source for target, source in mounted.items()
                      if os.path.dirname(target) == provider["options"]["path"]]
        self.assertEqual(dashboards, [DEPLOY / "grafana" / "foretoken.json"])
        self.assertEqual(mounted["/etc/grafana/provisioning"], provisioning)
        dashboard = json.loads(dashboards[0].read_text(encoding="utf-8"))
        variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
        self.assertEqual((variables["datasource"]["type"], variables["datasource"]["query"]),
                         ("datasource", source["type"]))


if __name__ == "__main__":
    unittest.main()
