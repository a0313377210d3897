/** A stored value that cannot be decrypted. */
import { groupResource } from '../../api/kind/kind.ts';
import { StoreUnavailableError } from '../../store/store.ts';

/** The prefix of encrypted values (`cipher.ts`). Other values are JSON. */
const sealedMark = Buffer.from('k8s:enc:');

/** A value cannot be decrypted. The message is a sentence for the operator. Retrying does not help. */
export class UnreadableValueError extends StoreUnavailableError {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { ...options, permanent: true });
    this.name = 'UnreadableValueError';
  }
}

export const isSealed = (value: Buffer): boolean =>
  value.length > sealedMark.length &&
  value.compare(sealedMark, 0, sealedMark.length, 0, sealedMark.length) === 0;

/** Describes the key of an encrypted value, as far as the value names it: `the key "k1" (aesgcm)`. */
export function keyTold(sealed: Buffer): string {
  const [, , cipher = '', , keyName = ''] = sealed.toString('latin1', 0, 512).split(':', 5);
  return `the key ${JSON.stringify(keyName)} (${cipher})`;
}

export const withoutConfiguration = (id: string, value: Buffer): UnreadableValueError =>
  new UnreadableValueError(
    `the store holds ${groupResource(id).resource} that are encrypted with ${keyTold(value)}: the option --encryption-provider-config must name a file with that key`,
  );
