"""The manifests of deploy/kubernetes: by the schemas of Kubernetes and the Prometheus operator, and by what must
agree."""

import unittest

from deploy_files import DEPLOY, faults, load, refusal, seconds, unknown_flags, value

FOLDER = DEPLOY / "kubernetes"
KUSTOMIZATION = load(FOLDER / "kustomization.yaml")
MANIFESTS = [load(FOLDER / name) for name in KUSTOMIZATION["resources"]]


def of_kind(kind):
    return [manifest for manifest in MANIFESTS if manifest["kind"] == kind]


def selects(selector, labels):
    return selector.items() <= labels.items()


class Manifests(unittest.TestCase):
    """`pod` is the Deployment's template, `container` its one container."""

    @classmethod
    def setUpClass(cls):
        cls.deployment, = of_kind("Deployment")
        cls.pod = cls.deployment["spec"]["template"]
        cls.container, = cls.pod["spec"]["containers"]
        cls.labels = cls.pod["metadata"]["labels"]
        cls.ports = {port["name"]: port["containerPort"] for port in cls.container["ports"]}

    def test_each_is_as_its_schema_says(self):
        for manifest in MANIFESTS:
            with self.subTest(manifest["kind"]):
                self.assertEqual(faults(manifest, "kubernetes.json", manifest["kind"]), [])

    def test_the_schema_notices_a_misspelt_field_and_a_wrong_type(self):
        for change in ({"replica": 2}, {"replicas": "two"}, {"selector": None}):
            broken = {**self.deployment, "spec": {**self.deployment["spec"], **change}}
            self.assertEqual(len(faults(broken, "kubernetes.json", "Deployment")), 1, change)

    def test_every_file_of_the_folder_is_applied_and_has_a_name_of_its_own(self):
        self.assertEqual(sorted(KUSTOMIZATION["resources"] + ["kustomization.yaml"]),
                         sorted(path.name for path in FOLDER.iterdir()))
        self.assertEqual(set(KUSTOMIZATION) - {"apiVersion", "kind", "namespace", "resources", "images",
                                               "configMapGenerator"}, set())
        names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in MANIFESTS]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual([m["metadata"]["name"] for m in of_kind("Namespace")], [KUSTOMIZATION["namespace"]])
        self.assertEqual([m["kind"] for m in MANIFESTS if "namespace" in m["metadata"]], [])

    def test_the_expected_kinds_are_there(self):
        self.assertEqual(sorted(manifest["kind"] for manifest in MANIFESTS),
                         ["Deployment", "Namespace", "NetworkPolicy", "PodDisruptionBudget", "Service", "Service",
                          "ServiceMonitor"])
        self.assertEqual([service["spec"].get("clusterIP") for service in of_kind("Service")].count("None"), 1)

    def test_selectors_select_the_pods(self):
        selectors = [self.deployment["spec"]["selector"]["matchLabels"],
                     of_kind("PodDisruptionBudget")[0]["spec"]["selector"]["matchLabels"],
                     of_kind("NetworkPolicy")[0]["spec"]["podSelector"]["matchLabels"],
                     *[service["spec"]["selector"] for service in of_kind("Service")],
                     *[spread["labelSelector"]["matchLabels"]
                       for spread in self.pod["spec"]["topologySpreadConstraints"]]]
        for selector in selectors:
            self.assertTrue(selector and selects(selector, self.labels), selector)

    def test_ports_are_those_that_the_server_listens_on(self):
        arguments = self.container["args"]
        self.assertEqual(self.ports, {name: int(value(arguments, flag).rsplit(":", 1)[1])
                                      for name, flag in (("grpc", "listen"), ("metrics", "metrics_listen"))})
        for service in of_kind("Service"):
            for port in service["spec"]["ports"]:
                self.assertEqual((port["name"], port["port"]), (port["targetPort"], self.ports[port["targetPort"]]))
        ingress = of_kind("NetworkPolicy")[0]["spec"]["ingress"]
        self.assertEqual([port["port"] for rule in ingress for port in rule["ports"]], ["grpc", "metrics"])

    def test_prometheus_finds_the_metrics_of_one_service_under_a_job_that_the_alerts_know(self):
        monitor = of_kind("ServiceMonitor")[0]["spec"]
        found = [service for service in of_kind("Service")
                 if selects(monitor["selector"]["matchLabels"], service["metadata"]["labels"])
                 and any(port["name"] == monitor["endpoints"][0]["port"] for port in service["spec"]["ports"])]
        self.assertEqual([service["metadata"]["labels"][monitor["jobLabel"]] for service in found], ["foretoken"])
        self.assertIn('up{job=~".*foretoken.*"}', (DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))

    def test_the_server_takes_the_flags(self):
        arguments = self.container["args"]
        self.assertEqual(unknown_flags(arguments), [])
        literal, = KUSTOMIZATION["configMapGenerator"][0]["literals"]
        key, store = literal.split("=", 1)
        variable, = self.container["env"]
        self.assertEqual(variable["valueFrom"]["configMapKeyRef"],
                         {"name": KUSTOMIZATION["configMapGenerator"][0]["name"], "key": key})
        expanded = [argument.replace(f"$({variable['name']})", store) for argument in arguments]
        self.assertNotIn("$(", " ".join(expanded))
        self.assertEqual(refusal(expanded), "")
        self.assertIn("--drain_timeout", refusal([*expanded, "--drain_timeout=-1s"]))

    def test_files_that_the_flags_name_are_mounted(self):
        mounts = {mount["mountPath"]: mount["name"] for mount in self.container["volumeMounts"]}
        volumes = {volume["name"] for volume in self.pod["spec"]["volumes"]}
        self.assertEqual(set(mounts.values()), volumes)
        files = [argument.split("=", 1)[1] for argument in self.container["args"] if "_file=" in argument]
        self.assertGreater(len(files), 5)
        self.assertEqual([file for file in files if file.rsplit("/", 1)[0] not in mounts], [])

    def test_a_drain_fits_into_the_time_before_the_kill_and_into_the_liveness_probe(self):
        drain = sum(seconds(value(self.container["args"], flag)) for flag in ("drain_grace", "drain_timeout"))
        hook = int(self.container["lifecycle"]["preStop"]["exec"]["command"][1])
        self.assertGreater(self.pod["spec"]["terminationGracePeriodSeconds"], hook + drain)
        liveness = self.container["livenessProbe"]
        self.assertGreater(liveness["periodSeconds"] * liveness["failureThreshold"], drain)
        readiness = self.container["readinessProbe"]
        self.assertLess(readiness["timeoutSeconds"], readiness["periodSeconds"])

    def test_a_rollout_and_an_eviction_leave_a_replica(self):
        self.assertGreaterEqual(self.deployment["spec"]["replicas"], 2)
        self.assertEqual(self.deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"], 0)
        self.assertLess(of_kind("PodDisruptionBudget")[0]["spec"]["maxUnavailable"],
                        self.deployment["spec"]["replicas"])

    def test_the_image_is_the_one_that_the_kustomization_names_and_runs_as_its_user(self):
        self.assertEqual([image["name"] for image in KUSTOMIZATION["images"]], [self.container["image"]])
        dockerfile = (DEPLOY / "server.Dockerfile").read_text(encoding="utf-8")
        self.assertIn(f"\nUSER {self.pod['spec']['securityContext']['runAsUser']}\n", dockerfile)
        self.assertIn(f'org.opencontainers.image.version="{KUSTOMIZATION["images"][0]["newTag"]}"', dockerfile)
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(self.container[probe]["exec"]["command"][0], "foretoken")

    def test_the_namespace_admits_the_pod(self):
        """Kubernetes' pod security standard "restricted"."""
        level = of_kind("Namespace")[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        self.assertEqual(level, "restricted")
        own = self.container["securityContext"]
        self.assertEqual((own["allowPrivilegeEscalation"], own["capabilities"]), (False, {"drop": ["ALL"]}))
        whole = self.pod["spec"]["securityContext"]
        self.assertEqual((whole["runAsNonRoot"], whole["seccompProfile"]), (True, {"type": "RuntimeDefault"}))


if __name__ == "__main__":
    unittest.main()
