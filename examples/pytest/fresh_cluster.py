"""A Wherry cluster for pytest: one server for the run, a fresh state for every test. Needs Python 3.9, and nothing else.

    from fresh_cluster import wherry, running_server  # in conftest.py

A test that takes `wherry` gets a `Cluster`. `WHERRY` names the command, default `wherry`.
"""

import json
import os
import shlex
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest


class Cluster:
    """The API of a cluster, and its test kit."""

    def __init__(self, url, kubeconfig):
        self.url = url
        self.kubeconfig = kubeconfig

    def call(self, method, path, body=None):
        """Sends a request to the API and returns the answer; raises `urllib.error.HTTPError`."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def kit(self, method, path, body=None):
        return self.call(method, "/wherry/testing/" + path, body)

    def reset(self):
        """Back to the state after the start."""
        self.kit("POST", "reset")

    def settled(self, timeout_ms=60_000):
        """Waits until the controllers and nodes have nothing left to do."""
        self.kit("GET", f"settled?timeoutMs={timeout_ms}")

    def advance(self, duration):
        """Moves the clock, and does what is due in between: `10m`, `1h30m`."""
        self.kit("POST", "clock", {"advance": duration})

    def fail(self, **rule):
        """Makes requests fail: `fail(verb="create", kind="Pod", status=503, times=1)`."""
        return self.kit("POST", "faults", rule)

    def requests(self, **match):
        """The requests so far that match: `requests(verb="create")`."""
        return self.kit("GET", "requests?" + urllib.parse.urlencode(match))


@pytest.fixture(scope="session")
def running_server(tmp_path_factory):
    """A server with two simulated nodes, for the whole run."""
    folder = tmp_path_factory.mktemp("wherry")
    command = shlex.split(os.environ.get("WHERRY", "wherry"))
    options = "up --in-memory --testing --port 0 --secure-port off --simulated-nodes 2 --config off"
    server = subprocess.Popen(command + options.split(), stdout=subprocess.PIPE, text=True, cwd=folder)
    url = None
    for line in server.stdout:
        if "Wherry is ready at " in line:
            url = line.split()[-1]
        if line.startswith("Try: "):
            break
    else:
        raise RuntimeError(f"wherry has ended with {server.wait()}")
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}],
        "current-context": "test",
    }))
    yield Cluster(url, str(kubeconfig))
    server.terminate()
    server.wait(timeout=60)
    server.stdout.close()


@pytest.fixture
def wherry(running_server, monkeypatch):
    """The cluster in its first state. Client libraries find it by KUBECONFIG."""
    running_server.reset()
    monkeypatch.setenv("KUBECONFIG", running_server.kubeconfig)
    return running_server
