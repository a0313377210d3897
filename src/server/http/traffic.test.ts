/** Proves that connections to nodes and pods have limits of their own, and are released however they end. */
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Metrics, parseMetrics } from '../../../test/support/metrics.ts';
import { useProxied } from '../pods/proxying.fixture.ts';

const api = useProxied({ connectionsMax: 3, connectionsPerClientMax: 2, readsInFlightMax: 1 });
const path = '/api/v1/nodes/n/proxy/slow';
const held: ServerResponse[] = [];

beforeAll(async () => {
  api.agents.servers.set(
    'n',
    createServer((_request, response) => void held.push(response)),
  );
  await api.seed('nodes', '', {
    metadata: { name: 'n' },
    status: { addresses: [{ type: 'InternalIP', address: '10.1.2.3' }] },
  });
});

const metrics = async (): Promise<Metrics> => parseMetrics((await api.get('/metrics')).text);

async function settled(connections: number): Promise<void> {
  await expect.poll(async () => (await metrics()).value('wherry_connections')).toBe(connections);
}

/** From a local address; answered when the agent allows it. */
function ask(localAddress: string) {
  const sent = request(`${api.url}${path}`, { agent: false, localAddress });
  sent.on('error', () => undefined).end();
  api.closing(() => sent.destroy());
  return sent;
}

describe('connections', () => {
  it('have a bound for each client and one in all', async () => {
    // Proves both limits, that connections are not counted as requests, and that closing them makes room.
    const first = ask('127.0.0.1');
    ask('127.0.0.1');
    await settled(2);
    const own = await api.get(path);
    expect(own).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
      body: {
        reason: 'TooManyRequests',
        message: 'this client has too many connections to pods and nodes open, please try again later',
      },
    });
    ask('127.0.0.2');
    await settled(3);
    const [refused] = await once(ask('127.0.0.3'), 'response');
    expect(refused.statusCode).toBe(429);
    const figures = await metrics();
    expect(figures.value('wherry_limit_reached_total', { limit: 'max-connections-per-client' })).toBe(1);
    expect(figures.value('wherry_limit_reached_total', { limit: 'max-connections' })).toBe(1);
    const labels = { verb: 'CONNECT', resource: 'nodes', subresource: 'proxy', scope: 'resource' };
    expect(figures.value('apiserver_longrunning_requests', labels)).toBe(3);
    first.destroy();
    await settled(2);
    ask('127.0.0.1');
    await settled(3);
  });

  it('are counted out when they are answered, refused or cut off', async () => {
    await settled(0);
    const sent = ask('127.0.0.1');
    await settled(1);
    held.at(-1)!.end('done');
    const [response] = await once(sent, 'response');
    response.resume();
    await settled(0);
    expect((await api.get('/api/v1/nodes/none/proxy/')).status).toBe(404);
    expect((await api.get('/api/v1/namespaces/ns/pods/none/log')).status).toBe(404);
    await settled(0);
    expect((await metrics()).value('apiserver_longrunning_requests')).toBe(0);
  });
});
