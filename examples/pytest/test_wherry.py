import urllib.error

import pytest

from fresh_cluster import wherry, running_server  # noqa: F401

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_has_a_fresh_cluster(wherry, turn):
    wherry.call("POST", CONFIG_MAPS, config_map("same"))
    assert wherry.requests(verb="create", kind="ConfigMap")["requests"] != []


def test_deployments_become_ready(wherry):
    labels = {"app": "web"}
    wherry.call("POST", "/apis/apps/v1/namespaces/default/deployments", {
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}},
        },
    })
    wherry.settled()
    web = wherry.call("GET", "/apis/apps/v1/namespaces/default/deployments/web")
    assert web["status"]["readyReplicas"] == 3


def test_time_passes_when_it_is_told_to(wherry):
    job = {"restartPolicy": "Never", "containers": [{"name": "work", "image": "work"}]}
    wherry.call("POST", "/apis/batch/v1/namespaces/default/jobs", {
        "metadata": {"name": "short"},
        "spec": {"ttlSecondsAfterFinished": 3600, "template": {"spec": job}},
    })
    wherry.settled()
    assert len(wherry.call("GET", "/apis/batch/v1/namespaces/default/jobs")["items"]) == 1
    wherry.advance("2h")
    assert wherry.call("GET", "/apis/batch/v1/namespaces/default/jobs")["items"] == []


def test_requests_fail_as_asked(wherry):
    wherry.fail(verb="create", kind="ConfigMap", status=503, times=1)
    with pytest.raises(urllib.error.HTTPError) as refused:
        wherry.call("POST", CONFIG_MAPS, config_map("first"))
    assert refused.value.code == 503
    wherry.call("POST", CONFIG_MAPS, config_map("second"))
