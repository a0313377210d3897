// Proves that a lock is held by one server at a time, that servers alternate, and that a lost lock stops writes.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../../test/support/tools.ts';
import { CallError } from '../../grpc/call-error.ts';
import { Connection } from '../../grpc/connection.ts';
import { DeadlineError, type Lock, LockLostError, type Store } from '../store.ts';
import { TestEtcd } from './etcd-server.fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import { Keyspace } from './keyspace.ts';
import { DELETE_RANGE, encodeDeleteRange } from './messages.ts';

describeWith('etcd-server')('locks of servers', () => {
  let etcd: TestEtcd;
  const stores: Store[] = [];
  beforeAll(async () => {
    etcd = await TestEtcd.start();
  }, 60_000);
  afterAll(() => etcd.close());
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
  });
  const open = async (): Promise<Store> => {
    const store = await openEtcdStore({ urls: etcd.urls, prefix: '/locks' });
    stores.push(store);
    return store;
  };
  const enter = (store: Store, name = 'one', deadlineMs?: number): Promise<Lock> =>
    store.locks!.enter(name, deadlineMs);

  it('are shared within a server, and with no other', async () => {
    const [a, b] = [await open(), await open()];
    const first = await enter(a);
    const second = first.share();
    let entered = false;
    const waiting = enter(b).then((lock) => {
      entered = true;
      return lock;
    });
    await expect(enter(b, 'one', Date.now() + 50)).rejects.toThrow(DeadlineError);
    await (await enter(b, 'another')).leave();
    first.leave();
    first.leave();
    expect(entered).toBe(false);
    await a.write({ key: 'k', value: Buffer.from('a'), expected: 0, locks: [second] });
    second.leave();
    const lock = await waiting;
    expect(lock.revision).toBeGreaterThan((await b.get('k'))!.revision);
    lock.leave();
  });

  it('let all servers come to their turn, one at a time', async () => {
    const servers = [await open(), await open(), await open()];
    let inside: Store | undefined;
    let callers = 0;
    const turns = new Map<Store, number>();
    const work = async (store: Store): Promise<void> => {
      while (servers.some((server) => (turns.get(server) ?? 0) < 30)) {
        const lock = await enter(store);
        expect([store, undefined]).toContain(inside);
        inside = store;
        callers++;
        await new Promise((resolve) => setTimeout(resolve, 1));
        turns.set(store, (turns.get(store) ?? 0) + 1);
        if (--callers === 0) inside = undefined;
        lock.leave();
      }
    };
    await Promise.all(servers.flatMap((server) => [work(server), work(server), work(server)]));
  });

  it('go to others when their server ends', async () => {
    const [a, b] = [await open(), await open()];
    await enter(a);
    const waiting = enter(b);
    await stores.shift()!.close();
    (await waiting).leave();
  });

  it('stop the writes of a server that has lost them', async () => {
    const a = await open();
    const lock = await enter(a);
    const connection = await Connection.open(etcd.urls[0]!, {}, 2000);
    await connection.unary(DELETE_RANGE, encodeDeleteRange(new Keyspace('/locks').lock('one')), 5000);
    connection.close(new CallError(1, 'done'));
    const late = { key: 'late', value: Buffer.from('x'), expected: 0, locks: [lock] };
    await expect(a.write(late)).rejects.toThrow(LockLostError);
    expect(await a.get('late')).toBeUndefined();
    lock.leave();
    const next = await enter(a);
    expect(next.revision).toBeGreaterThan(lock.revision);
    expect(await a.write({ ...late, locks: [next] })).toMatchObject({ ok: true });
    next.leave();
  });
});
