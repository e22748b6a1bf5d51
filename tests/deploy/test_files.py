"""The files in `deploy/` are what those who read them take: systemd, Kubernetes, Compose, Prometheus, Grafana."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec import PyOptions
from prometheus_client import CollectorRegistry

from soloist.net.service.config import parse
from soloist.net.telemetry.metrics import Metrics
from soloist.testing import eventually, memory_cluster
from tests.net.helpers import run

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "soloist@.service"
MANIFESTS = [
    document
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]
KUBERNETES = ("1.30", kubernetes_validate.latest_version())


def needs(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"not run: needs {program}; apt-get install {package}")
    return found


def done(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def unit_with(tmp_path: Path, program: str, *changes: tuple[str, str]) -> Path:
    """The unit, as if our program was where it says."""
    text = UNIT.read_text()
    for old, new in (("/opt/soloist/bin/soloist", program), *changes):
        assert old in text
        text = text.replace(old, new)
    unit = tmp_path / "soloist@a.service"
    unit.write_text(text)
    return unit


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = needs("systemd-analyze", "systemd")
    good = done(analyze, "verify", "--man=no", unit_with(tmp_path, "/bin/true"))
    assert (good.returncode, good.stderr) == (0, "")
    bad = done(
        analyze, "verify", "--man=no", unit_with(tmp_path, "/bin/true", ("ProtectHome=", "ProtectHouse="))
    )
    assert "ProtectHouse" in bad.stderr  # it looks at such things


def test_systemd_finds_the_unit_well_guarded(tmp_path: Path) -> None:
    analyze = needs("systemd-analyze", "systemd")
    unit = unit_with(tmp_path, "/bin/true")
    found = done(analyze, "security", "--offline=yes", "--threshold=20", "--no-pager", unit)
    assert found.returncode == 0, found.stdout + found.stderr
    assert done(analyze, "security", "--offline=yes", "--threshold=1", unit).returncode != 0


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_kubernetes_takes_the_manifests(manifest: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


def test_what_kubernetes_would_not_take_is_found() -> None:
    (stateful,) = (each for each in MANIFESTS if each["kind"] == "StatefulSet")
    wrong = json.loads(json.dumps(stateful))
    wrong["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["exec"]["commands"] = ["x"]
    with pytest.raises(kubernetes_validate.ValidationError, match="commands"):
        kubernetes_validate.validate(wrong, KUBERNETES[-1], strict=True)


def of_kind(kind: str) -> dict[str, Any]:
    (found,) = (each for each in MANIFESTS if each["kind"] == kind)
    return found


def test_the_manifests_fit_together() -> None:
    """Names, ports and mounts that no schema compares."""
    service, stateful, budget = of_kind("Service"), of_kind("StatefulSet"), of_kind("PodDisruptionBudget")
    config = tomllib.loads(of_kind("ConfigMap")["data"]["cluster.toml"])
    spec = stateful["spec"]
    assert spec["serviceName"] == service["metadata"]["name"]
    names = [f"{stateful['metadata']['name']}-{number}" for number in range(spec["replicas"])]
    assert list(config["nodes"]) == names
    for name, node in config["nodes"].items():
        assert node["address"].split(":")[0] == f"{name}.{service['metadata']['name']}"
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert len(names) - budget["spec"]["maxUnavailable"] > len(names) // 2
    for workload in (stateful, of_kind("DaemonSet")):
        pod = workload["spec"]["template"]["spec"]
        claims = [each["metadata"]["name"] for each in workload["spec"].get("volumeClaimTemplates", [])]
        volumes = [each["name"] for each in pod["volumes"]] + claims
        for container in [*pod["containers"], *pod.get("initContainers", [])]:
            assert {each["name"] for each in container["volumeMounts"]} <= set(volumes)
        (node,) = pod["containers"]
        mounts = [each["mountPath"] for each in node["volumeMounts"]]
        for path in (config["control"], config["data_dir"], config["secret_file"]):
            assert any(Path(path).is_relative_to(mount) for mount in mounts), path
        ports = {each["name"]: each["containerPort"] for each in node["ports"]}
        assert ports["metrics"] == int(config["metrics"].split(":")[1])
        assert all(node["listen"].endswith(f":{ports['nodes']}") for node in config["nodes"].values())
        assert workload["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"] == str(
            ports["metrics"]
        )
    for port in service["spec"]["ports"]:
        assert port["port"] == ports[port["targetPort"]]


COMPOSE = DEPLOY / "compose" / "compose.yaml"


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return found


def read_strictly(text: str) -> None:
    options = PyOptions(apply_merge=True)
    options.from_yaml(text).validate()


def test_the_compose_file_is_as_specified() -> None:
    read_strictly(COMPOSE.read_text())
    with pytest.raises(ValueError, match="healthchecks"):
        read_strictly(COMPOSE.read_text().replace("healthcheck:", "healthchecks:"))


def test_the_compose_file_fits_its_configuration() -> None:
    found = compose()
    config = parse((DEPLOY / "compose" / "cluster.toml").read_text(), DEPLOY / "compose" / "cluster.toml")
    assert list(found["services"]) == list(config.members) == list(found["volumes"])
    for name, service in found["services"].items():
        assert service["hostname"] == service["environment"]["SOLOIST_NODE"] == name
        assert config.member(name).address.split(":")[0] == name
        assert config.member(name).data_dir == Path(f"/var/lib/soloist/{name}")
        assert service["volumes"] == [f"{name}:/var/lib/soloist"]
        build = COMPOSE.parent / service["build"]["context"]
        assert build.resolve() == ROOT
        assert (build / service["build"]["dockerfile"]).is_file()


def test_the_image_has_what_it_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    for name in (name for name in copied if not name.startswith(("-", "/"))):
        assert (ROOT / name).exists(), name
    assert {project["readme"], *project["license-files"], "src", "pyproject.toml"} <= set(copied)
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert {f"!{name}" for name in copied if not name.startswith(("-", "/"))} <= set(ignored)
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", "\n".join(lines))
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()


def exported() -> set[str]:
    """All names under which a node with a lease and a peer shows something."""

    async def main() -> set[str]:
        async with memory_cluster("ab", lease=10) as (node, _):
            registry = CollectorRegistry()
            Metrics(node, registry)
            async with node.lock("x"), node.semaphore("s", 2):
                pass
            await eventually(lambda: node.beginning.lease_left() is not None, "it has a lease")
            return {sample.name for family in registry.collect() for sample in family.samples} | {
                f"{family.name}{end}"
                for family in registry.collect()
                for end in {"counter": ["_total"], "histogram": ["_bucket"]}.get(family.type, [])
            }

    return run(main())


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "grafana.json").read_text())
    return found


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bsoloist_\w+", expression))


def test_dashboard_and_alerts_ask_for_figures_that_exist() -> None:
    there = exported()
    asked = {
        *(name for rule in rules() for name in names_in(rule["expr"])),
        *(
            name
            for panel in dashboard()["panels"]
            for target in panel["targets"]
            for name in names_in(target["expr"])
        ),
        *(
            name
            for variable in dashboard()["templating"]["list"]
            for name in names_in(str(variable["query"]))
        ),
    }
    assert len(asked) > 20
    assert asked - there == set()


def test_every_figure_that_the_operators_page_lists_is_on_the_dashboard() -> None:
    page = (ROOT / "docs" / "operating.md").read_text().split("## What to watch")[1].split("\n## ")[0]
    shown = {
        name
        for panel in dashboard()["panels"]
        for target in panel["targets"]
        for name in names_in(target["expr"])
    }
    bare = {re.sub("_(total|bucket)$", "", name) for name in shown}
    assert {re.sub("_total$", "", name) for name in re.findall(r"`(soloist_\w+)", page)} - bare == set()


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for at in [panel["gridPos"]]
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_prometheus_takes_the_alerts() -> None:
    promtool = needs("promtool", "prometheus")
    found = done(promtool, "check", "rules", DEPLOY / "monitoring" / "alerts.yaml")
    assert found.returncode == 0, found.stderr
    assert f"{len(rules())} rules found" in found.stdout
