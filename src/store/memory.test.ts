// Proves that the in-memory engine keeps the store contract.
import { storeContract } from './contract.case.ts';
import { openMemoryStore } from './memory.ts';

storeContract('memory', async (options) => ({ store: openMemoryStore(options) }));
