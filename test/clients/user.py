"""The official Python client as one user, of the kubeconfig in the environment: each call with its result, or the code it
was refused with, as one JSON object. Its input is one JSON object on standard input.
"""

import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import portforward, stream

NAMESPACE = "default"
WAIT_SECONDS = 20


def list_pods(core, given):
    return sorted(pod.metadata.name for pod in core.list_namespaced_pod(NAMESPACE).items)


def watch_config_maps(core, given):
    name = given["name"]
    follow = watch.Watch()
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}})
    for event in follow.stream(
        core.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=WAIT_SECONDS
    ):
        if event["object"].metadata.name == name:
            follow.stop()
            return event["type"]
    return None


def run_command(core, given):
    how = {"stderr": True, "stdin": True, "stdout": True, "tty": False}
    shell = stream(
        core.connect_get_namespaced_pod_exec,
        "teller",
        NAMESPACE,
        command=["sh", "-c", "read word; echo heard $word; exit 3"],
        _preload_content=False,
        **how,
    )
    shell.write_stdin("something\n")
    heard = shell.readline_stdout(timeout=WAIT_SECONDS)
    shell.run_forever(timeout=WAIT_SECONDS)
    return [heard, shell.returncode]


def follow_log(core, given):
    follow = watch.Watch()
    lines = []
    for line in follow.stream(core.read_namespaced_pod_log, "teller", NAMESPACE):
        lines.append(line)
        if len(lines) == 3:
            follow.stop()
    return lines


def forward_port(core, given):
    port = given["port"]
    forward = portforward(core.connect_get_namespaced_pod_portforward, "server", NAMESPACE, ports=str(port))
    line, wire = forward.socket(port), b""
    line.settimeout(WAIT_SECONDS)
    line.sendall(b"echo\nover the wire")
    while len(wire) < len("over the wire"):
        wire += line.recv(1024)
    line.close()
    return wire.decode()


def attempt(call, *args):
    try:
        return call(*args)
    except ApiException as error:
        # Upgrades have no code of their own here: it is in the text.
        return error.status or str(error.reason)


def main():
    config.load_kube_config()
    given = json.load(sys.stdin)
    calls = [list_pods, watch_config_maps, run_command, follow_log, forward_port]
    print(json.dumps({call.__name__: attempt(call, client.CoreV1Api(), given) for call in calls}))


main()
