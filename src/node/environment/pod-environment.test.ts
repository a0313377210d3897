/** Proves the environment and the command line of a container, from objects of a running cluster. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Container, Node, Pod, PodSpec, Service } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { configMaps, secrets, services } from '../../client/resources.ts';
import { type Cluster, start } from '../../cluster/index.ts';
import type { ImageCommand } from '../runtime/runtime.ts';
import { ConfigObjects } from './config-objects.ts';
import { ConfigError, containerEnvironment } from './pod-environment.ts';

let cluster: Cluster;
let client: Client;
let objects: ConfigObjects;
let known: readonly Service[];

const node: Node = {
  metadata: { name: 'n1', labels: { 'kubernetes.io/hostname': 'host-1' } },
  status: { allocatable: { cpu: '4', memory: '8Gi' } },
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

beforeAll(async () => {
  cluster = await start({ store: 'memory' });
  client = new Client(cluster.url);
  objects = new ConfigObjects(client);
  await client.create(configMaps, 'default', {
    metadata: { name: 'settings' },
    data: { COLOR: 'blue', 'key.dotted': 'yes', TEMPLATE: '$(COLOR)' },
    binaryData: { BINARY: base64('\x00\x01') },
  });
  await client.create(secrets, 'default', {
    metadata: { name: 'login' },
    data: { user: base64('jo'), password: base64('$(COLOR)ü'), zero: base64('a\0b') },
  });
  const service = (name: string, spec: Service['spec']) =>
    client.create(services, 'default', { metadata: { name }, spec });
  await service('redis-master', {
    clusterIP: '10.0.0.11',
    ports: [
      { name: 'client', port: 6379 },
      { name: 'gossip-udp', port: 7000, protocol: 'UDP' },
    ],
  });
  await service('headless', { clusterIP: 'None', ports: [{ port: 80 }] });
  await service('elsewhere', { type: 'ExternalName', externalName: 'example.com' });
  known = (await client.list(services)).items;
});

afterAll(async () => {
  objects.close();
  client.close();
  await cluster.close();
});

afterEach(() => {
  delete process.env.AGENT_TOKEN;
});

interface Given {
  readonly image?: ImageCommand;
  readonly spec?: PodSpec;
  readonly namespace?: string;
}

function environment(container: Container, { image, spec, namespace = 'default' }: Given = {}) {
  const pod: Pod = {
    metadata: { name: 'web-1', namespace, uid: 'u', labels: { app: 'web' } },
    spec: { enableServiceLinks: false, nodeName: 'n1', ...spec, containers: [container] },
  };
  const where = { podIP: '10.1.0.5', hostIP: '192.168.0.9', node };
  return containerEnvironment({ pod, container, image, ...where, services: known, objects });
}

const variables = async (container: Container, given?: Given) => (await environment(container, given)).env;

describe('variables', () => {
  it('see nothing of the agent but where programs are', async () => {
    // Proves that the agent's own variables do not leak, and which variables every process gets.
    process.env.AGENT_TOKEN = 'secret';
    const env = await variables({ name: 'c' });
    expect(
      Object.keys(env)
        .filter((name) => !name.startsWith('KUBERNETES_'))
        .sort(),
    ).toEqual(['HOSTNAME', 'PATH']);
    expect(env.PATH).toBe(process.env.PATH);
    expect(env.HOSTNAME).toBe('web-1');
  });

  it('know the name of the pod on its network', async () => {
    // Proves HOSTNAME: from `hostname`, with host network, and for names too long for a host.
    expect((await variables({}, { spec: { hostname: 'db-0' } })).HOSTNAME).toBe('db-0');
    expect((await variables({}, { spec: { hostNetwork: true } })).HOSTNAME).toBe('host-1');
    const long = `${'x'.repeat(62)}-tail`;
    expect((await variables({}, { spec: { hostname: long } })).HOSTNAME).toBe('x'.repeat(62));
  });

  it('of services', async () => {
    // Proves both forms of every port; services without an address are left out; without links only the API's
    // service is set.
    const env = await variables({}, { spec: { enableServiceLinks: true } });
    const redis = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('REDIS')));
    expect(redis).toEqual({
      REDIS_MASTER_SERVICE_HOST: '10.0.0.11',
      REDIS_MASTER_SERVICE_PORT: '6379',
      REDIS_MASTER_SERVICE_PORT_CLIENT: '6379',
      REDIS_MASTER_SERVICE_PORT_GOSSIP_UDP: '7000',
      REDIS_MASTER_PORT: 'tcp://10.0.0.11:6379',
      REDIS_MASTER_PORT_6379_TCP: 'tcp://10.0.0.11:6379',
      REDIS_MASTER_PORT_6379_TCP_PROTO: 'tcp',
      REDIS_MASTER_PORT_6379_TCP_PORT: '6379',
      REDIS_MASTER_PORT_6379_TCP_ADDR: '10.0.0.11',
      REDIS_MASTER_PORT_7000_UDP: 'udp://10.0.0.11:7000',
      REDIS_MASTER_PORT_7000_UDP_PROTO: 'udp',
      REDIS_MASTER_PORT_7000_UDP_PORT: '7000',
      REDIS_MASTER_PORT_7000_UDP_ADDR: '10.0.0.11',
    });
    expect(Object.keys(env).filter((name) => /^(HEADLESS|ELSEWHERE)/.test(name))).toEqual([]);
    for (const given of [{}, { namespace: 'other', spec: { enableServiceLinks: true } }]) {
      const few = await variables({}, given);
      expect(few.KUBERNETES_SERVICE_HOST).toBe('10.0.0.1');
      expect(few.KUBERNETES_SERVICE_PORT).toMatch(/^\d+$/);
      expect(few.REDIS_MASTER_SERVICE_HOST).toBeUndefined();
    }
  });

  it('come from sources in the order of their weight', async () => {
    // Proves the precedence image < services < envFrom < env, and that the later of two equal names wins.
    const image = {
      entrypoint: ['x'],
      args: [],
      env: { A: 'image', B: 'image', REDIS_MASTER_PORT: 'image' },
    };
    const env = await variables(
      {
        envFrom: [
          { configMapRef: { name: 'settings' } },
          { secretRef: { name: 'login', optional: true }, prefix: 'L_' },
        ],
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '$(A)2' },
          { name: 'user', value: '' },
        ],
      },
      { image, spec: { enableServiceLinks: true } },
    ).catch((error: Error) => error.message);
    // The secret's value contains a NUL, which no process can be given.
    expect(env).toBe('environment variable L_zero contains a NUL character');
    const good = await variables(
      {
        envFrom: [{ configMapRef: { name: 'settings' } }],
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '$(A)2' },
          { name: 'COLOR', value: 'red' },
          { name: 'EMPTY' },
        ],
      },
      { image, spec: { enableServiceLinks: true } },
    );
    expect(good).toMatchObject({
      A: '12',
      B: 'image',
      COLOR: 'red',
      EMPTY: '',
      REDIS_MASTER_PORT: 'tcp://10.0.0.11:6379',
    });
    // Values from objects are not expanded; invalid names and binary data are left out.
    expect(good).toMatchObject({ TEMPLATE: '$(COLOR)', 'key.dotted': 'yes' });
    expect(good).not.toHaveProperty('BINARY');
  });

  it('skip keys that cannot be names', async () => {
    // Proves envFrom with a prefix, also one that makes invalid names.
    const env = await variables({ envFrom: [{ prefix: 'P=', configMapRef: { name: 'settings' } }] });
    expect(Object.keys(env).filter((name) => name.startsWith('P='))).toEqual([]);
    const prefixed = await variables({ envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }] });
    expect(prefixed.P_COLOR).toBe('blue');
  });

  it('refer to earlier ones, and to services', async () => {
    // Proves the order of expansion: later variables and those of the image are not expanded.
    const env = await variables(
      {
        env: [
          { name: 'EARLY', value: '$(LATE) $(FROM_IMAGE)' },
          { name: 'LATE', value: '$(KUBERNETES_SERVICE_HOST)' },
          { name: 'BOTH', value: '$(EARLY)/$(LATE)/$$(LATE)' },
        ],
      },
      { image: { entrypoint: ['x'], args: [], env: { FROM_IMAGE: 'i' } } },
    );
    expect(env.EARLY).toBe('$(LATE) $(FROM_IMAGE)');
    expect(env.BOTH).toBe('$(LATE) $(FROM_IMAGE)/10.0.0.1/$(LATE)');
  });

  it('come from the pod, from config maps and from secrets', async () => {
    // Proves every kind of source.
    const env = await variables({
      name: 'c',
      resources: { requests: { cpu: '100m' } },
      env: [
        { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
        { name: 'APP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
        { name: 'MEM', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Gi' } } },
        { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'COLOR' } } },
        { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
        { name: 'O1', valueFrom: { secretKeyRef: { name: 'none', key: 'x', optional: true } } },
        { name: 'O2', valueFrom: { configMapKeyRef: { name: 'settings', key: 'none', optional: true } } },
        { name: '__proto__', value: 'own' },
      ],
    });
    expect(env).toMatchObject({ IP: '10.1.0.5', HOST: '192.168.0.9', APP: 'web', CPU: '100', MEM: '8' });
    expect(env).toMatchObject({ COLOR: 'blue', PASSWORD: '$(COLOR)ü' });
    expect('O1' in env || 'O2' in env).toBe(false);
    expect(Object.getOwnPropertyDescriptor(env, '__proto__')?.value).toBe('own');
  });

  it('show a change made just before', async () => {
    // Proves that a starting container never gets a cached object.
    const color: Container = {
      env: [{ name: 'V', valueFrom: { configMapKeyRef: { name: 'fast', key: 'v' } } }],
    };
    await client.create(configMaps, 'default', { metadata: { name: 'fast' }, data: { v: '1' } });
    expect((await variables(color)).V).toBe('1');
    await client.patch(configMaps, 'default', 'fast', { data: { v: '2' } });
    expect((await variables(color)).V).toBe('2');
  });
});

describe('what cannot be', () => {
  const key = (name: string, at: string) => ({ name, key: at });
  it.each<[Container, string]>([
    [{ envFrom: [{ configMapRef: { name: 'x' } }] }, 'configmap "x" not found'],
    [{ envFrom: [{ secretRef: { name: 'x' } }] }, 'secret "x" not found'],
    [{ env: [{ name: 'A', valueFrom: { configMapKeyRef: key('x', 'k') } }] }, 'configmap "x" not found'],
    [
      { env: [{ name: 'A', valueFrom: { secretKeyRef: key('login', 'k') } }] },
      "couldn't find key k in Secret default/login",
    ],
    [
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: key('settings', 'toString') } }] },
      "couldn't find key toString in ConfigMap default/settings",
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] },
      'unsupported fieldPath: spec.x',
    ],
    [
      { env: [{ name: 'A', valueFrom: { fileKeyRef: {} } }] },
      'the source of environment variable A is not supported by this node',
    ],
    [
      { env: [{ name: 'A', value: 'x'.repeat(131_072) }] },
      'environment variable A has more than 131072 bytes',
    ],
    [{ command: ['a\0b'] }, 'an argument contains a NUL character'],
  ])('%#', async (container, message) => {
    // Proves that each is a ConfigError with Kubernetes' message.
    const failure = await environment(container).catch((error: Error) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as Error).message).toBe(message);
  });

  it('is more than a process can be given', async () => {
    // Proves the bounds on expanded references: one value, all values, all arguments.
    const doubling = Array.from({ length: 40 }, (_, i) => ({ name: `V${i + 1}`, value: `$(V${i})$(V${i})` }));
    await expect(environment({ env: [{ name: 'V0', value: 'xxx' }, ...doubling] })).rejects.toThrow(
      'a value expands to more than 131072 characters',
    );
    const big = { name: 'BIG', value: 'x'.repeat(100_000) };
    const copies = Array.from({ length: 30_000 }, (_, i) => ({ name: `C${i}`, value: '$(BIG)' }));
    await expect(environment({ env: [big, ...copies] })).rejects.toThrow('have more than 2097152 bytes');
    const args = Array.from({ length: 30_000 }, () => '$(BIG)');
    await expect(environment({ env: [big], args })).rejects.toThrow('have more than 2097152 bytes');
  });

  it('is a server that does not answer', async () => {
    // Proves that an unreachable API is reported as a configuration error, too.
    const gone = new Client('http://127.0.0.1:1');
    const container: Container = { envFrom: [{ configMapRef: { name: 'x', optional: true } }] };
    const pod: Pod = { metadata: { name: 'p', namespace: 'default' }, spec: { containers: [container] } };
    const inputs = { pod, container, image: undefined, podIP: '', hostIP: '', node, services: [] };
    const failure = await containerEnvironment({ ...inputs, objects: new ConfigObjects(gone) }).catch(
      (e: Error) => e,
    );
    expect(failure).toBeInstanceOf(ConfigError);
    expect((failure as Error).message).toMatch(/^failed to read configmap "x": .*ECONNREFUSED/);
    gone.close();
  });
});

describe('the command line', () => {
  const image: ImageCommand = { entrypoint: ['/bin/img', '-i'], args: ['serve'], workingDir: '/img' };
  it.each<[string, Container, ImageCommand | undefined, string[]]>([
    ['the image alone', {}, image, ['/bin/img', '-i', 'serve']],
    ['arguments', { args: ['a'] }, image, ['/bin/img', '-i', 'a']],
    ['a command', { command: ['c'] }, image, ['c']],
    ['both', { command: ['c'], args: ['a', 'b'] }, image, ['c', 'a', 'b']],
    ['both without an image', { command: ['c'], args: ['a'] }, undefined, ['c', 'a']],
    ['nothing at all', {}, undefined, []],
    ['an image without an entry point', {}, { entrypoint: [], args: ['sh'] }, ['sh']],
    ['arguments alone for it', { args: ['echo', 'a'] }, { entrypoint: [], args: ['sh'] }, ['echo', 'a']],
    [
      'references',
      { env: [{ name: 'V', value: 'v w' }], command: ['sh', '$(V)'], args: ['$$(V) $(X)'] },
      image,
      ['sh', 'v w', '$(V) $(X)'],
    ],
  ])('of %s', async (_, container, from, expected) => {
    // Proves which part replaces which, and that an expanded reference stays one argument.
    expect((await environment(container, { image: from })).command).toEqual(expected);
  });

  it('leaves the image as it is', async () => {
    // Proves that only text of the pod is expanded, not that of the image.
    const literal = { entrypoint: ['$(V)'], args: ['$$'] };
    expect((await environment({ env: [{ name: 'V', value: 'v' }] }, { image: literal })).command).toEqual([
      '$(V)',
      '$$',
    ]);
  });

  it('runs in the folder of the pod, else of the image', async () => {
    // Proves the working directory.
    expect((await environment({ workingDir: '/own' }, { image })).workingDir).toBe('/own');
    expect((await environment({}, { image })).workingDir).toBe('/img');
    expect((await environment({})).workingDir).toBeUndefined();
  });
});
