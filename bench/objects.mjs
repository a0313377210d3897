/** The objects used in measurements: pods of about 1.5 KB as the server returns them. */
import { Agent, request } from 'node:http';

const annotation = 'x'.repeat(300);

export const podNamed = (name, index) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    labels: { app: 'web', group: `g${index % 10}` },
    annotations: { 'example.com/note': annotation },
  },
  spec: {
    automountServiceAccountToken: false,
    containers: [{ name: 'web', image: 'example.com/web:1', ports: [{ containerPort: 80 }] }],
  },
});

/** Sends JSON over kept connections; half the work of `fetch`, which would be slower than the server. */
export function send(agent, method, url, value, type = 'application/json') {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': type };
    const sent = request(url, { agent, method, headers }, (answer) => {
      if (answer.statusCode >= 300) reject(new Error(`${url}: HTTP ${answer.statusCode}`));
      answer.resume().on('end', resolve).on('error', reject);
    });
    sent.on('error', reject).end(JSON.stringify(value));
  });
}

/** Creates objects concurrently, in a namespace that is created if needed. */
export async function fill(url, count, { namespace = 'default', prefix = 'pod', width = 64 } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: width });
  const about = { kind: 'Namespace', apiVersion: 'v1', metadata: { name: namespace } };
  await send(agent, 'POST', `${url}/api/v1/namespaces`, about).catch(() => undefined);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      const pod = podNamed(`${prefix}-${String(index).padStart(6, '0')}`, index);
      await send(agent, 'POST', `${url}/api/v1/namespaces/${namespace}/pods`, pod);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  agent.destroy();
}
