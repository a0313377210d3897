package envtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func TestConfigMap(t *testing.T) {
	plane, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Stop()
	admin, err := plane.Client("admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	configMaps := plane.URL + "/api/v1/namespaces/default/configmaps"

	watch, err := admin.Get(configMaps + "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()

	made, err := admin.Post(configMaps, "application/json", strings.NewReader(
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"color": "blue"}}`))
	if err != nil {
		t.Fatal(err)
	}
	made.Body.Close()
	if made.StatusCode != http.StatusCreated {
		t.Fatalf("the create was answered with %s", made.Status)
	}

	var event struct {
		Type   string
		Object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
	}
	for events := json.NewDecoder(watch.Body); event.Object.Metadata.Name != "settings"; {
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
	}
	if event.Type != "ADDED" || event.Object.Data["color"] != "blue" {
		t.Fatalf("the watch has seen %+v", event)
	}

	stranger, err := plane.Client("stranger")
	if err != nil {
		t.Fatal(err)
	}
	refused, err := stranger.Get(configMaps)
	if err != nil {
		t.Fatal(err)
	}
	refused.Body.Close()
	if refused.StatusCode != http.StatusForbidden {
		t.Fatalf("a stranger was answered with %s", refused.Status)
	}
}
