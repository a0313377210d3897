/** The encryption configuration file, and the store that does what it says. */
import type { KindTable } from '../../api/kinds/kinds.ts';
import { EncryptedStore } from '../../registry/encryption/encrypted-store.ts';
import { readEncryptionConfiguration } from '../../registry/encryption/encryption-configuration.ts';
import type { Store } from '../../store/store.ts';
import { readConfigurationFile } from './configuration-file.ts';

export async function openEncryption(file: string, store: Store, kinds: KindTable): Promise<Store> {
  const rules = await readConfigurationFile(
    file,
    'the encryption configuration',
    readEncryptionConfiguration,
  );
  return new EncryptedStore(store, rules, kinds);
}
