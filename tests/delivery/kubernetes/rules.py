"""What an API server, a kubelet or our own promises ask of the manifests beyond types.

Each rule takes the rendered objects and yields its complaints. `RULES` has all.
"""

import inspect
import json
import re
from collections import Counter

from manifests import SOURCE, containers_of, of_kind, option_of, the

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]([a-z0-9]|-(?!-))*(?<!-)")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
LABELS_OF_ALL = {f"app.kubernetes.io/{each}" for each in ("name", "component", "part-of", "version")}

HOST_PATHS = {"/sys", "/var/log/containers"}
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
CLUSTER_SCOPED = ("Namespace", "ClusterRole", "ClusterRoleBinding")
# `kubectl apply` keeps a copy of the object in an annotation, and all annotations have this limit.
MAX_ANNOTATIONS = 256 * 1024
# Rates over five minutes need a few samples in them.
MAX_INTERVAL = 75
VIRTUAL_NODES = [
    {"key": "type", "operator": "NotIn", "values": ["virtual-kubelet"]},
    {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["fargate"]},
]


def daemon_set(objects):
    return the(objects, "DaemonSet")["spec"]


def template(objects):
    return daemon_set(objects)["template"]


def pod(objects):
    return template(objects)["spec"]


def exporter(objects):
    return pod(objects)["containers"][0]


def mounted_config_maps(objects):
    names = {each["configMap"]["name"] for each in pod(objects)["volumes"] if "configMap" in each}
    return [each for each in of_kind(objects, "ConfigMap") if each["metadata"]["name"] in names]


def dashboards(objects):
    return [each for each in of_kind(objects, "ConfigMap")
            if "dashboard" in each["metadata"]["name"]]


def endpoints(objects):
    return [endpoint for each in of_kind(objects, "PodMonitor")
            for endpoint in each["spec"]["podMetricsEndpoints"]]


def port_of(probe):
    return probe.get("httpGet", {}).get("port")


def named_ports(objects):
    return {port["name"]: port["containerPort"] for each in containers_of(pod(objects))
            for port in each.get("ports", [])}


# --- names and labels -----------------------------------------------------------------------------


def names_are_dns_labels(objects):
    names = [each["metadata"]["name"] for each in objects]
    names += [each["name"] for each in containers_of(pod(objects)) + pod(objects)["volumes"]]
    for name in names:
        if not DNS_LABEL.fullmatch(name) or len(name) > 63:
            yield f"{name!r} is no name of at most 63 of a-z, 0-9 and '-'"


def port_names_are_short(objects):
    names = list(named_ports(objects))
    names += [port["name"] for each in of_kind(objects, "Service") for port in each["spec"]["ports"]]
    for name in names:
        if not PORT_NAME.fullmatch(name) or len(name) > 15:
            yield f"{name!r} is no name of a port"


def label_values_are_short(objects):
    labels = [each["metadata"].get("labels", {}) for each in objects]
    for each in [*labels, template(objects)["metadata"]["labels"]]:
        for key, value in each.items():
            if not LABEL_VALUE.fullmatch(value) or len(value) > 63:
                yield f"{key}: {value!r} is no value of a label"


def all_have_the_recommended_labels(objects):
    generated = ("ConfigMap", "Namespace")
    whole = [each["metadata"].get("labels", {}) for each in objects if each["kind"] not in generated]
    for labels in [*whole, template(objects)["metadata"]["labels"]]:
        if not LABELS_OF_ALL <= set(labels):
            yield f"lacks {sorted(LABELS_OF_ALL - set(labels))}"


def selectors_find_the_pods(objects):
    selectors = [daemon_set(objects)["selector"]["matchLabels"]]
    selectors += [each["spec"]["selector"] for each in of_kind(objects, "Service")]
    selectors += [each["spec"]["selector"]["matchLabels"] for each in of_kind(objects, "PodMonitor")]
    selectors += [each["spec"]["podSelector"]["matchLabels"]
                  for each in of_kind(objects, "NetworkPolicy")]
    labels = template(objects)["metadata"]["labels"]
    for selector in selectors:
        if not selector or not selector.items() <= labels.items():
            yield f"{selector} does not select pods with {labels}"


# --- what refers to something else ----------------------------------------------------------------


def ports_are_those_of_the_container(objects):
    wanted = [port_of(exporter(objects)[probe]) for probe in PROBES]
    wanted += [port["targetPort"] for each in of_kind(objects, "Service")
               for port in each["spec"]["ports"]]
    wanted += [endpoint["port"] for endpoint in endpoints(objects)]
    wanted += [port["port"] for each in of_kind(objects, "NetworkPolicy")
               for rule in each["spec"]["ingress"] for port in rule["ports"]]
    for port in wanted:
        if port not in named_ports(objects):
            yield f"no container has a port {port!r}"


def mounts_have_volumes_and_volumes_mounts(objects):
    volumes = [each["name"] for each in pod(objects)["volumes"]]
    mounts = [mount["name"] for each in containers_of(pod(objects))
              for mount in each["volumeMounts"]]
    if set(volumes) != set(mounts) or len(set(volumes)) != len(volumes):
        yield f"volumes {sorted(volumes)}, mounted are {sorted(mounts)}"


def the_configuration_is_where_the_option_says(objects):
    path = option_of(exporter(objects), "--config.file")
    places = []
    for mount in exporter(objects)["volumeMounts"]:
        volume = next(each for each in pod(objects)["volumes"] if each["name"] == mount["name"])
        name = volume.get("configMap", {}).get("name")
        places += [f"{mount['mountPath']}/{key}" for each in of_kind(objects, "ConfigMap")
                   if each["metadata"]["name"] == name for key in each["data"]]
    if path not in places:
        yield f"{path} is none of {places}"


def a_changed_configuration_is_rolled_out(objects):
    if "checksum/config" in template(objects)["metadata"]["annotations"]:
        return  # of the chart, whose test compares checksums
    for each in mounted_config_maps(objects):
        if not re.search(r"-[a-z0-9]{10}$", each["metadata"]["name"]):
            yield f"no hash in the name {each['metadata']['name']}"


def the_hosts_sysfs_is_where_the_option_says(objects):
    volumes = {each["name"]: each for each in pod(objects)["volumes"]}
    at = {mount["mountPath"]: volumes[mount["name"]].get("hostPath", {}).get("path")
          for mount in exporter(objects)["volumeMounts"]}
    sysfs = option_of(exporter(objects), "--path.sysfs")
    if at.get(sysfs) != "/sys":
        yield f"{sysfs} is not the node's /sys"


def all_are_in_the_same_namespace(objects):
    found = {each["metadata"].get("namespace") for each in objects
             if each["kind"] not in CLUSTER_SCOPED}
    found |= {each["metadata"]["name"] for each in of_kind(objects, "Namespace")}
    if len(found) != 1:
        yield f"in several namespaces: {found}"


# --- what it may do -------------------------------------------------------------------------------


def host_paths_are_few_and_read_only(objects):
    paths = {each["name"]: each["hostPath"]["path"] for each in pod(objects)["volumes"]
             if "hostPath" in each}
    if not set(paths.values()) <= HOST_PATHS:
        yield f"mounts {sorted(set(paths.values()) - HOST_PATHS)}"
    empty = {each["name"] for each in pod(objects)["volumes"] if "emptyDir" in each}
    for each in containers_of(pod(objects)):
        for mount in each["volumeMounts"]:
            if not mount.get("readOnly") and mount["name"] not in empty:
                yield f"{mount['mountPath']} can be written to"


def the_state_is_where_the_image_says_and_outlives_a_stop_of_the_node(objects):
    """An emptyDir on the disk of the node is as old as the pod, one in memory is gone with the node."""
    state = re.search(r"^ENV STATE_DIRECTORY=(.*)$", (SOURCE / "Dockerfile").read_text(), re.M)[1]
    paths = {mount["name"]: mount["mountPath"] for mount in exporter(objects)["volumeMounts"]}
    found = {paths[each["name"]]: each["emptyDir"] for each in pod(objects)["volumes"]
             if "emptyDir" in each}
    if found != {state: {"sizeLimit": "1Mi"}}:
        yield f"the state is in {state}, and can be written to {found}"


def what_is_read_only_recursively_may_be(objects):
    """An API server refuses other mounts."""
    for each in containers_of(pod(objects)):
        for mount in each["volumeMounts"]:
            if "recursiveReadOnly" in mount and (
                    not mount.get("readOnly") or mount.get("mountPropagation", "None") != "None"):
                yield f"{mount['mountPath']}: recursiveReadOnly with {mount}"


def only_prometheus_may_connect(objects):
    for each in of_kind(objects, "NetworkPolicy"):
        spec = each["spec"]
        if set(spec["policyTypes"]) != {"Ingress", "Egress"} or spec.get("egress"):
            yield "the exporter may connect to others"
        for rule in spec["ingress"]:
            for peer in rule.get("from") or [{}]:
                if not {"namespaceSelector", "podSelector"} <= peer.keys():
                    yield f"clients may be {peer}"
            if not rule.get("ports"):
                yield "every port is open"


def rights_are_those_to_discover(objects):
    roles = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in objects
             if each["kind"] in ("Role", "ClusterRole")}
    bound = {(each["roleRef"]["kind"], each["roleRef"]["name"]) for each in objects
             if each["kind"] in ("RoleBinding", "ClusterRoleBinding")}
    if bound != set(roles):
        yield f"roles {sorted(roles)}, bound are {sorted(bound)}"
    for (kind, _), (rule, *more) in roles.items():
        wanted = ["pods"] if kind == "Role" else ["nodes"]
        if more or rule != {"apiGroups": [""], "resources": wanted, "verbs": ["get", "list", "watch"]}:
            yield f"{kind}: {[rule, *more]}"
    for each in objects:
        for subject in each.get("subjects", []):
            if subject != {"kind": "ServiceAccount", "name": "prometheus-k8s",
                           "namespace": "monitoring"}:
                yield f"{each['kind']} is for {subject}"


# --- what it takes --------------------------------------------------------------------------------


# What is so in all of them -> what is found, and what is wanted.
SETTINGS = {
    "every node may be used": (lambda objects: pod(objects)["tolerations"], [{"operator": "Exists"}]),
    "it is critical": (lambda objects: pod(objects)["priorityClassName"], "system-node-critical"),
    "nodes have Linux": (lambda objects: pod(objects)["nodeSelector"], {"kubernetes.io/os": "linux"}),
    "virtual nodes are left out": (
        lambda objects: pod(objects)["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"],
        [{"matchExpressions": VIRTUAL_NODES}]),
    "a rollout leaves most nodes counted": (
        lambda objects: daemon_set(objects)["updateStrategy"],
        {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}),
    "it runs as nobody": (
        lambda objects: {key: pod(objects)["securityContext"].get(key)
                         for key in ("runAsNonRoot", "runAsUser", "runAsGroup")},
        {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534}),
    "a container has one capability": (
        lambda objects: [each["securityContext"] for each in containers_of(pod(objects))],
        [{"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
          "capabilities": {"drop": ["ALL"], "add": ["PERFMON"]}}]),
    "no token is mounted": (
        lambda objects: {each.get("automountServiceAccountToken")
                         for each in [pod(objects), *of_kind(objects, "ServiceAccount")]}, {False}),
    "nothing of the host is shared but its files": (
        lambda objects: [key for key in ("hostPID", "hostIPC", "hostNetwork", "shareProcessNamespace")
                         if pod(objects).get(key)], []),
    "a selector outlives a version, as it can never be changed": (
        lambda objects: "app.kubernetes.io/version" in daemon_set(objects)["selector"]["matchLabels"], False),
    "the namespace admits CAP_PERFMON and hostPath": (
        lambda objects: [each for each in of_kind(objects, "Namespace") if each["metadata"]["labels"].get(
            "pod-security.kubernetes.io/enforce") != "privileged"], []),
    "seccomp is on": (
        lambda objects: pod(objects)["securityContext"].get("seccompProfile", {}).get("type") in (
            "RuntimeDefault", "Localhost"), True),
    "memory has a limit and time has none": (
        lambda objects: [each["resources"] for each in containers_of(pod(objects))
                         if set(each["resources"]["limits"]) != {"memory"}
                         or set(each["resources"]["requests"]) != {"cpu", "memory"}], []),
    "a slow start is no failure": (
        lambda objects: exporter(objects)["startupProbe"]["periodSeconds"]
        * exporter(objects)["startupProbe"]["failureThreshold"] >= 60, True),
    "no path is mounted twice": (
        lambda objects: [path for path, times in Counter(
            mount["mountPath"] for mount in exporter(objects)["volumeMounts"]).items() if times > 1], []),
    "each ConfigMap that is mounted is there": (
        lambda objects: {each["configMap"]["name"] for each in pod(objects)["volumes"] if "configMap" in each}
        - {each["metadata"]["name"] for each in of_kind(objects, "ConfigMap")}, set()),
    "the ServiceAccount is there": (
        lambda objects: pod(objects)["serviceAccountName"] in [
            each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")], True),
    "an instance is a node": (
        lambda objects: [endpoint for endpoint in endpoints(objects) if {"instance", "node"} != {
            rule["targetLabel"] for rule in endpoint["relabelings"]
            if rule.get("sourceLabels") == ["__meta_kubernetes_pod_node_name"]}], []),
    # The kernel looks for CAP_PERFMON in the first user namespace.
    "user namespaces stay off": (lambda objects: pod(objects).get("hostUsers") is False, False),
    "no port is the host's": (
        lambda objects: [port for each in containers_of(pod(objects)) for port in each.get("ports", [])
                         if "hostPort" in port], []),
    "each node is scraped by itself": (
        lambda objects: [each for each in of_kind(objects, "Service")
                         if each["spec"].get("clusterIP") != "None"], []),
    "labels of what is counted are kept": (
        lambda objects: [each for each in endpoints(objects) if not each.get("honorLabels")], []),
}


def settings_are_as_wanted(objects):
    for name, (found, wanted) in SETTINGS.items():
        if found(objects) != wanted:
            yield f"not so that {name}: {found(objects)}"


# --- Prometheus -----------------------------------------------------------------------------------


def rates_have_enough_samples(objects):
    for endpoint in endpoints(objects):
        interval, timeout = (int(endpoint[key].removesuffix("s"))
                             for key in ("interval", "scrapeTimeout"))
        if not timeout <= interval <= MAX_INTERVAL:
            yield f"scraped every {interval} s with a timeout of {timeout} s"


def labels_of_nodes_are_attached(objects):
    """Prometheus has __meta_kubernetes_node_* of a pod only where the PodMonitor wants them."""
    for each in of_kind(objects, "PodMonitor"):
        used = [name for endpoint in endpoints(objects) for rule in endpoint["relabelings"]
                for name in rule.get("sourceLabels", []) if "kubernetes_node_label" in name]
        if bool(used) != each["spec"].get("attachMetadata", {}).get("node", False):
            yield f"labels of nodes {used}, attached is {each['spec'].get('attachMetadata')}"


def dashboards_are_found_and_fit(objects):
    for each in dashboards(objects):
        if each["metadata"].get("labels", {}).get("grafana_dashboard") != "1":
            yield f"Grafana does not find {each['metadata']['name']}"
        if len(json.dumps(each)) > MAX_ANNOTATIONS:
            yield f"kubectl cannot apply {each['metadata']['name']}"


RULES = [each for each in list(globals().values()) if inspect.isgeneratorfunction(each)]
