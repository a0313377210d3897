package wherrytest

import "testing"

const configMaps = "/api/v1/namespaces/default/configmaps"

type object = map[string]any

func TestMain(m *testing.M) { Main(m) }

func TestFresh(t *testing.T) {
	for _, turn := range []string{"first", "second"} {
		t.Run(turn, func(t *testing.T) {
			cluster := New(t)
			if code := cluster.Call("POST", configMaps, object{"metadata": object{"name": "same"}}, nil); code >= 300 {
				t.Fatalf("the create was answered with %d", code)
			}
		})
	}
}

func TestDeploymentsBecomeReady(t *testing.T) {
	cluster := New(t)
	labels := object{"app": "web"}
	pod := object{"metadata": object{"labels": labels}, "spec": object{"containers": []object{{"name": "web", "image": "nginx"}}}}
	cluster.Call("POST", "/apis/apps/v1/namespaces/default/deployments", object{
		"metadata": object{"name": "web"},
		"spec":     object{"replicas": 3, "selector": object{"matchLabels": labels}, "template": pod},
	}, nil)
	cluster.Settled()
	var web struct{ Status struct{ ReadyReplicas int } }
	cluster.Call("GET", "/apis/apps/v1/namespaces/default/deployments/web", nil, &web)
	if web.Status.ReadyReplicas != 3 {
		t.Fatalf("%d replicas are ready", web.Status.ReadyReplicas)
	}
}

func TestTimePasses(t *testing.T) {
	cluster := New(t)
	work := object{"restartPolicy": "Never", "containers": []object{{"name": "work", "image": "work"}}}
	cluster.Call("POST", "/apis/batch/v1/namespaces/default/jobs", object{
		"metadata": object{"name": "short"},
		"spec":     object{"ttlSecondsAfterFinished": 3600, "template": object{"spec": work}},
	}, nil)
	cluster.Settled()
	cluster.Advance("2h")
	if code := cluster.Call("GET", "/apis/batch/v1/namespaces/default/jobs/short", nil, nil); code != 404 {
		t.Fatalf("the job was answered with %d", code)
	}
}

func TestFaults(t *testing.T) {
	cluster := New(t)
	cluster.Fail(object{"verb": "create", "kind": "ConfigMap", "status": 503, "times": 1})
	for i, wanted := range []int{503, 200} {
		if code := cluster.Call("POST", configMaps, object{"metadata": object{"name": "one"}}, nil); code != wanted {
			t.Fatalf("create %d was answered with %d", i, code)
		}
	}
}
