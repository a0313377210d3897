/** Encryption of a store; its code is loaded only when a configuration file asks for it. */
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { Store } from '../../store/store.ts';

/** The store, wrapped in encryption if there is a configuration file. */
export async function encrypted(store: Store, kinds: KindTable, file: string | undefined): Promise<Store> {
  if (file === undefined) return store;
  try {
    const { openEncryption } = await import('../options/encryption-file.ts');
    return await openEncryption(file, store, kinds);
  } catch (error) {
    await store.close();
    throw error;
  }
}
