// Proves that no failure of etcd makes the store lose an acknowledged write, give a wrong answer, or miss a change.
import { afterEach, describe, expect, it } from 'vitest';
import { describeWith } from '../../../test/support/tools.ts';
import { follow, put, read } from '../observer.fixture.ts';
import { CompactedError, OutcomeUnknownError, type Store, StoreUnavailableError } from '../store.ts';
import { etcds, TestEtcd } from './etcd-server.fixture.ts';
import { type EtcdStoreOptions, openEtcdStore } from './etcd-store.ts';
import { Relay } from './relay.fixture.ts';
import { Workload } from './workload.fixture.ts';

describeWith('etcd-server')('a store', () =>
  describe.each(etcds)('on an etcd %s that fails', (_, program) => {
    const open: { close(): Promise<void> }[] = [];
    afterEach(async () => {
      for (const each of open.splice(0).reverse()) await each.close();
    });
    const startEtcd = async (members: number): Promise<TestEtcd> => {
      const etcd = await TestEtcd.start({ program, members });
      open.push(etcd);
      return etcd;
    };
    const openStore = async (urls: string[], times?: EtcdStoreOptions['times']): Promise<Store> => {
      const store = await openEtcdStore({ urls, prefix: '/registry', times });
      open.push(store);
      return store;
    };

    it('goes on when the only member is killed and started again', async () => {
      const etcd = await startEtcd(1);
      const store = await openStore(etcd.urls);
      const workload = new Workload(store, await store.revision());
      for (let round = 0; round < 2; round++) {
        await workload.progress(50);
        await etcd.kill(0);
        await etcd.restart(0);
      }
      await workload.progress(50);
      const { acknowledged } = await workload.check(await openStore(etcd.urls));
      expect(acknowledged).toBeGreaterThan(150);
    });

    it('goes on through another member when the one in use is killed or stopped', async () => {
      const etcd = await startEtcd(3);
      const store = await openStore(etcd.urls);
      const workload = new Workload(store, await store.revision());
      await workload.progress(50);
      await etcd.kill(0);
      await workload.progress(50);
      await etcd.restart(0);
      etcd.pause(1);
      await workload.progress(50);
      etcd.resume(1);
      await workload.progress(50);
      const leader = await etcd.leader();
      await etcd.kill(leader);
      await workload.progress(50);
      await etcd.restart(leader);
      await workload.check(await openStore(etcd.urls));
    });

    it('does not carry out later what it has reported as not done, when a stopped leader goes on', async () => {
      const etcd = await startEtcd(3);
      const leader = await etcd.leader();
      const followers = etcd.urls.filter((_, i) => i !== leader);
      const store = await openStore(followers, { answerMs: 1500 });
      const begun = await store.revision();
      etcd.pause(leader);
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          // Some give up before there is another leader; the others wait for it, however long that takes.
          const deadlineMs = Date.now() + (i % 2 ? 1000 : 120_000);
          const write = { key: `k${i}`, value: Buffer.from(`v${i}`), expected: 0, deadlineMs };
          return store.write(write).catch((error: Error) => error);
        }),
      );
      const before = await read(store);
      etcd.resume(leader);
      await put(store, 'last', '');
      // The leader has to have taken in what was in its sockets.
      await expect.poll(() => etcd.leader()).toBeGreaterThanOrEqual(0);
      const history = follow(store, begun);
      await history.until(await put(store, 'very last', ''));
      for (const [i, outcome] of outcomes.entries()) {
        const told = history.changes.filter(({ key }) => key === `k${i}`);
        if (outcome instanceof OutcomeUnknownError) continue;
        expect(told.length).toBe(outcome instanceof Error ? 0 : 1);
      }
      const certain = outcomes.filter((outcome) => !(outcome instanceof OutcomeUnknownError));
      expect(certain.length).toBeGreaterThan(0);
      expect((await read(store)).filter((word) => word.startsWith('k'))).toEqual(before);
    });

    it('loses and repeats nothing when connections are cut in the middle of writes', async () => {
      const etcd = await startEtcd(1);
      const relay = await Relay.start(etcd.urls[0]!);
      open.push(relay);
      const store = await openStore([relay.url]);
      const workload = new Workload(store, await store.revision(), 16);
      for (let round = 0; round < 8; round++) {
        await workload.progress(40);
        relay.cut();
        relay.restore();
      }
      await workload.progress(40);
      await workload.check(await openStore(etcd.urls));
    });

    it('registers again after an absence longer than its lease, and the watch goes on', async () => {
      const etcd = await startEtcd(1);
      const relay = await Relay.start(etcd.urls[0]!);
      open.push(relay);
      const [away, other] = [await openStore([relay.url]), await openStore(etcd.urls)];
      const history = follow(away, await away.revision());
      relay.cut();
      const revision = await put(other, 'a', '1');
      // The key of the server that is away goes with its lease; the other watches that.
      const before = await other.revision();
      await expect.poll(() => other.revision(), { timeout: 60_000 }).toBeGreaterThan(before);
      relay.restore();
      await history.until(revision);
      const last = await put(away, 'b', '2');
      await history.until(last);
      expect(history.words()).toEqual([`a=1@${revision}`, `b=2@${last}`]);
    });

    it('ends watches that were away while what they missed was compacted, and new ones begin', async () => {
      const etcd = await startEtcd(1);
      const relay = await Relay.start(etcd.urls[0]!);
      open.push(relay);
      const [other, away] = [await openStore(etcd.urls), await openStore([relay.url])];
      const history = follow(away, await away.revision());
      relay.cut();
      let revision = 0;
      for (let i = 0; i < 20; i++) revision = await put(other, 'a', `${i}`, revision);
      await etcd.compact(0);
      relay.restore();
      await expect(history.subscription.ended).rejects.toThrow(CompactedError);
      expect(history.changes).toEqual([]);
      expect(away.compacted).toBe(revision);
      const next = follow(away, revision);
      const last = await put(away, 'a', 'after', revision);
      await next.until(last);
      expect(next.words()).toEqual([`a=after@${last}`]);
    });

    it('lets two servers write to the same keys', async () => {
      const etcd = await startEtcd(1);
      const [one, two] = [await openStore(etcd.urls), await openStore(etcd.urls)];
      const begun = await one.revision();
      const count = async (store: Store) => {
        for (let done = 0; done < 40; ) {
          const before = await store.get('n');
          const value = Buffer.from(String(Number(before?.value ?? 0) + 1));
          if ((await store.write({ key: 'n', value, expected: before?.revision ?? 0 })).ok) done++;
        }
      };
      const histories = [one, two].map((store) => follow(store, begun));
      await Promise.all([one, one, two, two].map(count));
      const { revision, value } = (await one.get('n'))!;
      expect(String(value)).toBe('160');
      for (const history of histories) {
        await history.until(revision);
        expect(history.changes.map((change) => Number(change.value))).toEqual(
          Array.from({ length: 160 }, (_, i) => i + 1),
        );
      }
    });

    it('says what is wrong when no member can be used', async () => {
      const opening = openEtcdStore({ urls: ['http://127.0.0.1:1'], prefix: '/registry' });
      await expect(opening).rejects.toThrow(StoreUnavailableError);
      await expect(opening).rejects.toThrow(/127\.0\.0\.1:1: nothing listens there: check --etcd-servers/);
      const etcd = await startEtcd(1);
      const [url] = etcd.urls;
      const secure = openEtcdStore({ urls: [url!.replace('http:', 'https:')], prefix: '/registry' });
      await expect(secure).rejects.toThrow(/it does not speak TLS: use http:\/\//);
    });
  }),
);
