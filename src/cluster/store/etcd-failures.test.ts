// Proves what clients and operators get to read when etcd refuses: no space, no rights, a learner, too few members.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { describeWith } from '../../../test/support/tools.ts';
import { MessageReader } from '../../api/protobuf/message-reader.ts';
import { MessageWriter } from '../../api/protobuf/message-writer.ts';
import { Authority, clientUsages, makeAuthority, servingUsages, yearMs } from '../../pki/authority.ts';
import { etcds, TestEtcd, type TestEtcdOptions } from '../../store/etcd/etcd-server.fixture.ts';
import type { Cluster } from '../cluster.ts';
import type { StartOptions } from '../options/start-options.ts';
import { start } from '../start.ts';

const auth = (method: string): string => `/etcdserverpb.Auth/${method}`;
const text = (value: string): Buffer => Buffer.from(value);

describeWith('etcd-server')('servers', () =>
  describe.each(etcds)('on an etcd %s that refuses', (_, program) => {
    const open: { close(): Promise<void> }[] = [];
    afterEach(async () => {
      for (const each of open.splice(0).reverse()) await each.close();
    });
    const startEtcd = async (options: TestEtcdOptions = {}): Promise<TestEtcd> => {
      const etcd = await TestEtcd.start({ program, ...options });
      open.push(etcd);
      return etcd;
    };
    const serve = async (etcd: NonNullable<StartOptions['etcd']>): Promise<Cluster> => {
      const cluster = await start({ store: 'etcd', controllers: [], etcd });
      open.push(cluster);
      return cluster;
    };
    const maps = ({ url }: Cluster, name = ''): string =>
      `${url}/api/v1/namespaces/default/configmaps${name && `/${name}`}`;
    const send = async (method: string, url: string, body?: object): Promise<[number, any]> => {
      const response = await fetch(url, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
      return [response.status, await response.json()];
    };
    const named = (name: string) => ({ metadata: { name } });
    /** Turns authentication on: from then on only root may do anything. */
    const demandUsers = async (etcd: TestEtcd, ...others: string[]): Promise<void> => {
      for (const name of ['root', ...others])
        await etcd.call(
          0,
          auth('UserAdd'),
          new MessageWriter().bytes(1, text(name)).bytes(2, text('password')).finish(),
        );
      await etcd.call(
        0,
        auth('UserGrantRole'),
        new MessageWriter().bytes(1, text('root')).bytes(2, text('root')).finish(),
      );
      await etcd.call(0, auth('AuthEnable'));
    };

    it('tells what to do without space, and deletes and reads all the same', async () => {
      const etcd = await startEtcd();
      const cluster = await serve({ servers: etcd.urls });
      for (const name of ['one', 'two'])
        expect((await send('POST', maps(cluster), named(name)))[0]).toBe(200);
      const alarm = async (action: number): Promise<void> => {
        const member = new MessageReader(await etcd.call(0, '/etcdserverpb.Maintenance/Status'));
        let id = 0n;
        while (member.next())
          if (member.field === 1) {
            const header = member.message();
            while (header.next())
              if (header.field === 2) id = BigInt(header.id());
              else header.skip();
          } else member.skip();
        // The id has 64 bits, so it is written by hand.
        const bytes: number[] = [8, action, 16];
        for (; id > 127n; id >>= 7n) bytes.push(Number(id & 127n) + 128);
        bytes.push(Number(id), 24, 1);
        await etcd.call(0, '/etcdserverpb.Maintenance/Alarm', Buffer.from(bytes));
      };
      await alarm(1);
      const [code, refused] = await send('POST', maps(cluster), named('three'));
      expect([code, refused.reason, refused.message]).toEqual([
        500,
        'InternalError',
        expect.stringMatching(
          /etcd has no space left.*compact and defragment it, then clear its alarm NOSPACE/,
        ),
      ]);
      expect((await fetch(`${cluster.url}/readyz`)).status).toBe(500);
      expect((await fetch(`${cluster.url}/livez`)).status).toBe(200);
      expect((await send('DELETE', maps(cluster, 'one')))[0]).toBe(200);
      expect((await send('GET', maps(cluster)))[1].items.map((item: any) => item.metadata.name)).toEqual([
        'two',
      ]);
      await alarm(2);
      expect((await send('POST', maps(cluster), named('three')))[0]).toBe(200);
      expect((await fetch(`${cluster.url}/readyz`)).status).toBe(200);
    });

    it('names the options when etcd wants to know its users', async () => {
      const etcd = await startEtcd();
      await demandUsers(etcd);
      await expect(serve({ servers: etcd.urls })).rejects.toThrow(
        'etcd wants to know its users: set --etcd-certfile and --etcd-keyfile',
      );
    });

    it('names the options when the user of the certificate may not do it', async () => {
      const folder = await mkdtemp(path.join(tmpdir(), 'wherry-etcd-users-'));
      open.push({ close: () => rm(folder, { recursive: true }) });
      const authority = new Authority(makeAuthority('etcd', Date.now()));
      const file = (name: string): string => path.join(folder, name);
      const issue = async (commonName: string) => {
        const issued = authority.issue(
          {
            subject: { commonName },
            usages: [...new Set([...servingUsages, ...clientUsages])],
            hosts: ['127.0.0.1'],
            lifeMs: yearMs,
          },
          Date.now(),
        );
        await writeFile(file(`${commonName}.crt`), issued.cert);
        await writeFile(file(`${commonName}.key`), issued.key);
        return { cert: Buffer.from(issued.cert), key: Buffer.from(issued.key) };
      };
      await writeFile(file('ca'), authority.pem.cert);
      const root = await issue('root');
      for (const name of ['server', 'powerless', 'unknown']) await issue(name);
      const etcd = await startEtcd({
        tls: { ca: text(authority.pem.cert), ...root },
        tlsArgs: [
          ['--cert-file', file('server.crt'), '--key-file', file('server.key')],
          ['--client-cert-auth', '--trusted-ca-file', file('ca')],
        ].flat(),
      });
      await demandUsers(etcd, 'powerless');
      const as = (name: string) => ({
        servers: etcd.urls,
        caFile: file('ca'),
        certFile: file(`${name}.crt`),
        keyFile: file(`${name}.key`),
      });
      const cluster = await serve(as('root'));
      expect((await send('POST', maps(cluster), named('one')))[0]).toBe(200);
      await expect(serve(as('powerless'))).rejects.toThrow(
        /etcd does not allow what the store needs \(etcdserver: permission denied\): check the rights of --etcd-certfile for --etcd-prefix/,
      );
      await expect(serve(as('unknown'))).rejects.toThrow(
        /etcd does not allow what the store needs \(etcdserver: .*\): check the rights of --etcd-certfile/,
      );
    });

    it('uses no learner', async () => {
      const etcd = await startEtcd();
      const learner = await etcd.addLearner();
      await expect(serve({ servers: [learner] })).rejects.toThrow(`${learner}: it is a learner`);
      const cluster = await serve({ servers: [learner, etcd.urls[0]!] });
      expect((await send('POST', maps(cluster), named('one')))[0]).toBe(200);
    });

    it('answers what it knows while most members are stopped, and 504 to the rest', async () => {
      const etcd = await startEtcd({ members: 3 });
      const cluster = await serve({ servers: etcd.urls });
      expect((await send('POST', maps(cluster), named('one')))[0]).toBe(200);
      for (const member of [1, 2]) etcd.pause(member);
      const [[created], [read], [old, list], live] = await Promise.all([
        send('POST', `${maps(cluster)}?timeout=3s`, named('two')),
        send('GET', maps(cluster, 'one')),
        send('GET', `${maps(cluster)}?resourceVersion=0`),
        fetch(`${cluster.url}/livez`),
        expect.poll(async () => (await fetch(`${cluster.url}/readyz`)).status).toBe(500),
      ]);
      expect([created, read, old, list.items.length, live.status]).toEqual([504, 504, 200, 1, 200]);
      for (const member of [1, 2]) etcd.resume(member);
      await expect.poll(async () => (await send('GET', maps(cluster, 'one')))[0]).toBe(200);
      await expect.poll(async () => (await fetch(`${cluster.url}/readyz`)).status).toBe(200);
    });

    it('stops rather than serve an etcd that was set back, or another one', async () => {
      const [etcd, other] = [await startEtcd(), await startEtcd()];
      await expect(serve({ servers: [...etcd.urls, ...other.urls] })).resolves.toBeDefined();
      let failure: Error | undefined;
      const cluster = await start({
        store: 'etcd',
        controllers: [],
        etcd: { servers: [...etcd.urls, ...other.urls] },
        onFatal: (error) => {
          failure = error;
        },
      });
      open.push(cluster);
      await etcd.kill(0);
      await expect.poll(() => failure?.message).toMatch(/belongs to another etcd than before/);
      expect((await send('GET', maps(cluster)))[0]).toBe(503);
    });
  }),
);
