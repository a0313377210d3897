/** Objects for tests of controllers, and how to wait for their state. */
import type { Client, Json } from '../support/http.ts';

const mib = 'Mi';

/** A healthy node, as its agent would report it. */
export async function makeNode(
  client: Client,
  name: string,
  options: {
    cpu?: string;
    memory?: string;
    pods?: string;
    labels?: Record<string, string>;
    spec?: object;
  } = {},
): Promise<void> {
  const { cpu = '4', memory = `4096${mib}`, pods = '110', labels = {}, spec = {} } = options;
  const amounts = { cpu, memory, pods };
  await client.post('/api/v1/nodes', {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec,
  });
  await heartbeat(client, name, amounts);
}

/** Reports the node as healthy. */
export async function heartbeat(client: Client, name: string, amounts: object = {}): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const status = { capacity: amounts, allocatable: amounts };
  const reply = await client.patch(`/api/v1/nodes/${name}/status`, {
    status: {
      ...(Object.keys(amounts).length ? status : {}),
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'kubelet is posting ready status',
          lastHeartbeatTime: now,
          lastTransitionTime: now,
        },
      ],
    },
  });
  if (reply.status !== 200) throw new Error(reply.text);
}

export const podNamed = (name: string, spec: object = {}, metadata: object = {}): Json => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'host', command: ['true'] }], ...spec },
});

/** Waits until an object fits; the error shows its last state. */
export async function until(client: Client, path: string, fits: (object: Json) => boolean): Promise<Json> {
  const [collection, name] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)];
  const selector = encodeURIComponent(`metadata.name=${name}`);
  const watch = await client.watch(`${collection}?watch=true&resourceVersion=0&fieldSelector=${selector}`);
  try {
    const event = await watch.until(({ type, object }) => type !== 'DELETED' && fits(object));
    return event.object;
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}\n${(await client.get(path)).text}`);
  } finally {
    watch.close();
  }
}

/** Waits until a list fits. */
export async function untilList(
  client: Client,
  path: string,
  fits: (items: Json[]) => boolean,
): Promise<Json[]> {
  const mark = path.includes('?') ? '&' : '?';
  const watch = await client.watch(`${path}${mark}watch=true&resourceVersion=0`);
  try {
    for (;;) {
      const { items } = (await client.get(path)).body;
      if (fits(items)) return items;
      await watch.next();
    }
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}\n${(await client.get(path)).text}`);
  } finally {
    watch.close();
  }
}
