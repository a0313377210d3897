/**
 * Proves that the recipes of docs/containers.md run as far as their tools can be had: commands of workflows, services and
 * development containers in a shell with the built command, the recipe for Python with a stand-in for Testcontainers that
 * starts the command in the place of a container, those for Java, Go and .NET against stand-ins that have what they call.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { readYaml } from '../../src/api/text/yaml.ts';
import { programOf } from '../../src/node/runtime/engine/engine.fixture.ts';
import { kubectls } from '../kubectl/programs.ts';
import { command } from '../support/child.ts';
import { type Dotnet, findDotnet } from '../support/dotnet.ts';
import { freePorts } from '../support/free-ports.ts';
import { container, recipesIn, recipeWith } from '../support/recipes.ts';
import { describeWith } from '../support/tools.ts';

const execute = promisify(execFile);
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-recipes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Any = any;

/** A machine with the package installed, and kubectl: a folder of its own for programs, data and kubeconfig. */
async function machine(name: string) {
  const [port, securePort] = await freePorts(2);
  const home = path.join(folder, name);
  mkdirSync(path.join(home, 'bin'), { recursive: true });
  const programs: Record<string, string> = {
    wherry: `exec "${process.execPath}" "${command}" "$@"`,
    kubectl: `exec "${kubectls.at(-1)?.program}" "$@"`,
  };
  for (const [program, line] of Object.entries(programs))
    writeFileSync(path.join(home, 'bin', program), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const env = {
    ...process.env,
    PATH: `${path.join(home, 'bin')}:${process.env.PATH}`,
    HOME: home,
    XDG_DATA_HOME: path.join(home, 'data'),
    KUBECONFIG: path.join(home, 'kubeconfig'),
    WHERRY_PORT: String(port),
    WHERRY_SECURE_PORT: String(securePort),
    WHERRY_DOCKER_SOCKET: 'off',
    WHERRY_CRI_SOCKET: 'off',
  };
  const run = async (line: string) => (await execute('sh', ['-ec', line], { cwd: home, env })).stdout;
  return { home, env, securePort: securePort!, run };
}

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: nginx }] }
`;

describeWith('kubectl')('commands of recipes, in a shell', () => {
  it('the workflow in the form of GitHub tests manifests', async () => {
    const { home, run } = await machine('github');
    mkdirSync(path.join(home, 'manifests'));
    writeFileSync(path.join(home, 'manifests/web.yaml'), manifest);
    const { jobs } = readYaml(recipeWith('yaml', '--simulated-nodes 3 --use')).value as Any;
    const lines: string[] = jobs.test.steps.flatMap((step: Any) => step.run ?? []);
    onTestFinished(() => run('wherry delete --yes').then(() => undefined));
    const printed = [];
    for (const line of lines.filter((text) => !text.startsWith('npm '))) printed.push(await run(line));
    expect(printed[1]).toMatch(/deployment.*web created[\s\S]*deployment.*web condition met/);
  });

  // Debian's 1.20 crashes in about half of the times that it writes a user into a kubeconfig.
  it.skipIf(kubectls.at(-1)?.version === '1.20')('the service of GitLab is used with a token', async () => {
    const { home, env, securePort, run } = await machine('gitlab');
    const { test } = readYaml(recipeWith('yaml', 'alias: wherry')).value as Any;
    const [{ command: words, entrypoint, variables }] = test.services;
    const line = words[0].replaceAll(`${container.folder}/`, `${home}/`);
    const server = spawn(entrypoint[0], [...entrypoint.slice(1), line], {
      cwd: home,
      env: { ...env, ...variables },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(server, 'exit');
    onTestFinished(async () => {
      server.kill();
      await ended;
    });
    let printed = '';
    server.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    await expect.poll(() => printed).toContain('Ready after');
    // The alias is a name of the network of GitLab: here it is this machine, and the certificate is asked for it.
    const script = test.script.join('\n').replace(`wherry:${container.port}`, `127.0.0.1:${securePort}`);
    const nodes = await run(
      `KUBECONFIG=${home}/own TOKEN=${test.variables.TOKEN}\nexport KUBECONFIG\n${script}`,
    );
    expect(nodes.match(/ Ready /g)).toHaveLength(3);
  });

  it('the development container has a cluster when it starts', async () => {
    const { run } = await machine('devcontainer');
    const { postStartCommand } = JSON.parse(recipesIn('json')[0]!);
    onTestFinished(() => run('wherry delete --yes').then(() => undefined));
    await run(postStartCommand);
    expect(await run('kubectl get namespaces -o name')).toContain('namespace/default');
    // A container that is started again.
    await run(`wherry stop && ${postStartCommand}`);
    expect(await run('kubectl get namespaces -o name')).toContain('namespace/default');
  });
});

/** What stands in for Testcontainers in Python: the command with the variables of the image, and ports of this machine. */
const pythonContainer = `import os, socket, subprocess, tempfile
class DockerContainer:
    def __init__(self, image): assert image == "wherry"
    def with_command(self, command): self.command = command.split(); return self
    def with_exposed_ports(self, *ports): self.ports = {port: free() for port in ports}; return self
    def __enter__(self):
        home = tempfile.mkdtemp(dir=os.environ["HOME"])
        variables = {"HOME": home, "XDG_DATA_HOME": home, "KUBECONFIG": home + "/kubeconfig", "WHERRY_PORT": str(free())}
        self.env = {**os.environ, **variables, "WHERRY_SECURE_PORT": str(self.ports[${container.port}])}
        self.process = subprocess.Popen(["wherry", *self.command], env=self.env, stdout=subprocess.PIPE, text=True)
        return self
    def __exit__(self, *_): self.process.terminate(); self.process.wait()
    def get_container_host_ip(self): return "127.0.0.1"
    def get_exposed_port(self, port): return self.ports[port]
    def exec(self, command):
        done = subprocess.run(command, env=self.env, stdout=subprocess.PIPE)
        return done.returncode, done.stdout
def free():
    with socket.socket() as one: one.bind(("127.0.0.1", 0)); return one.getsockname()[1]
`;

describeWith('python3-kubernetes')('the recipe for Python', () => {
  it('runs, with a stand-in that starts the command', async () => {
    const { home, run } = await machine('python');
    const core = path.join(home, 'testcontainers/core');
    mkdirSync(core, { recursive: true });
    writeFileSync(path.join(core, 'container.py'), pythonContainer);
    writeFileSync(
      path.join(core, 'waiting_utils.py'),
      'def wait_for_logs(container, words):\n    assert any(words in line for line in container.process.stdout)\n',
    );
    const text = recipeWith('python', 'testcontainers');
    writeFileSync(path.join(home, 'recipe.py'), `${text}\ntest_a_namespace_is_there()\nprint("passed")\n`);
    expect(await run('/usr/bin/python3 -B recipe.py')).toBe('passed\n');
  });
});

/** Files of stand-ins with what the recipe for Java calls, by their package and class. */
const javaClasses: Record<string, string> = {
  'org.testcontainers.containers.GenericContainer': `public class GenericContainer<SELF extends GenericContainer<SELF>> implements AutoCloseable {
    public record ExecResult(String getStdout) {}
    public GenericContainer(String image) {}
    @SuppressWarnings("unchecked") SELF self() { return (SELF) this; }
    public SELF withCommand(String... words) { return self(); }
    public SELF withExposedPorts(Integer... ports) { return self(); }
    public SELF waitingFor(org.testcontainers.containers.wait.strategy.Wait.Strategy strategy) { return self(); }
    public void start() {}
    public void close() {}
    public String getHost() { return ""; }
    public Integer getMappedPort(int port) { return port; }
    public ExecResult execInContainer(String... words) throws java.io.IOException, InterruptedException { return new ExecResult(""); } }`,
  'org.testcontainers.containers.wait.strategy.Wait': `public class Wait {
    public interface Strategy {}
    public static Strategy forLogMessage(String pattern, int times) { return null; } }`,
  'io.fabric8.kubernetes.client.Config':
    'public class Config { public static Config fromKubeconfig(String text) { return null; } }',
  'io.fabric8.kubernetes.client.KubernetesClient': `public interface KubernetesClient extends AutoCloseable {
    interface Named { Object get(); }
    interface All { Named withName(String name); }
    All namespaces();
    void close(); }`,
  'io.fabric8.kubernetes.client.KubernetesClientBuilder': `public class KubernetesClientBuilder {
    public KubernetesClientBuilder withConfig(Config config) { return this; }
    public KubernetesClient build() { return null; } }`,
};

// Java is no package that all machines with the tests have.
it.skipIf(!programOf('javac'))('the recipe for Java is Java, against stand-ins', async () => {
  const sources = path.join(folder, 'java');
  const files = Object.entries(javaClasses).map(([name, body]) => {
    const parts = name.split('.');
    const file = `${path.join(sources, ...parts)}.java`;
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `package ${parts.slice(0, -1).join('.')};\n${body}\n`);
    return file;
  });
  const imports = Object.keys(javaClasses)
    .map((name) => `import ${name};\n`)
    .join('');
  const recipe = path.join(sources, 'Recipe.java');
  writeFileSync(
    recipe,
    `${imports}class Recipe {\n  static void assertNotNull(Object any) {}\n  void test() throws Exception {\n${recipeWith('java', 'GenericContainer')}}\n}\n`,
  );
  await execute('javac', ['-d', path.join(sources, 'classes'), recipe, ...files]);
});

/** Packages that stand in for those of the recipe for Go, by their path. */
const goPackages: Record<string, string> = {
  'github.com/testcontainers/testcontainers-go': `package testcontainers
import ("context"; "io"; "testing"; "github.com/testcontainers/testcontainers-go/exec"; "github.com/testcontainers/testcontainers-go/wait")
type ContainerRequest struct { Image string; Cmd []string; ExposedPorts []string; WaitingFor wait.Strategy }
type GenericContainerRequest struct { ContainerRequest; Started bool }
type Container interface {
  PortEndpoint(ctx context.Context, port string, proto string) (string, error)
  Exec(ctx context.Context, cmd []string, options ...exec.ProcessOption) (int, io.Reader, error)
}
func GenericContainer(ctx context.Context, req GenericContainerRequest) (Container, error) { return nil, nil }
func CleanupContainer(tb testing.TB, container Container) {}`,
  'github.com/testcontainers/testcontainers-go/exec': `package exec
type ProcessOption interface{}
func Multiplexed() ProcessOption { return nil }`,
  'github.com/testcontainers/testcontainers-go/wait': `package wait
type Strategy interface{}
func ForLog(log string) Strategy { return nil }`,
  'github.com/stretchr/testify/require': `package require
import "testing"
func NoError(t testing.TB, err error) {}`,
  'k8s.io/client-go/tools/clientcmd': `package clientcmd
type Config struct{}
func RESTConfigFromKubeConfig(text []byte) (*Config, error) { return nil, nil }`,
};

describeWith('golang')('the recipe for Go', () => {
  it('is Go, against stand-ins', async () => {
    const module = path.join(folder, 'go');
    for (const [name, text] of Object.entries(goPackages)) {
      const place = path.join(module, 'vendor', name);
      mkdirSync(place, { recursive: true });
      writeFileSync(path.join(place, 'stand_in.go'), `${text}\n`);
    }
    const modules = [
      'github.com/testcontainers/testcontainers-go',
      'github.com/stretchr/testify',
      'k8s.io/client-go',
    ];
    writeFileSync(
      path.join(module, 'go.mod'),
      `module recipe\n\ngo 1.19\n\nrequire (\n${modules.map((name) => `\t${name} v0.0.1\n`).join('')})\n`,
    );
    const listed = modules.map((name) => {
      const packages = Object.keys(goPackages).filter((one) => one === name || one.startsWith(`${name}/`));
      return `# ${name} v0.0.1\n## explicit; go 1.19\n${packages.join('\n')}\n`;
    });
    writeFileSync(path.join(module, 'vendor/modules.txt'), listed.join(''));
    const imports = ['context', 'io', 'testing', ...Object.keys(goPackages)];
    const recipe = recipeWith('go', 'GenericContainer').replaceAll(/^/gm, '\t');
    writeFileSync(
      path.join(module, 'recipe_test.go'),
      `package recipe\n\nimport (\n${imports.map((name) => `\t"${name}"\n`).join('')})\n\nfunc TestRecipe(t *testing.T) {\n\tctx := context.Background()\n${recipe}\n\trequire.NoError(t, err)\n\t_ = config\n}\n`,
    );
    const env = {
      ...process.env,
      CGO_ENABLED: '0',
      GOFLAGS: '-mod=vendor',
      GOCACHE: path.join(folder, 'go-cache'),
    };
    await execute('go', ['vet', './...'], { cwd: module, env });
  });
});

const found = await findDotnet();
const noDotnet = typeof found === 'string' ? ` (left out: ${found})` : '';

it.skipIf(noDotnet)(`the recipe for .NET is C#, against stand-ins${noDotnet}`, async () => {
  const module = path.join(folder, 'dotnet');
  mkdirSync(module);
  const spaces = [
    ...['System', 'System.IO', 'System.Text', 'System.Threading.Tasks', 'Xunit', 'k8s'],
    'DotNet.Testcontainers.Builders',
  ];
  const usings = spaces.map((name) => `using ${name};\n`).join('');
  const text = recipeWith('csharp', 'ContainerBuilder');
  const recipe = path.join(module, 'Recipe.cs');
  writeFileSync(
    recipe,
    `${usings}public class Recipe\n{\n    public async Task Test()\n    {\n${text}    }\n}\n`,
  );
  const standIns = path.join(import.meta.dirname, '../support/dotnet/Testcontainers.cs');
  await (found as Dotnet).compiled([recipe, standIns], module, 'library');
});
