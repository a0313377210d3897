/**
 * A tenant in a namespace where pod security is `restricted`, who asks for more by odd fields, kinds that make pods, and
 * changes to pods that run. What counts is whose user a program really has.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { type Attack, codesText } from '../attack.ts';
import type { AttackedServer } from '../attacked-server.ts';
import { until } from '../pods.ts';

const place = '/api/v1/namespaces/attack-restricted';
const waitMs = 3_000;

/** What `restricted` asks for. */
const context = {
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

interface Wish {
  readonly metadata?: object;
  readonly spec?: object;
  readonly context?: object;
  readonly container?: object;
}

/** A pod that would be allowed, but for what is wished. */
const podOf = (name: string, { metadata, spec, context: more, container }: Wish) => ({
  metadata: { name, ...metadata },
  spec: {
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: 'host',
        command: ['sh', '-c', 'exec sleep 3600', `attack-restricted-${name}`],
        securityContext: { ...context, ...more },
        ...container,
      },
    ],
    ...spec,
  },
});

const root = { ...context, runAsNonRoot: false, runAsUser: 0 };
const side = {
  name: 'side',
  image: 'host',
  command: ['sh', '-c', 'exec sleep 3600', 'attack-restricted-side'],
};

const wishes: Readonly<Record<string, Wish>> = {
  'own-users': { spec: { hostUsers: false }, context: { runAsUser: 0, runAsNonRoot: false } },
  windows: {
    spec: { os: { name: 'windows' }, securityContext: { runAsNonRoot: true } },
    container: { securityContext: {} },
  },
  'no-user': {},
  'root-in-pod': { spec: { securityContext: { runAsUser: 0 } } },
  'root-in-container': { context: { runAsUser: 0 } },
  'root-group': {
    context: { runAsUser: 65534, runAsGroup: 0 },
    spec: { securityContext: { supplementalGroups: [0], fsGroup: 0 } },
  },
  'root-in-init': {
    context: { runAsUser: 65534 },
    spec: { initContainers: [{ ...side, restartPolicy: 'Always', securityContext: root }] },
  },
  'init-without-context': { context: { runAsUser: 65534 }, spec: { initContainers: [side] } },
  privileged: { context: { runAsUser: 65534, privileged: true } },
  capabilities: { context: { runAsUser: 65534, capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } } },
  'host-path': { context: { runAsUser: 65534 }, spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } },
  'host-pid': { context: { runAsUser: 65534 }, spec: { hostPID: true } },
  'host-network': { context: { runAsUser: 65534 }, spec: { hostNetwork: true } },
  'host-port': { context: { runAsUser: 65534 }, container: { ports: [{ containerPort: 80, hostPort: 80 }] } },
  'proc-mount': { context: { runAsUser: 65534, procMount: 'Unmasked' } },
  sysctl: {
    context: { runAsUser: 65534 },
    spec: { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } },
  },
  'host-process': { context: { runAsUser: 65534, windowsOptions: { hostProcess: true } } },
  unconfined: { context: { runAsUser: 65534, seccompProfile: { type: 'Unconfined' } } },
  'old-annotations': {
    context: { runAsUser: 65534 },
    metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' } },
  },
  mirror: {
    metadata: { annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' } },
    context: { runAsUser: 0, runAsNonRoot: false },
  },
  'chosen-node': { spec: { nodeName: 'attack-node' }, context: { runAsUser: 0, runAsNonRoot: false } },
  handler: { spec: { runtimeClassName: 'process' }, context: { runAsUser: 0, runAsNonRoot: false } },
  lifecycle: {
    context: { runAsUser: 65534 },
    container: { lifecycle: { postStart: { httpGet: { host: '127.0.0.1', port: 1 } } } },
  },
};

/** The programs of these pods that run as root. */
function rootPrograms(): string[] {
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      const mark = /attack-restricted-([a-z-]+)/.exec(line);
      // The server's own helper starts a program, and has its arguments, before it takes on the program's user.
      if (!mark || !line.startsWith('sh\0')) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      if (/^Uid:\t0\t/m.test(status)) found.push(mark[1]!);
    } catch {
      // It has ended.
    }
  return found;
}

async function setUp(server: AttackedServer): Promise<void> {
  const level = 'restricted';
  await server.create('/api/v1/namespaces', {
    metadata: { name: 'attack-restricted', labels: { 'pod-security.kubernetes.io/enforce': level } },
  });
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/attack-restricted';
  const metadata = { name: 'tenant' };
  await server.create(`${rbac}/roles`, {
    metadata,
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
  await server.create(`${rbac}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'tenant' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'tenant' }],
  });
  await until('the namespace has an account', async () =>
    (await server.askLocally(`${place}/serviceaccounts/default`)).status === 200 ? true : undefined,
  );
}

export const attack: Attack = {
  name: 'flags of containers',
  longOnly: true,
  options: ['up', '--ingress-port', '0'],
  run: async (server) => {
    const gotIn: string[] = [];
    const codes: number[] = [];
    const ask = async (path: string, method: string, body: object): Promise<number> => {
      const { status } = await server.ask('tenant', path, { method, body });
      codes.push(status);
      return status;
    };
    await setUp(server);
    const letIn: string[] = [];
    for (const [name, wish] of Object.entries(wishes))
      if ((await ask(`${place}/pods`, 'POST', podOf(name, wish))) < 300) letIn.push(name);
    // Kinds that make pods.
    const { spec } = podOf('job', { context: { runAsUser: 0, runAsNonRoot: false } });
    await ask('/apis/batch/v1/namespaces/attack-restricted/jobs', 'POST', {
      metadata: { name: 'job' },
      spec: { template: { metadata: { labels: { a: 'b' } }, spec } },
    });
    // A pod that runs, changed afterwards.
    await ask(`${place}/pods`, 'POST', podOf('good', { context: { runAsUser: 65534 } }));
    const debug = { spec: { ephemeralContainers: [{ ...side, name: 'debug', securityContext: root }] } };
    const patched = await server.ask('tenant', `${place}/pods/good/ephemeralcontainers`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/strategic-merge-patch+json' },
      body: debug,
    });
    codes.push(patched.status);
    if (patched.status < 300) gotIn.push('an ephemeral container may be root');
    await until('a good pod runs', async () => {
      const { status } = JSON.parse((await server.askLocally(`${place}/pods/good`)).text);
      return status?.phase === 'Running' ? true : undefined;
    });
    const endMs = performance.now() + waitMs;
    const seen = new Set<string>();
    while (performance.now() < endMs) {
      for (const name of rootPrograms()) seen.add(name);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    for (const name of seen) gotIn.push(`${name} runs as root`);
    await server.remove('/api/v1/namespaces/attack-restricted');
    await until('the namespace is gone', async () =>
      (await server.askLocally('/api/v1/namespaces/attack-restricted')).status === 404 ? true : undefined,
    );
    return { gotIn, says: `${codesText(codes)}; let in: ${letIn.join(', ')}` };
  },
};
