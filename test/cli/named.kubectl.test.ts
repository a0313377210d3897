/**
 * Proves that clusters are found again by their names: in the background, two at once, over restarts and after accidents,
 * and that nothing of them is left when they are deleted. All through the command, as one user with a home of their own.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { kubectls } from '../kubectl/programs.ts';
import { ctrlC, Terminal } from '../streams/pty.ts';
import { Child, command, userFolders } from '../support/child.ts';
import { expectSentence, type Run, useCommand } from '../support/command.ts';
import { afterFirst, runHere } from '../support/command-here.ts';
import { Client } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';

const { children } = useCommand();
let cwd: string;
let home: string;
let kubeconfig: string;
const simulated = ['--secure-port', '0', '--simulated-nodes', '1'];
const realNode = ['--port', '0', '--secure-port', 'off', '--pod-network', 'host'];

const isHere = afterFirst();

async function run(...args: string[]): Promise<Run> {
  if (isHere(args)) return runHere(args, cwd);
  const child = new Child(args, cwd);
  return { ...(await child.exited), stdout: child.stdout, stderr: child.stderr };
}

/** Runs a command that must succeed, and reads what it says as JSON. */
async function asked(...args: string[]) {
  const { code, stdout, stderr } = await run(...args, '-o', 'json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const terminal = (args: readonly string[], env: Record<string, string> = {}, folder = cwd): Terminal => {
  const environment = { PATH: process.env['PATH']!, ...userFolders(cwd), ...env };
  const size = { cols: 200, rows: 50, cwd: folder };
  return new Terminal({ kubectl: { program: process.execPath, environment } }, [command, ...args], size);
};

const recordFile = (name: string): string => path.join(home, 'wherry', name, 'cluster.json');

/** The kubeconfig; scripts/machines/crlf.cjs lets the command write other ends of lines. */
const contexts = (): string => readFileSync(kubeconfig, 'utf8').replaceAll('\r\n', '\n');

/** Changes what is known of a cluster, as an accident would have left it. */
function forge(name: string, changes: object): () => void {
  const before = readFileSync(recordFile(name), 'utf8');
  writeFileSync(recordFile(name), JSON.stringify({ ...JSON.parse(before), ...changes }));
  return () => writeFileSync(recordFile(name), before);
}

const foreign = `# my clusters
apiVersion: v1
kind: Config
clusters:
  - name: prod # do not touch
    cluster: { server: https://prod.example, unknown: kept }
contexts:
  - { name: prod, context: { cluster: prod, user: me } }
users:
  - { name: me, user: {} }
`;

beforeAll(async () => {
  cwd = await children.folder();
  home = `${cwd}-home`;
  mkdirSync(home);
  kubeconfig = path.join(home, 'kubeconfig');
  writeFileSync(kubeconfig, foreign, { mode: 0o644 });
});

afterAll(async () => {
  for (const { name } of await asked('list')) await run('delete', name, '--yes');
});

describe('two clusters', () => {
  it('start at the same moment, in the background, and have nothing in common', async () => {
    expect((await run('list')).stdout).toBe('There are no clusters; wherry up -d starts one\n');
    const started = await Promise.all([
      run('up', '-d', '--name', 'a', ...simulated),
      run('up', '--detach', '--name=b', '--in-memory', ...simulated),
    ]);
    for (const { code, stderr, stdout } of started) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Wherry is ready at http:\S+\nSecure door at https:\S+\n/);
      expect(stdout).toMatch(
        /\nReady after \d+\.\d\d s, the API after \d+\.\d\d s\nTry: kubectl --context wherry-/,
      );
    }
    const [a, b] = await asked('list');
    expect([a, b]).toMatchObject([
      { name: 'a', status: 'running', dataDir: path.join(home, 'wherry', 'a') },
      { name: 'b', status: 'running' },
    ]);
    for (const part of ['port', 'securePort', 'serviceRange', 'podRange', 'url', 'secureUrl', 'pid'])
      expect(a[part], part).not.toBe(b[part]);
    for (const { stdout } of started) {
      const own = stdout.includes(a.url) ? a : b;
      expect(stdout).toContain(`services ${own.serviceRange}, pods ${own.podRange}`);
    }
    const made = await new Client(a.url).post('/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'kept' },
    });
    expect(made.status).toBeLessThan(300);
  });

  it('have contexts in the kubeconfig of the user, beside those that are there', async () => {
    const text = contexts();
    expect(text).toContain('# my clusters\n');
    expect(text).toContain('prod # do not touch');
    expect(text).toContain('unknown: kept');
    expect(text.indexOf('name: prod')).toBeLessThan(text.indexOf('name: wherry-'));
    // There was no current context, so the first one is.
    expect(text).toMatch(/^current-context: wherry-[ab]$/m);
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    expect(existsSync(`${kubeconfig}.lock`)).toBe(false);
    // Another cluster never takes the names of one.
    const { stdout } = await run('kubeconfig', '--name', 'a', '--merge', kubeconfig);
    expect(stdout).toBe(`Added to ${kubeconfig}; its current context is wherry-a\n`);
  });

  describeWith('kubectl')('with kubectl', () => {
    it('are told apart by their contexts', () => {
      const nodes = (context: string): string =>
        execFileSync(kubectls[0]!.program, ['--context', context, 'get', 'nodes', '-o', 'name'], {
          env: { PATH: process.env['PATH']!, KUBECONFIG: kubeconfig, HOME: home },
          encoding: 'utf8',
        });
      expect([nodes('wherry-a'), nodes('wherry-b')]).toEqual(['node/simulated-1\n', 'node/simulated-1\n']);
    });
  });

  it('are not started twice, and say so', async () => {
    const a = await asked('status', 'a');
    expectSentence(
      await run('up', '--name', 'a'),
      new RegExp(`the cluster a runs already at ${a.url}, as process ${a.pid}; --name NAME starts another`),
    );
    expectSentence(await run('up', '-d', '--name', 'a'), /the cluster a runs already/);
    expectSentence(await run('status', 'c'), /there is no cluster c; there are a, b/);
    expectSentence(await run('status'), /there is no cluster default; there are a, b/);
    expectSentence(await run('up', '--name', '../x'), /--name must be small letters, digits and -/);
    expectSentence(await run('stop', '../x'), /the name of a cluster is small letters/);
    expectSentence(await run('stop', 'a', 'b'), /stop takes one name, not 2/);
    const onto = await run('up', '--in-memory', '--port', String(a.port));
    expectSentence(onto, / is taken by the cluster a; wherry up --port 0 takes a free one/);
  });

  it('are the same after a stop and a restart', async () => {
    const before = await asked('status', 'a');
    expect((await run('stop', 'a')).stdout).toBe(`Stopping a (process ${before.pid})\nStopped a\n`);
    expect(await asked('status', 'a')).toMatchObject({ status: 'stopped', pid: null, notes: [] });
    expect((await run('stop', 'a')).stdout).toBe('a does not run\n');
    // Meanwhile the package was upgraded, and the log has become long.
    forge('a', { version: '0.0.1' });
    const log = path.join(home, 'wherry', 'a', 'wherry.log');
    const long = `${'x'.repeat(2 ** 20)}\n`.repeat(11);
    writeFileSync(log, long);
    const after = await asked('restart', 'a');
    expect(after).toMatchObject({ version: before.version, notes: [] });
    expect(statSync(`${log}.1`).size).toBe(long.length);
    expect(readFileSync(log, 'utf8')).toMatch(/^Wherry is ready at /);
    expect(after.pid).not.toBe(before.pid);
    for (const part of ['url', 'secureUrl', 'serviceRange', 'podRange', 'status', 'startedWith'])
      expect(after[part], part).toEqual(before[part]);
    const kept = await new Client(after.url).get('/api/v1/namespaces/default/configmaps/kept');
    expect(kept.status).toBe(200);
  });

  it('have snapshots', async () => {
    const kept = '/api/v1/namespaces/default/configmaps/kept';
    const { url } = await asked('status', 'a');
    const saved = await run('snapshot', 'save', 'clean', '--name', 'a');
    expect(saved.stdout).toMatch(/^Saved \d+ objects of a as clean\n$/);
    expectSentence(
      await run('snapshot', 'save', 'clean', '--name', 'a'),
      /a has a snapshot clean already; --replace saves over it/,
    );
    await new Client(url).delete(kept);
    const loaded = await run('snapshot', 'load', 'clean', '--name', 'a');
    expect(loaded.stdout).toMatch(/^a is as in clean again: \d+ of \d+ objects had changed\n$/);
    expect((await new Client(url).get(kept)).status).toBe(200);
    expect((await asked('snapshot', 'list', '--name', 'a')).items).toMatchObject([{ name: 'clean' }]);
    expect((await run('snapshot', 'list', '--name', 'b')).stdout).toMatch(/^b has no snapshots; /);
    expectSentence(
      await run('snapshot', 'load', 'x', '--name', 'b'),
      /b has no snapshot x; wherry snapshot list/,
    );
    expectSentence(await run('snapshot', 'load', '--name', 'b'), /snapshot load takes one name/);
    expectSentence(
      await run('snapshot', 'take', 'x'),
      /snapshot takes save, load, list or delete, not "take"/,
    );
    const gone = await run('snapshot', 'delete', 'clean', '--name', 'a');
    expect(gone.stdout).toBe('Deleted the snapshot clean of a\n');
  });

  it('are told the truth of after accidents', async () => {
    const { pid } = await asked('status', 'a');
    process.kill(pid, 'SIGKILL');
    await expect.poll(async () => (await asked('status', 'a')).status).toBe('stopped');
    const note = `process ${pid} ended without being stopped; see wherry logs a`;
    expect((await asked('status', 'a')).notes).toEqual([note]);
    expect((await run('stop', 'a')).stdout).toBe(`a does not run: ${note}\n`);
    // A process that has the same number by now.
    const reused = forge('a', { process: { pid: process.pid, started: '1' } });
    expect(await asked('status', 'a')).toMatchObject({ status: 'stopped', pid: null });
    reused();
    const restarted = forge('a', { boot: 'another' });
    expect((await asked('status', 'a')).notes[0]).toMatch(/^the machine was started anew while it ran/);
    restarted();
    const upgraded = forge('b', { version: '0.0.1' });
    const b = await asked('status', 'b');
    expect(b.status).toBe('running');
    expect(b.notes[0]).toMatch(
      /^it runs version 0\.0\.1, and this is \S+: wherry restart b brings it up to date$/,
    );
    upgraded();
    const silent = createServer((_request, response) => void response.writeHead(500).end('[-]etcd failed'));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as { port: number };
    const moved = forge('b', { url: `http://127.0.0.1:${port}` });
    expect(await asked('status', 'b')).toMatchObject({
      status: 'unready',
      notes: ['it is not ready: etcd'],
    });
    moved();
    silent.close();
    const gone = forge('a', { dataDir: path.join(home, 'nowhere') });
    expect(await asked('status', 'a')).toMatchObject({ status: 'missing' });
    gone();
  });

  it('have logs', async () => {
    const { stdout } = await run('logs', 'b');
    expect(stdout).toMatch(/^Wherry is ready at .*\n(.*\n)*Try: .*\n/);
    const { lines } = await asked('logs', 'b');
    expect(lines.join('\n')).toBe(stdout.trimEnd());
    expectSentence(
      await run('kubeconfig', '--name', 'b'),
      /the cluster b has no data folder, because its objects are in memory; kubectl reaches it by the context wherry-b/,
    );
    expectSentence(
      await run('restart', 'b'),
      /restart asks on a terminal; elsewhere say wherry restart b --yes/,
    );
    const doubting = terminal(['restart', 'b']);
    await doubting.shows(
      /Restart b, which begins without its objects, because they are in memory\? \[y\/N\] /,
    );
    doubting.type('\r');
    await doubting.shows(/b stays/);
    const following = new Child(['logs', '-f', 'b'], cwd);
    await expect.poll(() => following.stdout).toBe(stdout);
    const { stdout: said } = await run('stop', 'b');
    expect(said).toMatch(/\nStopped b; its objects were in memory, and are gone\n$/);
    await expect.poll(() => following.stdout).toBe(`${stdout}Stopping\n`);
    await following.kill();
    // A reader that has gone, as with `| head`: it ends with the next line.
    const unread = new Child(['logs', '-f', 'b'], cwd);
    await expect.poll(() => unread.stdout).toContain('Stopping');
    unread.closeOutput();
    appendFileSync(path.join(home, 'wherry', 'b', 'wherry.log'), 'more\n');
    expect((await unread.exited).code).toBe(0);
  });

  it('are deleted when the user is sure, with all that was theirs', async () => {
    expectSentence(
      await run('delete', 'b'),
      /delete asks on a terminal; elsewhere say wherry delete b --yes/,
    );
    const doubting = terminal(['delete', 'b']);
    await doubting.shows(/Delete the cluster b, which is in memory\? \[y\/N\] /);
    doubting.type('\r');
    await doubting.shows(/b stays/);
    expect(await doubting.exited).toBe(0);
    const sure = terminal(['delete', 'b']);
    await sure.shows(/\[y\/N\] /);
    sure.type('y\r');
    await sure.shows(/Deleted b, and its context in/);
    expect(await sure.exited).toBe(0);
    expectSentence(await run('delete', 'a', '--all'), /delete takes a name or --all/);
    vi.stubEnv('XDG_CACHE_HOME', path.join(home, 'cache'));
    mkdirSync(path.join(home, 'cache', 'wherry'), { recursive: true });
    const all = await asked('delete', '--all', '--yes');
    vi.unstubAllEnvs();
    expect(all).toMatchObject({
      clusters: [{ name: 'a', kubeconfigs: [kubeconfig] }],
      cache: path.join(home, 'cache', 'wherry'),
    });
    expect(existsSync(path.join(home, 'cache', 'wherry'))).toBe(false);
    expect(await asked('list')).toEqual([]);
    expect(existsSync(path.join(home, 'wherry'))).toBe(false);
    expect(contexts()).toBe(foreign);
  });
});

describe('a start in the background', () => {
  it('prints JSON for programs, and begins with the objects of a snapshot when it has none', async () => {
    const a = await asked('up', '-d', '--name', 'first', ...simulated);
    expect(a).toMatchObject({ name: 'first', status: 'running', serviceRange: '10.0.0.0/24' });
    expect(a.startedWith.args).toEqual(simulated);
    const core = '/api/v1/namespaces/default';
    const made = new Client(a.url);
    await made.post(`${core}/services`, { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } });
    const pod = { spec: { containers: [{ name: 'c', image: 'i' }] } };
    await made.post(`${core}/pods`, { metadata: { name: 'lone' }, ...pod });
    const phase = async (client: Client) => (await client.get(`${core}/pods/lone`)).body.status?.phase;
    await expect.poll(() => phase(made), { timeout: 30_000 }).toBe('Running');
    await run('snapshot', 'save', 'clean', '--name', 'first');
    const snapshot = path.join(home, 'wherry', 'first', 'snapshots', 'clean.snapshot');
    writeFileSync(
      path.join(cwd, 'seed.yaml'),
      `snapshot: ${snapshot}\nnodes:\n  - {simulated: 1, name: other}\n`,
    );
    const b = await asked('up', '-d', '--name', 'second', '--config', 'seed.yaml', '--secure-port', '0');
    const copy = new Client(b.url);
    // On a node of the new cluster, at the same place of its own range.
    await expect.poll(() => phase(copy), { timeout: 30_000 }).toBe('Running');
    expect((await copy.get(`${core}/pods/lone`)).body.spec.nodeName).toBe('other-1');
    const [before, after] = await Promise.all(
      [made, copy].map(async (client) => (await client.get(`${core}/services/web`)).body.spec.clusterIP),
    );
    expect(b.serviceRange).toBe('10.0.1.0/24');
    expect(after).toBe(before.replace('10.0.0.', '10.0.1.'));
    expect((await copy.get(`${core}/services/kubernetes`)).body.spec.clusterIP).toBe('10.0.1.1');
    // What has happened since stays.
    await copy.delete(`${core}/services/web`);
    await asked('restart', 'second');
    expect((await copy.get(`${core}/services/web`)).status).toBe(404);
    for (const name of ['first', 'second']) await run('delete', name, '--yes');
  });

  it('ends with Ctrl-C before it is ready, and does not go on unseen', async () => {
    // Another program has the kubeconfig, so the start waits when the API is there.
    writeFileSync(`${kubeconfig}.lock`, '');
    const up = terminal(['up', '-d', '--name', 'halted', ...simulated]);
    await up.shows(/Wherry is ready at /);
    up.type(ctrlC);
    await up.shows(
      /Stopping, Ctrl-C again to leave at once\r\n(.*\r\n)*.*it was stopped before it was ready/,
    );
    expect(await up.exited).toBe(1);
    rmSync(`${kubeconfig}.lock`);
    // It does not run: it would be stopped first.
    expect((await run('delete', 'halted', '--yes')).stdout).toMatch(/^Deleted halted/);
  });

  it('says which snapshot there is not', async () => {
    expectSentence(
      await run('up', '-d', '--in-memory', '--snapshot', 'nowhere', ...simulated),
      /there is no snapshot \S+\/nowhere/,
    );
    writeFileSync(path.join(cwd, 'broken.snapshot'), 'no snapshot at all, but a text');
    expectSentence(
      await run('up', '-d', '--in-memory', '--snapshot', 'broken.snapshot', ...simulated),
      /broken\.snapshot/,
    );
    expectSentence(
      await run('up', '-o', 'json', ...simulated),
      /--output is for a start in the background: --detach/,
    );
  });
});

describe('two starts at the same time by users who do not know of each other', () => {
  it('take different ports', async () => {
    const folders = ['one', 'other'].map((user) => path.join(cwd, user));
    const started = folders.map((folder) => {
      mkdirSync(folder);
      return new Child(['up', '-d', '-o', 'json', '--in-memory', ...simulated], folder);
    });
    const exits = await Promise.all(started.map(({ exited }) => exited));
    for (const folder of folders)
      expect((await new Child(['delete', '--all', '--yes'], folder).exited).code).toBe(0);
    expect(
      exits.map(({ code }) => code),
      started.map(({ stderr }) => stderr).join(''),
    ).toEqual([0, 0]);
    const states = started.map(({ stdout }) => JSON.parse(stdout));
    expect(new Set(states.flatMap(({ url, secureUrl }) => [url, secureUrl])).size).toBe(4);
  });
});

/** Runs a pod that does not end when it should. */
async function stubborn(url: string): Promise<void> {
  const pods = '/api/v1/namespaces/default/pods';
  const script = 'trap "" TERM; while true; do sleep 1; done';
  const client = new Client(url);
  await client.post(pods, {
    metadata: { name: 'stubborn' },
    spec: { containers: [{ name: 'c', image: 'host', command: ['sh', '-c', script] }] },
  });
  const phase = async () => (await client.get(`${pods}/stubborn`)).body.status?.phase;
  await expect.poll(phase, { timeout: 30_000 }).toBe('Running');
}

describe('in a terminal', () => {
  it('a start has colours and ticks, and an end says what it does', async () => {
    // A folder from before clusters had names.
    const folder = path.join(cwd, 'My Project');
    mkdirSync(path.join(folder, '.wherry'), { recursive: true });
    const up = terminal(['up', ...realNode], {}, folder);
    await up.shows(/Using the data folder .*My Project\/\.wherry, as the cluster my-project\r\n/);
    const [, url] = await up.shows(/\u001b\[32m✓\u001b\[0m Wherry is ready at (\S+)\r\n/);
    await up.shows(/✓\u001b\[0m Ready after \d+\.\d\d s, the API after \d+\.\d\d s\r\n/);
    await up.shows(/Try: kubectl --context wherry-my-project get nodes/);
    const client = new Client(url!);
    const pods = '/api/v1/namespaces/default/pods';
    for (const name of ['one', 'two'])
      await client.post(pods, {
        metadata: { name },
        spec: {
          containers: [{ name: 'c', image: 'host', command: ['sleep', '1000'] }],
          terminationGracePeriodSeconds: 1,
        },
      });
    const running = async () =>
      (await client.get(`${pods}?fieldSelector=status.phase=Running`)).body.items.length;
    await expect.poll(running).toBe(2);
    up.type(ctrlC);
    await up.shows(/Stopping 2 pods, Ctrl-C again to leave at once/);
    expect(await up.exited).toBe(0);
    const { stdout } = await run('list');
    expect(stdout).toMatch(/^NAME .*\nmy-project +stopped +- /);
  });

  it('leaves at once when it is asked twice, whatever its pods want', async () => {
    const up = terminal(['up', '--name', 'my-project', '--in-memory', ...realNode]);
    const [, url] = await up.shows(/Wherry is ready at (\S+)\r\n/);
    await stubborn(url!);
    // The data of the start before is left alone, and not forgotten.
    const dataDir = path.join(cwd, 'My Project', '.wherry');
    expect(await asked('status', 'my-project')).toMatchObject({ status: 'running', inMemory: true, dataDir });
    expect((await run('list')).stdout).toMatch(/^my-project +running .* in memory$/m);
    expect((await run('status', 'my-project')).stdout).toMatch(
      /^data folder +none: objects are in memory; those of an earlier start are in .*\/My Project\/\.wherry$/m,
    );
    up.type(ctrlC);
    await up.shows(/Stopping 1 pod, Ctrl-C again to leave at once/);
    up.type(ctrlC);
    expect(await up.exited).toBe(1);
  });

  it.runIf(isRelease)('ends without the lines of a start that goes on meanwhile', async () => {
    // Another program has the kubeconfig, so the start waits when the API is there; a pod keeps the end waiting.
    writeFileSync(`${kubeconfig}.lock`, '');
    const up = terminal(['up', '--name', 'held', ...realNode]);
    const [, url] = await up.shows(/Wherry is ready at (\S+)\r\n/);
    await stubborn(url!);
    up.type(ctrlC);
    await up.shows(/Stopping 1 pod, Ctrl-C again to leave at once\r\n/);
    const shown = () => up.screen.replaceAll('^C', '').trimEnd();
    const before = shown();
    rmSync(`${kubeconfig}.lock`);
    // The start has gone on: what it does next would be to print.
    await expect.poll(() => readFileSync(recordFile('held'), 'utf8')).toContain('wherry-held');
    up.type(ctrlC);
    expect(await up.exited).toBe(1);
    expect(shown()).toBe(before);
    expect((await run('delete', 'held', '--yes')).stdout).toMatch(/^Deleted held, and its context/);
  });

  it.runIf(isRelease)('shows no colours to those who want none', async () => {
    const up = terminal(['up', '--in-memory', '--port', '0', ...simulated], { NO_COLOR: '1' });
    await up.shows(/^Wherry is ready at \S+\r\n/);
    // Nothing of it is kept, so the user's files stay as they are.
    await up.shows(/Try: kubectl --kubeconfig \/dev\/null -s http:\S+ get nodes/);
    up.type(ctrlC);
    expect(await up.exited).toBe(0);
    expect(up.screen).not.toContain('\u001b[');
    expect(up.screen).not.toContain('Context');
  });
});
