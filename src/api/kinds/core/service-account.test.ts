/** Proves that service accounts keep only the names of their secrets, and their table row. */
import { expect, test } from 'vitest';
import { cells, createdAge, updated, written } from '../kind.fixture.ts';
import { serviceAccount } from './service-account.ts';

const body = {
  secrets: [{ name: 'a', namespace: 'b', kind: 'Secret', uid: 'u' }, { kind: 'Secret' }],
  imagePullSecrets: [{ name: 'ips' }],
  automountServiceAccountToken: false,
};

test('secrets are cut to their names on every write; the rest stays', () => {
  const cut = {
    secrets: [{ name: 'a' }, {}],
    imagePullSecrets: [{ name: 'ips' }],
    automountServiceAccountToken: false,
  };
  expect(written(serviceAccount, body)).toMatchObject(cut);
  const next = updated(serviceAccount, body, written(serviceAccount, {})) as { secrets?: unknown };
  expect(next.secrets).toEqual([{ name: 'a' }, { name: undefined }]);
  expect(written(serviceAccount, {})).not.toHaveProperty('secrets');
});

test('cells', () => {
  expect(cells(serviceAccount, body)).toEqual({ Name: 'a', Age: createdAge });
});
