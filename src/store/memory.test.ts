// Proves that the in-memory engine keeps the store contract, and that a series of writes leaves turns to others.
import { expect, it } from 'vitest';
import { turnsDuring } from '../../test/support/turns.ts';
import { storeContract } from './contract.suite.ts';
import { openMemoryStore } from './memory.ts';
import { storeModel } from './model.suite.ts';

storeContract('memory', async (options) => ({ store: openMemoryStore(options) }));
storeModel('memory', async (options) => ({ store: openMemoryStore(options) }), 300);

it('lets others in between writes of which each awaits the one before', async () => {
  const store = openMemoryStore();
  const value = Buffer.from('{}');
  const { turns } = await turnsDuring(async () => {
    for (let i = 0; i < 400; i++) await store.write({ key: `k${i}`, value, expected: 0 });
  });
  expect(store.revision()).toBe(400);
  expect(turns).toBeGreaterThan(10);
  await store.close();
});
