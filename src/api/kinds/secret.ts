/** Secret: small pieces of data that should not be seen. */
import type { Secret } from '../generated/types.ts';
import { defineKind } from '../kind.ts';
import { setKey } from '../object.ts';

export const secret = defineKind<Secret>({
  kind: 'Secret',
  resource: 'secrets',
  singular: 'secret',
  namespaced: true,

  // stringData is a way to write data without base64; it is never stored.
  defaults(secret) {
    secret.type ||= 'Opaque';
    for (const [key, text] of Object.entries(secret.stringData ?? {})) {
      secret.data ??= {};
      setKey(secret.data, key, Buffer.from(text, 'utf8').toString('base64'));
    }
    delete secret.stringData;
  },

  selectableFields: { type: (secret) => secret.type ?? '' },
});
