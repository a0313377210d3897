/**
 * Small objects for wire tests. Config maps have no validation rules and no controllers, so the generic code
 * is tested alone.
 */
import type { Client, Json } from '../support/http.ts';

export const configMaps = '/api/v1/namespaces/default/configmaps';
export const pods = '/api/v1/namespaces/default/pods';
export const controllers = '/api/v1/namespaces/default/replicationcontrollers';
export const services = '/api/v1/namespaces/default/services';
export const jobs = '/apis/extensions/v1beta1/namespaces/default/jobs';

export const configMap = (name: string, data: Json = { a: '1' }, metadata: Json = {}): Json => ({
  metadata: { name, ...metadata },
  data,
});

export const pod = (name: string, metadata: Json = {}, spec: Json = {}): Json => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'registry.example/c:1' }], ...spec },
});

const template = (name: string, restartPolicy: string): Json => ({
  metadata: { labels: { app: name } },
  spec: { restartPolicy, containers: [{ name: 'c', image: 'registry.example/c:1' }] },
});

export const controller = (name: string, replicas = 0): Json => ({
  metadata: { name },
  spec: { replicas, selector: { app: name }, template: template(name, 'Always') },
});

export const job = (name: string): Json => ({
  metadata: { name },
  spec: { parallelism: 0, selector: { matchLabels: { app: name } }, template: template(name, 'Never') },
});

export const service = (name: string): Json => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } });

/** Creates an object; throws if it is refused. */
export async function created(client: Client, path: string, object: Json): Promise<Json> {
  const reply = await client.post(path, object);
  if (reply.status !== 200) throw new Error(`POST ${path}: ${reply.text}`);
  return reply.body;
}

/** The server's current version, from a list. */
export async function currentVersion(client: Client): Promise<number> {
  return Number((await client.get('/api/v1/namespaces')).body.metadata.resourceVersion);
}
