#!/usr/bin/env python3
"""Cuts the schemas of tests/deploy/schemas out of those that the projects publish (schemas/README.md names the files).

    tests/deploy/cut_schemas.py swagger.json monitoring.coreos.com_servicemonitors.yaml compose-spec.json
"""

import json
import sys
from pathlib import Path

import yaml

FOLDER = Path(__file__).parent / "schemas"
KINDS = {
    "Namespace": "io.k8s.api.core.v1.Namespace",
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "Secret": "io.k8s.api.core.v1.Secret",
    "Service": "io.k8s.api.core.v1.Service",
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
}


def strict(node):
    """Without prose and extensions; an object that names its properties takes no others, as a server's strict check."""
    if isinstance(node, list):
        return [strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == "int-or-string" or node.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    kept = {}
    for key, value in node.items():
        if key == "properties":
            kept[key] = {name: strict(of) for name, of in value.items()}
        elif key != "description" and not key.startswith("x-"):
            kept[key] = strict(value)
    return {"additionalProperties": False, **kept} if "properties" in kept else kept


def reached(definitions, roots):
    """The definitions that the roots refer to, themselves included, by name."""
    found, open_names = {}, list(roots)
    while open_names:
        name = open_names.pop()
        if name not in found:
            found[name] = strict(definitions[name])
            open_names += [part.split('"')[0] for part in json.dumps(found[name]).split("#/definitions/")[1:]]
    return dict(sorted(found.items()))


def write(name, schema):
    """One definition a line."""
    definitions = schema.pop("definitions")
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in definitions.items())
    head = json.dumps(schema)[1:-1]
    (FOLDER / name).write_text(f'{{{head}, "definitions": {{\n{lines}\n}}}}\n', encoding="utf-8")


def main():
    swagger, monitor, compose = (Path(path).read_text(encoding="utf-8") for path in sys.argv[1:])
    definitions = reached(json.loads(swagger)["definitions"], KINDS.values())
    version = next(one for one in yaml.safe_load(monitor)["spec"]["versions"] if one["name"] == "v1")
    service_monitor = strict(version["schema"]["openAPIV3Schema"])
    service_monitor["properties"]["metadata"] = {
        "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    kinds = {**{kind: {"$ref": f"#/definitions/{name}"} for kind, name in KINDS.items()},
             "ServiceMonitor": {"$ref": "#/definitions/ServiceMonitor"}}
    write("kubernetes.json", {"properties": kinds, "definitions": {**definitions, "ServiceMonitor": service_monitor}})
    (FOLDER / "compose.json").write_text(compose, encoding="utf-8")


if __name__ == "__main__":
    main()
