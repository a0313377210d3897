/** Proves which names of images can be read, and what that means for when they are pulled. */
import { expect, it } from 'vitest';
import { pullPolicyOf } from './container.ts';

const digest = `sha256:${'a'.repeat(64)}`;

it.each([
  'web',
  'web:latest',
  'team/web',
  'localhost/web',
  'registry.example:5000/team/web',
  '[fe80::1]:5000/web:latest',
  'HOST/web',
  `web:latest@${digest}`,
])('%s is pulled always', (image) => expect(pullPolicyOf(image)).toBe('Always'));

it.each([
  'web:1',
  'registry.example:5000/web:v1',
  `web@${digest}`,
  // Not readable, so nobody knows a tag of it.
  undefined,
  '',
  'Web',
  'team/Web:latest',
  'a b:latest',
  'web:',
  ':latest',
  'web@sha256:abc',
  `web:latest@md5:${'a'.repeat(32)}`,
  'http://registry.example/web:latest',
  '/web:latest',
  'web//web',
  'a'.repeat(64),
  `${'a/'.repeat(2000)}a`,
  `${'a'.repeat(300)}:latest`,
  '{{ .Values.image }}',
  '$(IMAGE):latest',
])('%s is pulled if it is not present', (image) => expect(pullPolicyOf(image)).toBe('IfNotPresent'));
