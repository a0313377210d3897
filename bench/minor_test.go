// The suite of test/clusters/every-minor.release.test.ts in Go, for programs that `wherry envtest` writes. It is built
// together with examples/go, which starts them; WHERRY_TABLES names versions.json, WHERRY_MINOR the minor.
package envtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"testing"
)

type interval struct {
	Since, Until string
	Served       []string
}

type resourceRow struct {
	interval
	Kind    string
	Default bool
}

type tables struct {
	GroupVersions map[string]struct {
		interval
		Resources map[string]resourceRow
	}
	Types map[string]map[string]struct{ Fields map[string]interval }
}

var (
	plane *ControlPlane
	admin *http.Client
	known tables
	minor int
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	text, err := os.ReadFile(os.Getenv("WHERRY_TABLES"))
	if err == nil {
		err = json.Unmarshal(text, &known)
	}
	minor = number(os.Getenv("WHERRY_MINOR"))
	if err == nil {
		plane, err = Start()
	}
	if err == nil {
		defer plane.Stop()
		admin, err = plane.Client("admin", "system:masters")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// number is 29 for 1.29.
func number(version string) (found int) {
	fmt.Sscanf(version, "1.%d", &found)
	return found
}

func (i interval) holds() bool {
	if len(i.Served) > 0 {
		return strings.Contains(strings.Join(i.Served, " ")+" ", fmt.Sprintf("1.%d ", minor))
	}
	return (i.Since == "" || number(i.Since) <= minor) && (i.Until == "" || number(i.Until) >= minor)
}

func path(apiVersion string) string {
	if apiVersion == "v1" {
		return "/api/v1"
	}
	return "/apis/" + apiVersion
}

// ask sends a request; the answer is decoded into found when it is JSON.
func ask(t *testing.T, method, path, body string, found any) (int, http.Header) {
	t.Helper()
	request, err := http.NewRequest(method, plane.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := admin.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if found != nil {
		_ = json.Unmarshal(text, found)
	}
	return answer.StatusCode, answer.Header
}

func TestVersion(t *testing.T) {
	var version struct{ Minor string }
	ask(t, "GET", "/version", "", &version)
	if version.Minor != fmt.Sprint(minor) {
		t.Fatalf("the server says that it is %s", version.Minor)
	}
}

// listed are the resources of a version, without their parts.
func listed(t *testing.T, apiVersion string) []string {
	var list struct{ Resources []struct{ Name string } }
	names := []string{}
	if status, _ := ask(t, "GET", path(apiVersion), "", &list); status != http.StatusOK {
		return names
	}
	for _, resource := range list.Resources {
		if !strings.Contains(resource.Name, "/") {
			names = append(names, resource.Name)
		}
	}
	sort.Strings(names)
	return names
}

func TestResources(t *testing.T) {
	for apiVersion, version := range known.GroupVersions {
		wanted := []string{}
		for name, row := range version.Resources {
			if version.holds() && row.holds() && row.Default {
				wanted = append(wanted, name)
			}
		}
		sort.Strings(wanted)
		if found := listed(t, apiVersion); fmt.Sprint(found) != fmt.Sprint(wanted) {
			t.Errorf("%s has %v, not %v", apiVersion, found, wanted)
		}
	}
}

func TestFields(t *testing.T) {
	var document struct {
		Definitions map[string]struct{ Properties map[string]any }
	}
	ask(t, "GET", "/openapi/v2", "", &document)
	shown := document.Definitions["io.k8s.api.core.v1.PodSpec"].Properties
	for field, row := range known.Types["v1"]["PodSpec"].Fields {
		if _, is := shown[field]; is != row.holds() {
			t.Errorf("%s is shown: %v", field, is)
		}
	}
}

func TestConversions(t *testing.T) {
	job := `"spec":{"schedule":"@hourly","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",` +
		`"containers":[{"name":"c","image":"i"}]}}}}}`
	for _, kind := range [][3]string{
		{"batch", "cronjobs", job},
		{"policy", "poddisruptionbudgets", `"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`},
		{"autoscaling", "horizontalpodautoscalers",
			`"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"}}`},
		{"discovery.k8s.io", "endpointslices", `"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.9"]}]`},
		{"storage.k8s.io", "csistoragecapacities", `"storageClassName":"s"`},
	} {
		convert(t, kind[0], kind[1], kind[2])
	}
}

// convert writes an object in each version of a resource, and reads it in each other.
func convert(t *testing.T, group, resource, rest string) {
	var versions []string
	for apiVersion := range known.GroupVersions {
		for _, name := range listed(t, apiVersion) {
			if strings.HasPrefix(apiVersion, group+"/") && name == resource {
				versions = append(versions, apiVersion)
			}
		}
	}
	if len(versions) == 0 {
		t.Errorf("%s has no %s", group, resource)
	}
	for _, written := range versions {
		kind := known.GroupVersions[written].Resources[resource].Kind
		name := "made-in-" + strings.Split(written, "/")[1]
		at := func(version string) string { return path(version) + "/namespaces/default/" + resource }
		object := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q},%s}`, kind, written, name, rest)
		if status, _ := ask(t, "POST", at(written), object, nil); status != http.StatusCreated {
			t.Errorf("%s %s is answered with %d", written, kind, status)
		}
		for _, version := range versions {
			var read struct{ APIVersion string }
			status, _ := ask(t, "GET", at(version)+"/"+name, "", &read)
			if status != http.StatusOK || read.APIVersion != version {
				t.Errorf("%s as %s is answered with %d, %s", written, version, status, read.APIVersion)
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	account := "/api/v1/namespaces/default/serviceaccounts"
	ask(t, "POST", account, `{"metadata":{"name":"default"}}`, nil)
	var pod struct{ Spec map[string]any }
	status, header := ask(t, "POST", "/api/v1/namespaces/default/pods",
		`{"metadata":{"name":"later"},"spec":{"containers":[{"name":"c","image":"i"}],`+
			`"automountServiceAccountToken":false,"notYet":true,"hostnameOverride":"h"}}`, &pod)
	warnings := 2
	if minor < 25 {
		warnings = 0
	} else if minor >= 34 {
		warnings = 1
	}
	if _, is := pod.Spec["hostnameOverride"]; status != http.StatusCreated || is != (minor >= 35) {
		t.Errorf("answered with %d, shown: %v", status, is)
	}
	if found := len(header.Values("Warning")); found != warnings {
		t.Errorf("%d warnings, not %d", found, warnings)
	}
}
