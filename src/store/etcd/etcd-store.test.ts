// Proves that the store on etcd keeps the store contract, with a real etcd.
import { afterAll, beforeAll, describe } from 'vitest';
import { describeWith } from '../../../test/support/tools.ts';
import { type OpenForTest, storeContract } from '../contract.suite.ts';
import { storeModel } from '../model.suite.ts';
import { etcds, TestEtcd } from './etcd-server.fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import { Numbering, RenumberedStore } from './renumbered.fixture.ts';

describeWith('etcd-server')('a store', () =>
  describe.each(etcds)('on etcd %s', (_, program) => {
    let etcd: TestEtcd;
    let stores = 0;
    beforeAll(async () => {
      etcd = await TestEtcd.start({ program });
    });
    afterAll(() => etcd.close());

    // What takes long here is slow, not lost: a new epoch would take a revision that the tests do not expect.
    const times = {
      answerMs: 30_000,
      silenceMs: 30_000,
      progressMs: 30_000,
      readMs: 120_000,
      leaseSeconds: 600,
    };

    const open: OpenForTest = async ({ now } = {}) => {
      const prefix = `/test-${++stores}`;
      const numbering = new Numbering();
      const openOnce = async () => {
        const store = await openEtcdStore({ urls: etcd.urls, prefix, now, times });
        numbering.begin(await store.revision());
        return new RenumberedStore(store, numbering);
      };
      let store = await openOnce();
      return {
        store,
        shown: (revision) => numbering.shown(revision),
        reopen: async () => {
          await store.close();
          store = await openOnce();
          return store;
        },
      };
    };

    storeContract('etcd', open, { durable: true, shared: true, many: 2500 });
    storeModel('etcd', open, 30, { shared: true });
  }),
);
