/**
 * Proves that the official JavaScript client works over TLS with a certificate and with a token, for a user who may edit
 * one namespace, and that one without rights is refused the same calls.
 */
import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  CoreV1Api,
  Exec,
  KubeConfig,
  Log,
  PortForward,
  type V1ConfigMap,
  type V1Status,
  Watch,
} from '@kubernetes/client-node';
import { beforeAll, describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { credentials, kubeconfigOf, type Person, useSharedCluster } from '../access/people.ts';

const { cluster, port } = useSharedCluster();
const configMaps = '/api/v1/namespaces/default/configmaps';

describe.each(credentials)('the JavaScript client with a %s', (by) => {
  let alice: KubeConfig;
  let eve: KubeConfig;

  beforeAll(() => {
    const configOf = (person: Person): KubeConfig => {
      const config = new KubeConfig();
      config.loadFromString(kubeconfigOf(cluster.cluster, person, by));
      expect(config.getCurrentCluster()?.server).toBe(cluster.cluster.secureUrl);
      return config;
    };
    [alice, eve] = [configOf('alice'), configOf('eve')];
  });

  it('lists what the user may', async () => {
    const { items } = await alice.makeApiClient(CoreV1Api).listNamespacedPod({ namespace: 'default' });
    expect(items.map(({ metadata }) => metadata!.name)).toEqual(['server', 'teller']);
    const elsewhere = alice.makeApiClient(CoreV1Api).listNamespacedPod({ namespace: 'kube-system' });
    await expect(elsewhere).rejects.toMatchObject({
      code: 403,
      body: expect.stringContaining('User \\"alice\\" cannot list resource'),
    });
  });

  it('watches', async () => {
    const name = `watched-by-${by}`;
    const events = new EventEmitter();
    const [seen, ended] = [once(events, 'seen'), once(events, 'ended')];
    const request = await new Watch(alice).watch(
      configMaps,
      {},
      (type, object: V1ConfigMap) => object.metadata!.name === name && events.emit('seen', type),
      () => events.emit('ended'),
    );
    await alice
      .makeApiClient(CoreV1Api)
      .createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name } } });
    expect(await seen).toEqual(['ADDED']);
    request.abort();
    await ended;
  });

  it('runs commands', async () => {
    const stdout = new PassThrough();
    const said = text(stdout);
    const stdin = new PassThrough();
    const status = await new Promise<V1Status>((resolve, reject) => {
      new Exec(alice)
        .exec('default', 'teller', 'main', ['cat'], stdout, null, stdin, false, resolve)
        .catch(reject);
      stdin.end('through the door');
    });
    expect(status).toMatchObject({ status: 'Success' });
    expect(await said).toBe('through the door');
  });

  it('follows logs', async () => {
    const stream = new PassThrough();
    const following = await new Log(alice).log('default', 'teller', 'main', stream, { follow: true });
    let seen = '';
    for await (const chunk of stream) {
      seen += chunk;
      if (seen.includes('line 3\n')) break;
    }
    following.abort();
    expect(seen).toMatch(/^line 0\nline 1\nline 2\nline 3\n/);
  });

  it('forwards ports', async () => {
    const [output, input] = [new PassThrough(), new PassThrough()];
    const socket = (await new PortForward(alice).portForward(
      'default',
      'server',
      [port()],
      output,
      null,
      input,
    )) as unknown as WebSocket;
    input.write('echo\nover the wire');
    let seen = '';
    for await (const chunk of output) {
      seen += chunk;
      if (seen.length >= 'over the wire'.length) break;
    }
    expect(seen).toBe('over the wire');
    socket.close();
    await once(socket, 'close');
  });

  it('is refused each of these for one who may nothing', async () => {
    const api = eve.makeApiClient(CoreV1Api);
    const body = { metadata: { name: 'never' } };
    for (const call of [
      api.listNamespacedPod({ namespace: 'default' }),
      api.createNamespacedConfigMap({ namespace: 'default', body }),
      api.readNamespacedPodLog({ namespace: 'default', name: 'teller' }),
      new Log(eve).log('default', 'teller', 'main', new PassThrough(), { follow: true }),
    ])
      await expect(call).rejects.toMatchObject({ code: 403 });
    const watch = new Promise((_, reject) => {
      new Watch(eve).watch(configMaps, {}, () => undefined, reject).catch(reject);
    });
    await expect(watch).rejects.toThrow('Forbidden');
    const none = new PassThrough();
    for (const call of [
      new Exec(eve).exec('default', 'teller', 'main', ['true'], null, null, null, false),
      new PortForward(eve).portForward('default', 'server', [port()], none, null, none),
    ])
      await expect(call).rejects.toMatchObject({ message: 'Unexpected server response: 403' });
  });
});
