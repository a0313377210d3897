/** The encryption of a store, which is loaded when there is a file that asks for it. */
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { Store } from '../../store/store.ts';

/** The store, with what encrypts it when there is a file that says so. */
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
