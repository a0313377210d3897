// Package envtest starts etcd and kube-apiserver for a test, as controller-runtime's envtest does, on the standard
// library alone. The programs are those of the folder that KUBEBUILDER_ASSETS names.
package envtest

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

const startTimeout = 2 * time.Minute

// ControlPlane is an API server with its etcd.
type ControlPlane struct {
	URL      string
	folder   string
	serving  *authority
	clients  *authority
	programs []*exec.Cmd
}

// Start runs both programs, and returns when the API server is healthy.
func Start() (*ControlPlane, error) {
	folder, err := os.MkdirTemp("", "controlplane-")
	if err != nil {
		return nil, err
	}
	plane := &ControlPlane{folder: folder}
	if err := plane.start(); err != nil {
		plane.Stop()
		return nil, err
	}
	return plane, nil
}

func (p *ControlPlane) start() (err error) {
	if err = p.writeCertificates(); err != nil {
		return err
	}
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	etcdURL := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	etcd := []string{
		"--advertise-client-urls=" + etcdURL,
		"--data-dir=" + filepath.Join(p.folder, "data"),
		"--listen-client-urls=" + etcdURL,
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", ports[1]),
	}
	if hasFlag("etcd", "unsafe-no-fsync") {
		etcd = append(etcd, "--unsafe-no-fsync=true")
	}
	if err = p.run("etcd", etcd, etcdURL+"/health"); err != nil {
		return err
	}
	p.URL = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	server := []string{
		"--allow-privileged=true",
		"--authorization-mode=RBAC",
		"--bind-address=127.0.0.1",
		"--cert-dir=" + p.folder,
		"--client-ca-file=" + p.file("client-cert-auth-ca.crt"),
		"--disable-admission-plugins=ServiceAccount",
		"--etcd-servers=" + etcdURL,
		fmt.Sprintf("--secure-port=%d", ports[2]),
		"--service-account-issuer=" + p.URL + "/",
		"--service-account-key-file=" + p.file("sa-signer.crt"),
		"--service-account-signing-key-file=" + p.file("sa-signer.key"),
		"--service-cluster-ip-range=10.0.0.0/24",
	}
	if hasFlag("kube-apiserver", "insecure-port") {
		server = append(server, "--insecure-port=0")
	}
	return p.run("kube-apiserver", server, p.URL+"/healthz")
}

func (p *ControlPlane) file(name string) string { return filepath.Join(p.folder, name) }

func (p *ControlPlane) writeCertificates() (err error) {
	if p.serving, err = newAuthority(); err != nil {
		return err
	}
	if p.clients, err = newAuthority(); err != nil {
		return err
	}
	for _, name := range []string{"apiserver", "sa-signer"} {
		if err = p.serving.writePair(p.file(name)); err != nil {
			return err
		}
	}
	return os.WriteFile(p.file("client-cert-auth-ca.crt"), pemOf("CERTIFICATE", p.clients.cert.Raw), 0o640)
}

func program(name string) string { return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), name) }

// hasFlag looks for a flag at the beginning of a line of the program's help.
func hasFlag(name, flag string) bool {
	help, err := exec.Command(program(name), "--help").CombinedOutput()
	return err == nil && regexp.MustCompile(`(?m)^\s*--`+flag+`\b`).Match(help)
}

// run starts a program, and returns when its health URL answers with 200.
func (p *ControlPlane) run(name string, args []string, health string) error {
	command := exec.Command(program(name), args...)
	command.Stderr = os.Stderr
	// A group of its own, so that Ctrl-C reaches the test alone, which then stops the program.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return err
	}
	p.programs = append(p.programs, command)
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	unverified := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer unverified.CloseIdleConnections()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if answer, err := unverified.Get(health); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-exited:
			return fmt.Errorf("%s has ended before it was ready: %v", name, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s did not become ready", name)
}

// Client returns an HTTP client for a user, who is known to the server by a client certificate.
func (p *ControlPlane) Client(user string, groups ...string) (*http.Client, error) {
	certificate, err := p.clients.client(user, groups...)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(p.serving.cert)
	config := &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{certificate}}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}, nil
}

// Stop ends the API server, then etcd, and removes their files.
func (p *ControlPlane) Stop() {
	for i := len(p.programs) - 1; i >= 0; i-- {
		group := -p.programs[i].Process.Pid
		syscall.Kill(group, syscall.SIGTERM)
		// Signal 0 tells whether any process of the group is left.
		for syscall.Kill(group, 0) == nil {
			time.Sleep(5 * time.Millisecond)
		}
	}
	os.RemoveAll(p.folder)
}

func freePorts(count int) ([]int, error) {
	ports := make([]int, count)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// Closed at the end, so that no port is given out twice.
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
