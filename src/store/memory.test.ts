// Proves that the in-memory engine keeps the store contract.
import { storeContract } from './contract.suite.ts';
import { openMemoryStore } from './memory.ts';
import { storeModel } from './model.suite.ts';

storeContract('memory', async (options) => ({ store: openMemoryStore(options) }));
storeModel('memory', async (options) => ({ store: openMemoryStore(options) }), 300);
