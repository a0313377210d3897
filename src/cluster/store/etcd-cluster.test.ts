// Proves that servers with the store etcd are one cluster: each sees at once what the others write.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { describeWith } from '../../../test/support/tools.ts';
import { Authority, clientUsages, makeAuthority, servingUsages, yearMs } from '../../pki/authority.ts';
import { TestEtcd } from '../../store/etcd/etcd-server.fixture.ts';
import type { Cluster } from '../cluster.ts';
import type { StartOptions } from '../options/start-options.ts';
import { start } from '../start.ts';

describeWith('etcd-server')('clusters on etcd', () => {
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of open.splice(0).reverse()) await each.close();
  });
  const startEtcd = async (...options: Parameters<typeof TestEtcd.start>): Promise<TestEtcd> => {
    const etcd = await TestEtcd.start(...options);
    open.push(etcd);
    return etcd;
  };
  const serve = async (options: StartOptions): Promise<Cluster> => {
    const cluster = await start({ store: 'etcd', controllers: ['housekeeping'], ...options });
    open.push(cluster);
    return cluster;
  };
  const configMaps = ({ url }: Cluster): string => `${url}/api/v1/namespaces/default/configmaps`;
  const send = async (method: string, url: string, body?: object): Promise<[number, any]> => {
    const response = await fetch(url, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    return [response.status, await response.json()];
  };
  const named = (name: string, data = {}) => ({ metadata: { name }, data });

  it('show each other what they write, and go on when etcd was away', async () => {
    const etcd = await startEtcd();
    const servers = { etcd: { servers: etcd.urls } };
    const [one, two] = [await serve(servers), await serve(servers)];
    for (let i = 0; i < 20; i++) {
      const [writer, reader] = i % 2 ? [one, two] : [two, one];
      const [created, object] = await send('POST', configMaps(writer), named(`map-${i}`));
      expect(created).toBe(200);
      const [, list] = await send('GET', configMaps(reader));
      expect(list.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toContain(
        `map-${i}`,
      );
      expect(
        await send('PUT', `${configMaps(reader)}/map-${i}`, { ...object, data: { a: 'b' } }),
      ).toMatchObject([200, {}]);
      expect(await send('PUT', `${configMaps(writer)}/map-${i}`, object)).toMatchObject([409, {}]);
    }
    await etcd.kill(0);
    const writing = send('POST', configMaps(one), named('while-away'));
    await etcd.restart(0);
    expect((await writing)[0]).toBe(200);
    expect((await send('GET', `${configMaps(two)}/while-away`))[0]).toBe(200);
  });

  it('elect one server to run the controllers', async () => {
    const etcd = await startEtcd();
    const servers = { etcd: { servers: etcd.urls } };
    const [, two] = [await serve(servers), await serve(servers)];
    const leases = `${two.url}/apis/coordination.k8s.io/v1/namespaces/kube-system/leases`;
    await expect.poll(async () => (await send('GET', leases))[1].items.length, { timeout: 60_000 }).toBe(1);
  });

  it('refuse an object that etcd could not take', async () => {
    const etcd = await startEtcd();
    const cluster = await serve({ etcd: { servers: etcd.urls } });
    const container = { name: 'c', image: 'i', args: ['x'.repeat(1_600_000)] };
    const large = { metadata: { name: 'large' }, spec: { containers: [container] } };
    const pods = `${cluster.url}/api/v1/namespaces/default/pods`;
    expect(await send('POST', pods, large)).toMatchObject([
      413,
      { kind: 'Status', reason: 'RequestEntityTooLarge' },
    ]);
  });

  it('keep apart under prefixes of their own', async () => {
    const etcd = await startEtcd();
    const [one, two] = await Promise.all(
      ['/one', '/two'].map((prefix) => serve({ etcd: { servers: etcd.urls, prefix } })),
    );
    await send('POST', configMaps(one!), named('mine'));
    expect((await send('GET', configMaps(one!)))[1].items.length).toBe(1);
    expect((await send('GET', configMaps(two!)))[1].items.length).toBe(0);
  });

  it('keep events in an etcd of their own', async () => {
    const [main, other] = [await startEtcd(), await startEtcd()];
    const apart = { etcd: { servers: main.urls, eventServers: other.urls } };
    const [one, two] = [await serve(apart), await serve(apart)];
    const events = ({ url }: Cluster): string => `${url}/api/v1/namespaces/default/events`;
    const event = (name: string) => ({
      metadata: { name },
      involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
      reason: 'Test',
    });
    for (let i = 0; i < 30; i++)
      expect((await send('POST', configMaps(one), named(`map-${i}`)))[0]).toBe(200);
    const [, before] = await send('GET', events(two));
    const [code, made] = await send('POST', events(one), event('first'));
    expect(code).toBe(200);
    // Each etcd counts for itself.
    expect(Number(made.metadata.resourceVersion)).toBeLessThan(30);
    const watching = await fetch(
      `${events(two)}?watch=true&resourceVersion=${before.metadata.resourceVersion}`,
    );
    const { value } = await watching.body!.getReader().read();
    expect(JSON.parse(Buffer.from(value!).toString().split('\n')[0]!)).toMatchObject({
      type: 'ADDED',
      object: { metadata: made.metadata },
    });
    expect((await send('PUT', `${events(two)}/first`, { ...made, count: 2 }))[0]).toBe(200);
    expect(await send('PUT', `${events(one)}/first`, made)).toMatchObject([409, {}]);
    expect(await send('GET', `${events(one)}/first`)).toMatchObject([200, { count: 2 }]);
    const together = await serve({ etcd: { servers: main.urls } });
    expect((await send('GET', configMaps(together)))[1].items.length).toBe(30);
    expect(await send('GET', `${events(together)}/first`)).toMatchObject([404, {}]);
    expect((await send('DELETE', `${events(two)}/first`))[0]).toBe(200);
    expect(await send('GET', `${events(one)}/first`)).toMatchObject([404, {}]);
    expect((await fetch(`${one.url}/readyz`)).status).toBe(200);
  });

  it('use certificates, and say which option is wrong', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'wherry-etcd-tls-'));
    open.push({ close: () => rm(folder, { recursive: true }) });
    const authority = new Authority(makeAuthority('etcd', Date.now()));
    const issue = (commonName: string) =>
      authority.issue(
        {
          subject: { commonName },
          usages: [...new Set([...servingUsages, ...clientUsages])],
          hosts: ['127.0.0.1'],
          lifeMs: yearMs,
        },
        Date.now(),
      );
    const [server, client] = [issue('server'), issue('client')];
    const texts = { ca: authority.pem.cert, cert: server.cert, key: server.key };
    const files = { ...texts, clientCert: client.cert, clientKey: client.key };
    const file = (name: keyof typeof files): string => path.join(folder, name);
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
    const etcd = await startEtcd({
      tls: { ca: Buffer.from(texts.ca), cert: Buffer.from(client.cert), key: Buffer.from(client.key) },
      tlsArgs: [
        ['--cert-file', file('cert'), '--key-file', file('key')],
        ['--client-cert-auth', '--trusted-ca-file', file('ca')],
      ].flat(),
    });
    const servers = etcd.urls;
    const certified = { certFile: file('clientCert'), keyFile: file('clientKey') };
    const cluster = await serve({ etcd: { servers, caFile: file('ca'), ...certified } });
    expect((await send('POST', configMaps(cluster), named('secured')))[0]).toBe(200);
    await expect(serve({ etcd: { servers, ...certified } })).rejects.toThrow(/set --etcd-cafile/);
    await expect(serve({ etcd: { servers, caFile: file('ca') } })).rejects.toThrow(/set --etcd-certfile/);
    await expect(serve({ etcd: { servers: [servers[0]!.replace('https', 'http')] } })).rejects.toThrow(
      /https:\/\/ in --etcd-servers/,
    );
    await expect(serve({ etcd: { servers: [] } })).rejects.toThrow('needs the addresses of its members');
    await expect(serve({ etcd: { servers, caFile: file('ca'), certFile: file('cert') } })).rejects.toThrow(
      'needs its key',
    );
  });
});
