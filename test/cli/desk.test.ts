/**
 * Proves that a person at a terminal, without the rights of root and without any engine, is told what is wrong and what to
 * do: with a command, with wherry.yaml, with a pod; and keeps, resets and deletes a cluster, whose context stands beside
 * others, whose simulated nodes live, and which is safe by default. What is typed on the first day is in
 * docs/first-session.md, which first-session.release.test.ts runs.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { cacheFolder } from '../../src/program/code-cache.ts';
import { ctrlC, Terminal } from '../streams/pty.ts';
import { command } from '../support/child.ts';
import { freePorts } from '../support/free-ports.ts';
import { Client } from '../support/http.ts';

const ctrlD = '\u0004';

/** Another user can be chosen by root alone; anybody else is that user already. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const home = mkdtempSync(path.join(tmpdir(), 'wherry-desk-'));
const file = (name: string): string => path.join(home, name);
const environment = {
  HOME: home,
  PATH: `${file('bin')}:${process.env['PATH']}`,
  XDG_DATA_HOME: file('data'),
  KUBECONFIG: file('kubeconfig'),
  WHERRY_DOCKER_SOCKET: 'off',
  WHERRY_CRI_SOCKET: 'off',
  PS1: '$ ',
  ENV: '',
};

beforeAll(() => {
  mkdirSync(file('bin'));
  const program = `#!/bin/sh\nexec "${process.execPath}" "${command}" "$@"\n`;
  writeFileSync(file('bin/wherry'), program, { mode: 0o755 });
  if (nobody.uid !== undefined) chownSync(home, nobody.uid, nobody.gid);
  takeCompiledCode();
});

/** Gives this user the compiled code of the user who runs the tests, with which a line takes half the time. */
function takeCompiledCode(): void {
  const theirs = cacheFolder(process);
  if (theirs === undefined || !existsSync(theirs)) return;
  const own = file('.cache/wherry');
  cpSync(theirs, own, { recursive: true, preserveTimestamps: true });
  for (const each of [file('.cache'), own, ...readdirSync(own).map((name) => path.join(own, name))])
    if (nobody.uid !== undefined) chownSync(each, nobody.uid, nobody.gid);
}
afterAll(() => rmSync(home, { recursive: true, force: true }));

const foreign = `# my clusters
apiVersion: v1
kind: Config
clusters:
  - name: prod # do not touch
    cluster: { server: https://prod.example }
contexts:
  - { name: prod, context: { cluster: prod, user: me } }
users:
  - { name: me, user: {} }
current-context: prod
`;

const wherryYaml = (securePort: number): string => `port: 1
secure-port: ${securePort}
ingress-port: 0
manifests: [pod.yaml]
nodes:
  - { name: laptop }
  - { simulated: 2, name: spot, labels: { pool: spot } }
lifecycles:
  - { name: crash, pods: app=worker, stages: [{ after: 100ms, exit: 3 }], repeat: true }
  - { name: label, nodes: pool=spot, stages: [{ after: 0s, labels: { seen: "yes" } }] }
`;

const podYaml = `apiVersion: v1
kind: Pod
metadata: { name: gone }
spec: { nodeName: laptop, containers: [{ name: main, image: "example.com/nothing:1" }] }
---
apiVersion: v1
kind: Pod
metadata: { name: worker, labels: { app: worker } }
spec: { nodeSelector: { pool: spot }, containers: [{ name: main, image: any }] }
`;

/** A shell at which lines are typed. */
class Desk {
  readonly #terminal = new Terminal({ kubectl: { program: '/bin/sh', environment } }, ['-i'], {
    cols: 300,
    rows: 60,
    cwd: home,
    ...nobody,
  });

  async began(): Promise<this> {
    await this.#terminal.shows(/\$ $/);
    return this;
  }

  /** What a line prints; `answer` is typed at its question. */
  async prints(line: string, answer?: string): Promise<string> {
    const from = this.#terminal.screen.length;
    this.#terminal.type(`${line}\r`);
    if (answer !== undefined) {
      await this.#terminal.shows(/\[y\/N\] /);
      this.#terminal.type(answer);
    }
    await this.#terminal.shows(/\n\$ $/);
    const text = stripVTControlCharacters(this.#terminal.screen.slice(from)).replaceAll('\r', '');
    return text.slice(text.indexOf('\n') + 1).replace(/\$ $/, '');
  }
}

it('a person is told what is wrong, and what to do', async () => {
  const desk = await new Desk().began();
  expect(await desk.prints('wherry upp')).toMatch(/there is no command "upp"; did you mean "up"\?/);
  expect(await desk.prints('wherry up --prot 1')).toMatch(/there is no option --prot; did you mean --port\?/);
  expect(await desk.prints('wherry list')).toBe('There are no clusters; wherry up -d starts one\n');
  expect(await desk.prints('wherry status')).toBe(
    'wherry: there is no cluster default; wherry up -d starts one\n',
  );
  expect(await desk.prints('XDG_DATA_HOME=/sys/none wherry up -d')).toMatch(
    /^wherry: the folder \/sys\/none\/wherry\/default cannot be made or written \(E\w+\)\n$/,
  );
  const doctor = await desk.prints('wherry doctor');
  expect(doctor).toMatch(/ rights +this user is not root\n/);
  expect(doctor).toMatch(/ container engines +there is none .*\n.*\n +→ start an engine/);
  writeFileSync(file('wherry.yaml'), 'simulated-nodes: 1\n  ui: off\n');
  expect(await desk.prints('wherry up -d')).toMatch(/^wherry: wherry\.yaml:1:18: a key in a value: indent/);
  writeFileSync(file('wherry.yaml'), 'simulated-nodes: 1\nprot: 8080\n');
  expect(await desk.prints('wherry config check')).toMatch(/wherry\.yaml:2:1: .* did you mean "port"\?/);
});

it('a person keeps, resets and deletes a cluster', async () => {
  const [port, securePort] = await freePorts(2);
  writeFileSync(file('wherry.yaml'), wherryYaml(securePort!).replaceAll('\n', '\r\n'));
  writeFileSync(file('pod.yaml'), podYaml);
  writeFileSync(file('kubeconfig'), foreign);
  if (nobody.uid !== undefined) chownSync(file('kubeconfig'), nobody.uid, nobody.gid);
  const desk = await new Desk().began();
  onTestFinished(() => {
    spawnSync(file('bin/wherry'), ['delete', '--all', '--yes'], { env: environment, cwd: home, ...nobody });
  });
  // The variable wins over the default, the file over the variable, and below the flag over the file.
  const printed = await desk.prints('WHERRY_LOG_LEVEL=error WHERRY_PORT=2 wherry config print');
  expect(printed).toMatch(/^port: 1\b/m);
  expect(printed).toMatch(/^log-level: error\b/m);
  const started = await desk.prints(`wherry up -d --name dev --port ${port}`);
  expect(started).toContain(`Wherry is ready at http://127.0.0.1:${port}\n`);
  expect(started).toContain('(it takes the rights of root)');
  expect(started).toMatch(/Ready after [\d.]+ s, the API after [\d.]+ s\n/);
  expect(started).toMatch(/\nTry: kubectl --context wherry-dev get nodes\n/);
  expect(started).toContain('ingress at http://127.0.0.1:');
  expect(started).toContain(`Context wherry-dev in ${file('kubeconfig')}\n`);
  expect(readFileSync(file('kubeconfig'), 'utf8')).toMatch(
    /^# my clusters\n(.*\n)* {2}- name: prod # do not touch\n/,
  );
  expect(readFileSync(file('kubeconfig'), 'utf8')).toMatch(/^current-context: prod$/m);
  expect(statSync(file('kubeconfig')).mode & 0o777).toBe(0o600);
  const problems = 'wherry problems --name dev';
  // Before, pods may not be scheduled, which is another problem.
  const admin = new Client(`http://127.0.0.1:${port}`);
  const found = async (): Promise<string> => (await admin.get('/wherry/problems')).text;
  await expect.poll(found).toMatch(/(?=[\s\S]*cannot be pulled)[\s\S]*crash loop/);
  const told = await desk.prints(problems);
  expect(told).toMatch(
    /image example\.com\/nothing:1 cannot be pulled: containers are processes of this machine\. Set /,
  );
  // Simulated nodes beside this machine live by the file: their pod crashes, and they get a label.
  expect(told).toMatch(/default\/worker: crash loop .*: exit code 3/);
  const labelled = 'wherry at 0s get nodes -l seen=yes -o name --name dev';
  const seen = async () => (await admin.get('/api/v1/nodes?labelSelector=seen%3Dyes')).body.items.length;
  await expect.poll(seen).toBe(2);
  expect(await desk.prints(labelled)).toBe('node/spot-1\nnode/spot-2\n');
  expect(await desk.prints('wherry cleanup --name dev')).toMatch(
    /is in use by process \d+, .*: stop it first/,
  );
  expect(await desk.prints('wherry token create --name dev')).toContain(
    ' is reached from this machine alone; ',
  );
  expect(await desk.prints(`wherry up -d --name other --port ${port}`)).toMatch(/port \d+ on 127.* is taken/);
  // A log that cannot be written keeps no reason to itself.
  mkdirSync(file('data/wherry/full'), { mode: 0o777 });
  chmodSync(file('data/wherry/full'), 0o777);
  symlinkSync('/dev/full', file('data/wherry/full/wherry.log'));
  expect(await desk.prints(`wherry up -d --name full --port ${port}`)).toMatch(/port \d+ on 127.* is taken/);
  expect(await desk.prints('wherry list')).not.toMatch(/other|full/);
  expect(await desk.prints('wherry snapshot save clean --name dev')).toMatch(
    /^Saved \d+ objects of dev as clean\n/,
  );
  expect(await desk.prints('wherry snapshot load clean --name dev')).toMatch(/^dev is as in clean again: /);
  expect(await desk.prints('wherry status dev')).toMatch(/status +running\n/);
  for (const doubt of ['n\r', ctrlC, ctrlD])
    expect(await desk.prints('wherry delete dev', doubt)).toMatch(/\ndev stays\n$/);
  expect(await desk.prints('wherry stop dev')).toMatch(/Stopped dev\n/);
  for (const line of [problems, 'wherry token create --name dev', 'wherry snapshot save a --name dev'])
    expect(await desk.prints(line)).toBe('wherry: dev does not run; wherry restart dev starts it\n');
  expect(await desk.prints('wherry restart dev')).toMatch(
    /\nTry: kubectl .*\nIt runs in the background: wherry status, logs, stop or delete dev\n$/,
  );
  expect(await desk.prints('wherry delete dev', 'y\r')).toMatch(/Deleted dev, and its context in /);
  expect(await desk.prints('wherry list')).toBe('There are no clusters; wherry up -d starts one\n');
  expect(readFileSync(file('kubeconfig'), 'utf8')).toBe(foreign);
});
