// Package wherrytest gives tests a cluster of Wherry: one server for a test binary, a fresh state for every test. It needs
// the standard library alone. WHERRY names the command, default "wherry".
package wherrytest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Cluster is the API of a cluster, and its test kit.
type Cluster struct {
	// URL is where the API answers.
	URL string
	// Kubeconfig is a file that client libraries read.
	Kubeconfig string
	t          testing.TB
}

type server struct {
	command *exec.Cmd
	folder  string
	url     string
}

var shared *server

// Main runs the tests of a package with a server: func TestMain(m *testing.M) { wherrytest.Main(m) }
func Main(m *testing.M) {
	var err error
	if shared, err = start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.command.Process.Signal(syscall.SIGTERM)
	shared.command.Wait()
	os.RemoveAll(shared.folder)
	os.Exit(code)
}

func start() (*server, error) {
	words := strings.Fields(os.Getenv("WHERRY"))
	if len(words) == 0 {
		words = []string{"wherry"}
	}
	folder, err := os.MkdirTemp("", "wherrytest-")
	if err != nil {
		return nil, err
	}
	options := strings.Fields("up --in-memory --testing --port 0 --secure-port off --simulated-nodes 2 --config off")
	command := exec.Command(words[0], append(words[1:], options...)...)
	command.Dir = folder
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	made := &server{command: command, folder: folder}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		if at := strings.Index(line, "Wherry is ready at "); at >= 0 {
			made.url = strings.TrimSpace(line[at+len("Wherry is ready at "):])
		}
		if strings.HasPrefix(line, "Try: ") {
			go io.Copy(io.Discard, output)
			return made, made.writeKubeconfig()
		}
	}
	return nil, fmt.Errorf("wherry has ended: %v", command.Wait())
}

func (s *server) writeKubeconfig() error {
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "test",
"clusters": [{"name": "test", "cluster": {"server": %q}}],
"contexts": [{"name": "test", "context": {"cluster": "test", "user": ""}}]}`, s.url)
	return os.WriteFile(filepath.Join(s.folder, "kubeconfig"), []byte(text), 0o600)
}

// New gives a test the cluster in its first state. Tests that use it do not run in parallel.
func New(t testing.TB) *Cluster {
	t.Helper()
	cluster := &Cluster{URL: shared.url, Kubeconfig: filepath.Join(shared.folder, "kubeconfig"), t: t}
	cluster.Reset()
	return cluster
}

// Call sends a request to the API, reads the answer into answer, if that is not nil, and returns the status.
func (c *Cluster) Call(method, path string, body, answer any) int {
	c.t.Helper()
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			c.t.Fatal(err)
		}
	}
	request, err := http.NewRequest(method, c.URL+path, &sent)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return response.StatusCode
}

func (c *Cluster) kit(method, path string, body any) {
	c.t.Helper()
	var answer json.RawMessage
	if code := c.Call(method, "/wherry/testing/"+path, body, &answer); code >= 300 {
		c.t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
}

// Reset brings back the state after the start.
func (c *Cluster) Reset() { c.t.Helper(); c.kit("POST", "reset", nil) }

// Settled waits until controllers and nodes have nothing left to do.
func (c *Cluster) Settled() { c.t.Helper(); c.kit("GET", "settled?timeoutMs=60000", nil) }

// Advance moves the clock, and does what is due in between: "10m", "1h30m".
func (c *Cluster) Advance(duration string) {
	c.t.Helper()
	c.kit("POST", "clock", map[string]string{"advance": duration})
}

// Fail makes requests fail: {"verb": "create", "kind": "Pod", "status": 503, "times": 1}.
func (c *Cluster) Fail(rule map[string]any) { c.t.Helper(); c.kit("POST", "faults", rule) }

// Requests reads the requests so far that match: {"verb": {"create"}}.
func (c *Cluster) Requests(match url.Values, answer any) {
	c.t.Helper()
	c.Call("GET", "/wherry/testing/requests?"+match.Encode(), nil, answer)
}
