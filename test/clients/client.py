"""The official Python client at work. Each function is something people do with it, and returns what it saw as JSON.

Usage: client.py NAME...      runs these, one line of JSON each; their input is one JSON object on standard input
       client.py candidate ID stands for election until it is ended, and says when it leads
"""

import datetime
import json
import re
import sys
import tempfile
import time
import traceback

import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic import exceptions
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock
from kubernetes.stream import portforward, stream

# Time limit for waiting for controllers.
WAIT_SECONDS = 20

NAMESPACE = "default"
BACKGROUND = {"propagation_policy": "Background"}


def plain(value):
    """A model as the JSON it stands for."""
    return client.ApiClient().sanitize_for_serialization(value)


def names(found):
    return sorted(item.metadata.name for item in found.items)


def until(fits, look):
    """Polls until the result fits; returns the last result in any case."""
    end = time.time() + WAIT_SECONDS
    while True:
        seen = look()
        if fits(seen) or time.time() > end:
            return seen
        time.sleep(0.1)


def failure(call, *args, **kwargs):
    """How a call fails: status, reason, and the Status object."""
    try:
        call(*args, **kwargs)
    except ApiException as error:
        return {"status": error.status, "reason": error.reason, "body": json.loads(error.body)}
    return None


def at(document, pointer):
    for step in pointer.split("/")[1:]:
        document = document[int(step) if isinstance(document, list) else step]
    return document


def put_at(document, pointer, value):
    *steps, last = pointer.split("/")[1:]
    for step in steps:
        document = document[int(step)] if isinstance(document, list) else document.setdefault(step, {})
    document[int(last) if isinstance(document, list) else last] = value


class Calls:
    """The generated calls of one kind."""

    def __init__(self, row):
        self.api = getattr(client, row["api"])()
        # An abbreviation is one word: CSIDriver is csi_driver.
        stem = re.sub(r"(?<!^)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", row["kind"]).lower()
        self.stem = ("namespaced_" if row["namespace"] else "") + stem
        self.everywhere = f"list_{stem}_for_all_namespaces"
        self.scope = {"namespace": row["namespace"]} if row["namespace"] else {}

    def __call__(self, verb, content_type=None, **kwargs):
        if content_type:
            # There is no argument for it in this version of the client.
            self.api.api_client.select_header_content_type = lambda _: content_type
        try:
            return getattr(self.api, f"{verb}_{self.stem}")(**self.scope, **kwargs)
        finally:
            self.api.api_client.__dict__.pop("select_header_content_type", None)


def kinds(given):
    """Every verb on every kind of a table."""
    return {row["title"]: attempt(whole_life, row) for row in given["kinds"]}


def attempt(run, given):
    """What a function returns, or how it failed."""
    try:
        return {"result": run(given)}
    except Exception:
        return {"error": traceback.format_exc()}


def whole_life(row):
    call, pointer, value = Calls(row), row["edit"]["pointer"], row["edit"]["value"]

    def manifest(name):
        text = json.dumps(row["manifest"])
        return json.loads(text.replace("NAME", name))

    def finalizers(kind, wanted):
        body = {"metadata": {"finalizers": wanted}}
        patched = call("patch", content_type=kind, name="python-a", body=body)
        return sorted(one for one in patched.metadata.finalizers or [] if one.startswith("example.com/"))

    made = call("create", body=manifest("python-a"))
    seen = {
        "same": call("read", name="python-a") == made,
        "born": isinstance(made.metadata.creation_timestamp, datetime.datetime),
    }
    call("create", body=manifest("python-b"))
    call("create", body=manifest("python-c"), dry_run="All")
    selector = "contract in (python-a, python-b, python-c)"
    seen["listed"] = names(call("list", label_selector=selector))
    first = call("list", label_selector=selector, limit=1)
    second = call("list", label_selector=selector, limit=1, _continue=first.metadata._continue)
    seen["paged"] = [names(first), names(second), second.metadata._continue]
    if row["namespace"]:
        everywhere = getattr(call.api, call.everywhere)
        seen["everywhere"] = names(everywhere(label_selector="contract=python-b"))
    patched = call("patch", name="python-a", body=[{"op": "add", "path": pointer, "value": value}])
    seen["json"] = at(plain(patched), pointer)
    # By default a body that is not a list is sent as a strategic patch.
    seen["strategic"] = [finalizers(None, ["example.com/a"]), finalizers(None, ["example.com/b"])]
    merge = "application/merge-patch+json"
    seen["merge"] = [finalizers(merge, ["example.com/c"]), finalizers(merge, None)]
    current = plain(call("read", name="python-b"))
    put_at(current, pointer, value)
    replaced = call("replace", name="python-b", body=current)
    seen["replaced"] = at(plain(replaced), pointer)
    put_at(current, "/metadata/labels/late", "yes")
    seen["late"] = failure(call, "replace", name="python-b", body=current)["body"]["reason"]
    call("delete", name="python-a", **BACKGROUND)
    left = lambda: names(call("list", label_selector=selector))
    seen["deleted"] = until(lambda found: len(found) < 2, left)
    if row["kind"] in ("Namespace", "Service"):
        # In the version this client was generated from, these are deleted one by one.
        call("delete", name="python-b")
    else:
        call("delete_collection", label_selector=selector, **BACKGROUND)
    seen["left"] = until(lambda found: not found, left)
    seen["missing"] = failure(call, "read", name="python-a")["status"]
    return seen


def objects(_):
    """Models instead of dictionaries, calls on threads, and what failures look like."""
    core = client.CoreV1Api()
    metadata = client.V1ObjectMeta(name="models", labels={"made": "by-models"})
    container = client.V1Container(name="web", image="registry.example/web:1", image_pull_policy="Never")
    # No scheduler has this name, so the pod stays pending.
    spec = client.V1PodSpec(containers=[container], scheduler_name="nobody")
    pod = core.create_namespaced_pod(NAMESPACE, client.V1Pod(metadata=metadata, spec=spec))
    pod.spec.containers[0].image = "registry.example/web:2"
    replaced = core.replace_namespaced_pod("models", NAMESPACE, pod)
    thread = core.list_namespaced_pod(NAMESPACE, label_selector="made=by-models", async_req=True)
    renewed = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)
    lease = client.V1Lease(
        metadata=client.V1ObjectMeta(name="models"), spec=client.V1LeaseSpec(renew_time=renewed)
    )
    kept = client.CoordinationV1Api().create_namespaced_lease(NAMESPACE, lease)
    return {
        "image": replaced.spec.containers[0].image,
        "async": names(thread.get()),
        "renewed": kept.spec.renew_time == renewed,
        "deleted": core.delete_namespaced_pod("models", NAMESPACE, grace_period_seconds=0).kind,
        "missing": failure(core.read_namespaced_pod, "models", NAMESPACE),
        "invalid": failure(
            core.create_namespaced_pod, NAMESPACE, {"metadata": {"name": "A"}, "spec": {"containers": []}}
        ),
        "version": client.VersionApi().get_code().git_version,
        "groups": [group.name for group in client.ApisApi().get_api_versions().groups],
        "resources": [one.name for one in core.get_api_resources().resources],
    }


def watches(_):
    core = client.CoreV1Api()
    version = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def config_map(name, **more):
        return {"metadata": {"name": name, "labels": {"watched": "yes"}}, **more}

    core.create_namespaced_config_map(NAMESPACE, config_map("watched"))
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "unwatched"}})
    core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"a": "1"}})
    core.delete_namespaced_config_map("watched", NAMESPACE)

    def stream_events(watcher, **kwargs):
        return watcher.stream(
            core.list_namespaced_config_map, NAMESPACE, label_selector="watched=yes", **kwargs
        )

    timed = [
        [event["type"], event["object"].metadata.name, (event["object"].data or {}).get("a")]
        for event in stream_events(watch.Watch(), resource_version=version, timeout_seconds=1)
    ]
    # Without a timeout, a watch runs until it is stopped; the client reconnects when the server ends it.
    watcher, stopped = watch.Watch(), []
    for event in stream_events(watcher, resource_version=version):
        stopped.append(event["type"])
        if len(stopped) == 3:
            watcher.stop()

    def expire():
        try:
            for _ in stream_events(watch.Watch(), resource_version="1", timeout_seconds=1):
                pass
        except ApiException as error:
            return [error.status, error.reason.split(":")[0]]
        return None

    return {"timed": timed, "stopped": stopped, "expired": until(lambda found: found, expire)}


def dynamic_client(_):
    made = dynamic.DynamicClient(client.ApiClient(), cache_file=tempfile.mktemp())
    config_maps = made.resources.get(api_version="v1", kind="ConfigMap")
    version = config_maps.get(namespace=NAMESPACE).metadata.resourceVersion
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "dynamic"}, "data": {"a": "1"}}
    created = config_maps.create(body=body, namespace=NAMESPACE)
    read = config_maps.get(name="dynamic", namespace=NAMESPACE)
    where = {"name": "dynamic", "namespace": NAMESPACE}
    strategic = config_maps.patch(body={"metadata": {"name": "dynamic"}, "data": {"b": "2"}}, namespace=NAMESPACE)
    merge = config_maps.patch(body={"data": {"a": None}}, content_type="application/merge-patch+json", **where)
    json_patch = [{"op": "replace", "path": "/data/b", "value": "3"}]
    patched = config_maps.patch(body=json_patch, content_type="application/json-patch+json", **where)
    again = patched.to_dict()
    again["data"] = {"c": "4"}
    replaced = config_maps.replace(body=again, namespace=NAMESPACE)
    deleted = config_maps.delete(**where)
    events = config_maps.watch(namespace=NAMESPACE, name=None, resource_version=version, timeout=1)
    try:
        config_maps.get(**where)
        missing = None
    except exceptions.NotFoundError as error:
        missing = [error.status, error.summary()]
    controllers = made.resources.get(api_version="v1", kind="ReplicationController")
    labels = {"app": "dynamic"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "x"}]}}
    controllers.create(
        body={"metadata": {"name": "dynamic"}, "spec": {"replicas": 0, "selector": labels, "template": template}},
        namespace=NAMESPACE,
    )
    controllers.scale.patch(body={"spec": {"replicas": 0}}, **where)
    scale = controllers.scale.get(**where)
    jobs = made.resources.get(api_version="batch/v1", kind="Job")
    return {
        "created": created.to_dict()["data"],
        "same": created.metadata.uid == read.metadata.uid,
        "strategic": strategic.to_dict()["data"],
        "merge": merge.to_dict()["data"],
        "json": patched.to_dict()["data"],
        "replaced": replaced.to_dict()["data"],
        "deleted": deleted.status,
        "events": [event["type"] for event in events if event["object"].metadata.name == "dynamic"],
        "missing": missing,
        "scale": [scale.kind, scale.apiVersion, scale.status.selector],
        "job": [jobs.name, jobs.namespaced, jobs.singular_name],
        "short": made.resources.search(short_names=["cm"])[0].kind,
        "version": made.version["kubernetes"]["gitVersion"],
        "kinds": sorted(
            {one.kind for one in made.resources.search(api_version="v1") if not one.kind.endswith("List")}
        ),
    }


def applies(_):
    made = dynamic.DynamicClient(client.ApiClient(), cache_file=tempfile.mktemp())
    config_maps = made.resources.get(api_version="v1", kind="ConfigMap")

    def apply(manager, data, **more):
        # As text: this version of the library does not write YAML, and JSON is YAML, too.
        body = json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "applied"}, "data": data})
        where = {"name": "applied", "namespace": NAMESPACE}
        return config_maps.server_side_apply(body=body, field_manager=manager, **where, **more).to_dict()

    first = apply("alice", {"a": "1"})
    try:
        apply("bob", {"a": "2"})
        conflict = None
    except exceptions.ConflictError as error:
        conflict = [error.status, error.summary()]
    forced = apply("bob", {"a": "2"}, force_conflicts=True)
    return {
        "first": first["data"],
        "conflict": conflict,
        "forced": forced["data"],
        "owners": [[entry["manager"], entry["operation"]] for entry in forced["metadata"]["managedFields"]],
    }


def yaml_files(_):
    """A file of several documents, one of them a list, and the same again."""
    meta = lambda name: {"name": name, "labels": {"made": "by-yaml"}}
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": meta("by-yaml")},
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("a"), "data": {"a": "1"}},
                {"apiVersion": "v1", "kind": "Service", "metadata": meta("b"), "spec": {"ports": [{"port": 80}]}},
            ],
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": meta("c"),
            "spec": {
                "suspend": True,
                "template": {
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "web", "image": "x"}]}
                },
            },
        },
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump_all(documents, file)
        file.flush()
        made = utils.create_from_yaml(client.ApiClient(), file.name, namespace="by-yaml")
        try:
            utils.create_from_yaml(client.ApiClient(), file.name, namespace="by-yaml")
            again = None
        except utils.FailToCreateError as error:
            again = [one.status for one in error.api_exceptions]
    return {
        "made": [[one.kind, one.metadata.namespace, one.metadata.name] for some in made for one in some],
        "again": again,
    }


def streams(given):
    """Into running pods: exec, attach, port-forward, and the log line by line."""
    core, pod = client.CoreV1Api(), given["pod"]
    connect = core.connect_get_namespaced_pod_exec
    how = {"stderr": True, "stdin": False, "stdout": True, "tty": False}
    output = stream(connect, pod, NAMESPACE, command=["sh", "-c", "echo out; echo err >&2"], **how)
    failed = stream(
        connect, pod, NAMESPACE, command=["sh", "-c", "echo no >&2; exit 7"], _preload_content=False, **how
    )
    failed.run_forever(timeout=WAIT_SECONDS)
    how["stdin"] = True
    script = "read word; echo heard $word; read code; exit $code"
    shell = stream(connect, pod, NAMESPACE, command=["sh", "-c", script], _preload_content=False, **how)
    shell.write_stdin("something\n")
    heard = shell.readline_stdout(timeout=WAIT_SECONDS)
    shell.write_stdin("3\n")
    shell.run_forever(timeout=WAIT_SECONDS)
    attached = stream(core.connect_get_namespaced_pod_attach, given["talker"], NAMESPACE, _preload_content=False, **how)
    attached.write_stdin("hello\n")
    echoed = attached.readline_stdout(timeout=WAIT_SECONDS)
    attached.close()
    follow = watch.Watch()
    lines = []
    for line in follow.stream(core.read_namespaced_pod_log, given["talker"], NAMESPACE):
        lines.append(line)
        if len(lines) == 2:
            follow.stop()
    port = given["port"]
    forward = portforward(core.connect_get_namespaced_pod_portforward, pod, NAMESPACE, ports=str(port))
    line, wire = forward.socket(port), b""
    line.settimeout(WAIT_SECONDS)
    line.sendall(b"echo\nover the wire")
    while len(wire) < len("over the wire"):
        wire += line.recv(1024)
    line.close()
    return {
        "output": sorted(output.split()),
        "failed": [failed.returncode, failed.read_all()],
        "shell": [heard, shell.returncode],
        "attached": echoed,
        "lines": lines,
        "wire": wire.decode(),
        "wire_error": forward.error(port),
        "log": core.read_namespaced_pod_log(given["talker"], NAMESPACE, tail_lines=1),
    }


def candidate(identity):
    """Stands for election until the process is ended."""
    lock = ConfigMapLock("python-leader", NAMESPACE, identity)
    say = lambda word: print(word, flush=True)
    leaderelection.LeaderElection(
        electionconfig.Config(
            lock,
            lease_duration=3,
            renew_deadline=2,
            retry_period=1,
            onstarted_leading=lambda: say("leads"),
            onstopped_leading=lambda: say("led"),
        )
    ).run()


def main(wanted):
    config.load_kube_config()
    if wanted[0] == "candidate":
        return candidate(wanted[1])
    given = json.load(sys.stdin)
    for name in wanted:
        print(json.dumps({"name": name, **attempt(globals()[name], given)}), flush=True)


main(sys.argv[1:])
