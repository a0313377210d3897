/** Pods of attacks: programs that run beside the server as processes of this machine. */
import { join } from 'node:path';
import { Authority, makeAuthority, servingUsages } from '../../src/pki/authority.ts';
import type { AttackedServer } from './attacked-server.ts';

const backend = join(import.meta.dirname, 'hostile-backend.mjs');
const readyMaxMs = 60_000;
const pauseMs = 50;
const lifeMs = 3_600_000;

export const pods = '/api/v1/namespaces/attack/pods';
/** Ports of `hostile-backend.mjs`. */
export const backendPort = 28_080;
const backendTlsPort = 28_443;

export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + readyMaxMs;
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`${what} did not happen in time`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Runs a container in a pod, and waits until it is ready. */
export async function runPod(server: AttackedServer, name: string, container: object): Promise<void> {
  await server.create(pods, {
    metadata: { name, labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'host', ...container }],
    },
  });
  await until(`pod ${name} is ready`, async () => {
    const { status } = JSON.parse((await server.askLocally(`${pods}/${name}`)).text);
    return status?.conditions?.some((one: Condition) => one.type === 'Ready' && one.status === 'True')
      ? true
      : undefined;
  });
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

/** The pod and service `backend`, which misbehave as paths say. Safe to call again. */
export async function runBackend(server: AttackedServer): Promise<void> {
  const { status } = await server.askLocally(`${pods}/backend`);
  if (status === 200) return;
  const nowMs = Date.now();
  const { cert, key } = new Authority(makeAuthority('attack', nowMs)).issue(
    { subject: { commonName: 'backend' }, usages: servingUsages, hosts: ['backend.attack.svc'], lifeMs },
    nowMs,
  );
  const env = Object.entries({ PORT: backendPort, TLS_PORT: backendTlsPort, CERT: cert, KEY: key });
  await server.create('/api/v1/namespaces/attack/services', {
    metadata: { name: 'backend' },
    spec: {
      selector: { app: 'backend' },
      ports: [
        { name: 'http', port: 80, targetPort: backendPort },
        { name: 'https', port: 443, targetPort: backendTlsPort },
      ],
    },
  });
  await runPod(server, 'backend', {
    command: [process.execPath, backend],
    env: env.map(([name, value]) => ({ name, value: String(value) })),
  });
}
