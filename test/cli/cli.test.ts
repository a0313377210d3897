/** Proves that the command does what its help says, fails with one clear sentence, and ends cleanly on signals. */
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { helpText } from '../../src/cli/help.ts';
import { readCommandLine } from '../../src/cli/options.ts';
import { Child } from '../support/child.ts';
import { expectSentence, inMemory, stop, useCommand } from '../support/command.ts';
import { Client } from '../support/http.ts';
import { Stream } from '../support/stream.ts';
import { readToEnd, Target } from '../support/target.ts';
import { isRelease } from '../support/tier.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const { answering, children, refused, run, serving } = useCommand();

/** Objects with finalizers, which stay after deletion until a controller removes those. */
const held = [
  '/api/v1/namespaces/default/persistentvolumeclaims/claim',
  '/api/v1/persistentvolumes/volume',
  '/api/v1/namespaces/default/replicationcontrollers/owner',
];

async function makeHeld(client: Client): Promise<void> {
  const root = '/api/v1/namespaces/default';
  const resources = { requests: { storage: '1Gi' } };
  const labels = { app: 'dependent' };
  const spec = { containers: [{ name: 'main', image: 'none' }] };
  const made = [
    await client.post('/api/v1/namespaces', { metadata: { name: 'short' } }),
    await client.post('/api/v1/namespaces/short/configmaps', { metadata: { name: 'a' } }),
    await client.post(`${root}/persistentvolumeclaims`, {
      metadata: { name: 'claim' },
      spec: { accessModes: ['ReadWriteOnce'], resources, storageClassName: '' },
    }),
    await client.post('/api/v1/persistentvolumes', {
      metadata: { name: 'volume' },
      spec: { accessModes: ['ReadWriteOnce'], capacity: resources.requests, hostPath: { path: '/data' } },
    }),
    await client.post(`${root}/replicationcontrollers`, {
      metadata: { name: 'owner' },
      spec: { replicas: 0, selector: labels, template: { metadata: { labels }, spec } },
    }),
  ];
  const { uid } = made.at(-1)!.body.metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ReplicationController', name: 'owner', uid }];
  made.push(
    await client.post(`${root}/pods`, { metadata: { name: 'dependent', labels, ownerReferences }, spec }),
  );
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 200));
}

describe('information', () => {
  it('is printed, and that is all', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../..', 'package.json'), 'utf8'));
    const printed = (stdout: string): object => ({ code: 0, signal: null, stdout, stderr: '' });
    expect(await run('--version')).toEqual(printed(`${version}\n`));
    expect(await run('--help')).toEqual(printed(helpText(undefined, false)));
    expect(await run('up', '--help-all')).toEqual(printed(helpText('up', true)));
  });

  it.each<[string[], object]>([
    [[], { command: 'help', all: false }],
    [['-h'], { command: 'help', all: false }],
    [['help'], { command: 'help', all: false }],
    [['help', '--help-all'], { command: 'help', all: true }],
    [['--help-all'], { command: 'help', all: true }],
    [['up', '-h'], { command: 'help', about: 'up', all: false }],
    [['help', 'up'], { command: 'help', about: 'up', all: false }],
    [['help', 'up', '--help-all'], { command: 'help', about: 'up', all: true }],
    [['envtest', '--help'], { command: 'help', about: 'envtest', all: false }],
    [['help', 'envtest'], { command: 'help', about: 'envtest', all: false }],
    [['token', '--help'], { command: 'help', about: 'token', all: false }],
    [['backup', '-h'], { command: 'help', about: 'backup', all: false }],
    [['-v'], { command: 'version' }],
    [['version'], { command: 'version' }],
    [['envtest', '-v'], { command: 'version' }],
  ])('is asked for by %j', (args, line) => {
    expect(readCommandLine(args)).toEqual(line);
  });
});

describe.each([
  [['up', '--prot', '1'], /there is no option --prot; did you mean --port\? wherry up --help-all lists all/],
  [['up', '--simulated', '3'], /there is no option --simulated; did you mean --simulated-nodes\?/],
  [['up', '--frobnicate'], /there is no option --frobnicate; wherry up --help-all lists all/],
  [['--frobnicate'], /there is no option --frobnicate; wherry --help-all lists all/],
  [['up', '-x'], /there is no option -x; wherry up --help-all lists all/],
  [['up', '-port', '1'], /there is no option -port; did you mean --port\?/],
  [
    ['envtest', '--controler', '*'],
    /there is no option --controler; did you mean --controllers\? wherry envtest --help/,
  ],
  [['upp'], /there is no command "upp"; did you mean "up"\? wherry --help lists all/],
  [['start'], /there is no command "start"; did you mean "up"\?/],
  [['kill'], /there is no command "kill"; did you mean "stop"\?/],
  [['ls'], /there is no command "ls"; did you mean "list"\?/],
  [['cluster', 'create', 'dev'], /there is no command "cluster"; did you mean "up"\?/],
  [['down'], /there is no command "down"; did you mean "stop"\?/],
  [['image', 'load'], /there is no command "image"; images of the container engine on this machine need no/],
  [['kubectl', 'get', 'pods'], /there is no command "kubectl"; kubectl itself finds the cluster/],
  [
    ['get', 'pods'],
    /kubectl has it: kubectl --context wherry-default get …; wherry list lists the clusters\n/,
  ],
  [
    ['apply', '-f', 'x'],
    /there is no command "apply"; kubectl has it: kubectl --context wherry-default apply/,
  ],
  [['snapshot'], /snapshot takes save, load, list or delete\n/],
  [['config'], /config takes print, check, init or schema\n/],
  [['token'], /token takes create, list or delete\n/],
  [['backup'], /backup takes one file: wherry backup FILE\n/],
  [['delete', 'cluster', 'dev'], /delete takes one name, not 2: wherry delete dev\n/],
  [['node', 'list'], /node takes options only, not "list"; kubectl get nodes lists those that there are/],
  [
    ['load', 'docker-image', 'x'],
    /there is no command "load"; images of the container engine .* need no loading/,
  ],
  [['up', 'dev'], /up takes options only, not "dev"; --name dev gives the cluster that name/],
  [['help', 'serv'], /there is no command "serv"; did you mean "serve"\?/],
  [['help', 'up', 'now'], /help takes one command, not 2/],
  [['version', 'now'], /version takes options only, not "now"/],
  [['completion'], /completion takes one shell: bash, zsh, fish or powershell/],
  [['completion', 'tcsh'], /completion takes one shell: bash, zsh, fish or powershell/],
  [
    ['sideways'],
    /there is no command "sideways"; the commands are up, list, status, stop, restart, logs, delete, snapshot, serve, node, backup, restore, problems, history, timeline, at, token, kubeconfig, test, open, import, record, cleanup, envtest, config, doctor, completion, help and version/,
  ],
  [['__proto__'], /there is no command "__proto__"/],
  [['up', 'now'], /up takes options only, not "now"/],
  [
    ['serve', '--simulated-nodes', '3'],
    /serve does not take --simulated-nodes, which is an option of up and test; wherry serve --help-all lists/,
  ],
  [['up', '--simulated-nodes', 'many'], /--simulated-nodes must be a number from 0 to 10000, not "many"/],
  [['up', '--pod-network', 'docker'], /--pod-network must be one of auto, netns, host, not "docker"/],
  [['up', '--kubelet-port', '70000'], /--kubelet-port must be a number from 0 to 65535/],
  [['up', '--ingress-port', 'x'], /--ingress-port must be a number/],
  [['up', '--ingress-tls-port', '1'], /--ingress-tls-port needs --ingress-port/],
  [['up', '--in-memory', '--port', '0', '--controllers=-cron'], /there is no controller "cron"; there are/],
  [['serve', ...inMemory, '--controllers=none,job'], /"none" stands alone in a list of controllers/],
  [['serve', ...inMemory, '--controllers='], /--controllers must name controllers, or be \* or none/],
  [['up', ...inMemory, '--images', '/nope.yaml'], /image table \/nope\.yaml: ENOENT/],
  [
    ['up', ...inMemory, '--pod-range', '10.0.0.0/99'],
    /the pod range must be an IPv4 range .* not "10\.0\.0\.0\/99"/,
  ],
  [['up', ...inMemory, '--node-name', 'No_Name'], /the node cannot be called "No_Name": /],
  [['node', '--server', 'http://127.0.0.1:1', '--images', '/nope.yaml'], /image table \/nope\.yaml: ENOENT/],
  [['node', '--server', 'http://127.0.0.1:1'], /http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/],
  [
    ['node', '--server', 'http://127.0.0.1:1', '--data-dir', '/proc/nope'],
    /the folder \/proc\/nope\/node of the node cannot be made \(ENOENT\)/,
  ],
  [['up', '--log-links='], /--log-links must name a folder/],
  [
    ['up', '--port', '0', '--data-dir', '.wherry', '--log-links', '.wherry/node'],
    /links to logs cannot be made in .*, where the logs are/,
  ],
  [['node'], /node needs the server it belongs to: --server/],
  [['node', '--server', 'ftp://x'], /node needs the server it belongs to/],
  [['up', '--port'], /--port needs a value: --port PORT$/m],
  [
    ['up', '--port', '--host', 'localhost'],
    /--port needs a value: --port PORT; one that begins with a dash is written --port=--host/,
  ],
  [['up', '--port', 'http'], /--port must be a number from 0 to 65535, not "http"/],
  [['up', '--port', '65536'], /--port/],
  [['up', '--port', '-1'], /--port needs a value/],
  [['up', '--port=-1'], /--port must be a number from 0 to 65535, not "-1"/],
  [['up', '--port', ''], /--port/],
  [['up', '--in-memory=yes'], /--in-memory takes no value, not "yes"/],
  [['up', '--in-memory', '--data-dir', 'x'], /--in-memory and --data-dir exclude each other/],
  [['up', '--history', '10m'], /--history must be an age and a count such as 10m,50000, not "10m"/],
  [['up', '--history', '1d,5'], /--history/],
  [['up', '--watch-start', 'now'], /--watch-start must be one of history, state, not "now"/],
  [['up', '--like', 'docker'], /--like must be one of kubernetes, not "docker"/],
  [['up', '--create-status', '204'], /--create-status must be one of 200, 201, not "204"/],
  [['up', '--managed-fields', 'some'], /--managed-fields must be one of all, applied, off, not "some"/],
  [['up', '--log-level', 'loud'], /--log-level must be one of silent, error, warn, info, debug, not "loud"/],
  [['up', ...inMemory, '--service-cluster-ip-range', 'here'], /here/],
  [['up', ...inMemory, '--service-cluster-ip-range', '10.0.0.0/33'], /10\.0\.0\.0\/33/],
  [['up', ...inMemory, '--service-node-port-range', '9-1'], /9-1/],
  [['up', ...inMemory, '--service-node-port-range', '1-70000'], /1-70000/],
  [['up', ...inMemory, '--host', '0.0.0.0'], /0\.0\.0\.0 is not an address of this machine alone/],
  [['up', ...inMemory, '--host', 'example.com'], /example\.com is not an address of this machine alone/],
  [['up', ...inMemory, '--host', '127.0.0.1; rm -rf /'], /is not an address of this machine alone/],
] as const)('the command line %j', (args, says) => {
  it('is refused in one sentence', async () => {
    expectSentence(await refused(...args), says);
  });
});

it.each([[['upp']], [['up', '--prot', '1']], [['up', '--port']]])(
  'the process of the command line %j says what reading the line says',
  async (args) => {
    const said = await run(...args);
    expectSentence(said, /did you mean|needs a value/);
    expect(said).toEqual(await refused(...args));
  },
);

describe('`wherry up`', () => {
  let child: Child;
  let url: string;
  let client: Client;
  beforeAll(async () => {
    const flags = ['--simulated-nodes', '1', '--service-account-token-secrets'];
    ({ child, url, client } = await serving('up', ...inMemory, ...flags));
  });

  it('says where it is, in one line, and is there', async () => {
    await expectThere(child, url);
  });

  it('gives every account a secret with a token where it is asked to', async () => {
    const account = async () => (await client.get('/api/v1/namespaces/default/serviceaccounts/default')).body;
    // The first token waits for its signing key.
    await expect.poll(async () => (await account()).secrets?.length).toBe(1);
    const [{ name }] = (await account()).secrets;
    expect(name).toMatch(/^default-token-[a-z0-9]{5}$/);
    const secret = (await client.get(`/api/v1/namespaces/default/secrets/${name}`)).body;
    expect(secret.type).toBe('kubernetes.io/service-account-token');
    expect(Buffer.from(secret.data.token, 'base64').toString()).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it('runs all of the cluster: a namespace goes when it is deleted', async () => {
    await client.post('/api/v1/namespaces', { metadata: { name: 'short' } });
    await client.post('/api/v1/namespaces/short/configmaps', { metadata: { name: 'a' } });
    const stream = await Stream.open(`${url}/api/v1/watch/namespaces/short`);
    await client.delete('/api/v1/namespaces/short');
    await stream.until((events) => events.at(-1)?.type === 'DELETED');
    expect((await client.get('/api/v1/namespaces/short/configmaps')).body.items).toEqual([]);
    await stop(child);
  });
});

async function expectThere(child: Child, url: string): Promise<void> {
  expect((await new Client(url).get('/healthz')).text).toBe('ok');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  expect(child.stdout.match(/ready at http:/g)).toHaveLength(1);
  expect(child.stdout.split('\n')[0]).toBe(`Wherry is ready at ${url}`);
}

describe('a server', () => {
  it('listens where it is told', async () => {
    const { url, client, end } = await answering(...inMemory, '--host', 'localhost');
    expect((await client.get('/healthz')).text).toBe('ok');
    const { port } = new URL(url);
    await end();
    const again = await answering('--in-memory', '--port', port, '--host', '127.0.0.1');
    expect(again.url).toBe(`http://127.0.0.1:${port}`);
    await again.end();
  });

  it('answers a create with the code it is told', async () => {
    for (const [args, code] of [
      [[], 200],
      [['--create-status', '200'], 200],
      [['--create-status=201'], 201],
      [['--like', 'kubernetes'], 201],
      [['--like', 'kubernetes', '--create-status=200'], 200],
    ] as const) {
      const { client, end } = await answering(...inMemory, ...args);
      expect((await client.post(configMaps, { metadata: { name: 'a' } })).status).toBe(code);
      await end();
    }
  });

  it('begins a watch where it is told', async () => {
    for (const [args, events] of [
      [[], ['ADDED', 'MODIFIED']],
      [['--watch-start', 'state'], ['ADDED']],
      [['--like=kubernetes'], ['ADDED']],
      [
        ['--like=kubernetes', '--watch-start=history'],
        ['ADDED', 'MODIFIED'],
      ],
    ] as const) {
      const { url, client, end } = await answering(...inMemory, '--secure-port=off', ...args);
      await client.post(configMaps, { metadata: { name: 'a' } });
      await client.patch(`${configMaps}/a`, { data: { a: 'b' } });
      const stream = await Stream.open(`${url}${configMaps}?watch=1`);
      await client.post(configMaps, { metadata: { name: 'end' } });
      await stream.until((told) => told.some(({ object }) => object.metadata.name === 'end'));
      expect(stream.events.slice(0, -1).map(({ type }) => type)).toEqual(events);
      await end();
    }
  });

  it('forgets history beyond what it is told to keep', async () => {
    for (const bounds of ['1h,5', '1s,1000']) {
      const { url, client, end } = await answering(...inMemory, '--history', bounds, '--log-level', 'warn');
      const created = await client.post(configMaps, { metadata: { name: 'a' } });
      const version = Number(created.body.metadata.resourceVersion) - 1;
      for (let i = 0; i < 10; i++) await client.patch(`${configMaps}/a`, { data: { i: String(i) } });
      // Old versions are dropped in the background, about every second.
      let status = 200;
      while (status !== 410)
        ({ status } = await client.get(
          `${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`,
        ));
      const stream = await Stream.open(`${url}${configMaps}?watch=1&resourceVersion=${version}`);
      expect(await stream.ended).toBe(true);
      expect(stream.events).toMatchObject([{ type: 'ERROR', object: { code: 410, reason: 'Expired' } }]);
      await end();
    }
  });

  it('gives services addresses and ports from the ranges it is told', async () => {
    const ranges = ['--service-cluster-ip-range', '10.9.8.0/28', '--service-node-port-range', '31000-31001'];
    const { client, end } = await answering(...inMemory, ...ranges);
    const service = { metadata: { name: 'a' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } };
    const { spec } = (await client.post('/api/v1/namespaces/default/services', service)).body;
    expect(spec.clusterIP).toMatch(/^10\.9\.8\.(\d|1[0-5])$/);
    expect([31_000, 31_001]).toContain(spec.ports[0].nodePort);
    await end();
  });

  it('of `wherry serve` keeps house: what is deleted goes, and namespaces have their account', async () => {
    const { url, client, end } = await answering(...inMemory);
    const goes = async (path: string): Promise<void> => {
      const stream = await Stream.open(`${url}${path.replace('/api/v1/', '/api/v1/watch/')}`);
      await client.delete(path);
      await stream.until((events) => events.at(-1)?.type === 'DELETED');
    };
    await makeHeld(client);
    await goes('/api/v1/namespaces/short');
    for (const path of held) await goes(path);
    // The garbage collector has orphaned its pod.
    const { status, body } = await client.get('/api/v1/namespaces/default/pods/dependent');
    expect({ status, owners: body.metadata.ownerReferences }).toEqual({ status: 200, owners: undefined });
    const account = await Stream.open(`${url}/api/v1/watch/namespaces/kube-public/serviceaccounts/default`);
    await account.until((events) => events.some(({ type }) => type === 'ADDED'));
    await end();
  });

  it.each([
    ['up', ['--controllers', 'none', '--simulated-nodes', '1']],
    ['serve', ['--controllers=none']],
    ['serve', ['--controllers=-namespace,-garbagecollector,-protection,-serviceaccount']],
  ])('of `wherry %s` with %j, like Kubernetes, leaves what is deleted to others', async (command, given) => {
    const args = [...inMemory, ...given, '--like', 'kubernetes', '--create-status', '200'];
    const begun = command === 'serve' ? await answering(...args) : await serving(command, ...args);
    const { client } = begun;
    await makeHeld(client);
    for (const path of ['/api/v1/namespaces/short', ...held]) {
      await client.delete(path);
      expect((await client.get(path)).body.metadata.deletionTimestamp, path).toBeDefined();
    }
    // A running controller would have written by now: these writes come after the events it would have reacted to.
    for (let i = 0; i < 50; i++) await client.post(configMaps, { metadata: { name: `later-${i}` } });
    for (const path of ['/api/v1/namespaces/short', ...held])
      expect((await client.get(path)).status, path).toBe(200);
    expect((await client.get('/api/v1/namespaces/kube-public/serviceaccounts')).body.items).toEqual([]);
    await ('end' in begun ? begun.end() : stop(begun.child));
  });

  it('of `wherry serve` without controllers leaves namespaces to others, and holds nothing else', async () => {
    const { client, end } = await answering(...inMemory, '--controllers=none');
    await makeHeld(client);
    await client.delete('/api/v1/namespaces/short');
    for (const path of held) {
      await client.delete(path);
      expect((await client.get(path)).status, path).toBe(404);
    }
    const { metadata, spec } = (await client.get('/api/v1/namespaces/short')).body;
    expect(metadata.deletionTimestamp).toBeDefined();
    expect(spec.finalizers).toEqual(['kubernetes']);
    await end();
  });
});

/** Of these, one in `npm test`: both are handled by the same line. */
const endSignals = ['SIGTERM', 'SIGINT'] as const;

describe.each(isRelease ? endSignals : endSignals.slice(0, 1))('%s', (signal) => {
  it('ends watches properly, and the process, which said where it is and wrote no file, with code 0', async () => {
    const cwd = await children.folder();
    const child = new Child(['serve', ...inMemory], cwd);
    const url = await child.ready();
    const client = new Client(url);
    await expectThere(child, url);
    const streams = await Promise.all(
      Array.from({ length: 5 }, () => Stream.open(`${url}${configMaps}?watch=1&resourceVersion=0`)),
    );
    await client.post(configMaps, { metadata: { name: 'a' } });
    for (const stream of streams) await stream.until((events) => events.length > 0);
    await stop(child, signal);
    for (const stream of streams) expect(await stream.ended).toBe(true);
    await expect(client.get('/healthz')).rejects.toThrow(/ECONNREFUSED/);
    expect(await readdir(cwd)).toEqual([]);
  });

  it('lets a write that has begun be answered, and what is written is kept over restarts, ended or killed', async () => {
    const args = ['serve', '--port', '0', '--data-dir', join(await children.folder(), 'deep', 'down')];
    const { child, url, client } = await serving(...args);
    const created = await client.post(configMaps, { metadata: { name: 'kept' }, data: { a: 'b' } });
    const body = '{"metadata":{"name":"late"}}';
    const target = new Target();
    target.cluster = { url } as Target['cluster'];
    const socket = target.dial();
    const head = `POST ${configMaps} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head);
    // The server asks for the body, so the request is under way.
    await new Promise((resolve) => socket.once('data', resolve));
    const stream = await Stream.open(`${url}${configMaps}?watch=1&resourceVersion=0`);
    child.signal(signal);
    // It ends watches when it has received the signal.
    expect(await stream.ended).toBe(true);
    socket.write(body);
    const answer = (await readToEnd(socket)).toString('latin1');
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*"name":"late"/);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    const second = await serving(...args);
    expect((await second.client.get(`${configMaps}/late`)).status).toBe(200);
    expect((await second.client.get(`${configMaps}/kept`)).text).toBe(created.text);
    const changed = await second.client.patch(`${configMaps}/kept`, { data: { a: 'c' } });
    expect(Number(changed.body.metadata.resourceVersion)).toBeGreaterThan(
      Number(created.body.metadata.resourceVersion),
    );
    await second.child.kill();
    const third = await serving(...args);
    expect((await third.client.get(`${configMaps}/kept`)).text).toBe(changed.text);
    await stop(third.child);
  });

  it('given twice ends the process at once, which has its data in .wherry when not told where', async () => {
    const cwd = await children.folder();
    const child = new Child(['serve', '--port', '0'], cwd);
    const url = await child.ready();
    const target = new Target();
    target.cluster = { url } as Target['cluster'];
    // A request that does not end delays the shutdown of the first signal.
    const socket = target.dial().on('error', () => undefined);
    socket.write(
      `POST ${configMaps} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    const stream = await Stream.open(`${url}${configMaps}?watch=1&resourceVersion=0`);
    child.signal(signal);
    await stream.ended;
    child.signal(signal);
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(await readdir(cwd)).toEqual(['.wherry']);
    socket.destroy();
  });
});
