/** Proves how the flags of authorization and admission are read. */
import { describe, expect, it } from 'vitest';
import type { ClusterLine } from './options.ts';
import { readCommandLine } from './options.ts';

const read = (...args: string[]) => (readCommandLine(['serve', '--in-memory', ...args]) as ClusterLine).start;

describe('flags of authorization', () => {
  it('become options of the secure door', () => {
    const { secure } = read(
      '--authorization-mode=Node,RBAC',
      '--authorization-mode=Webhook',
      '--authorization-webhook-config-file=hook.yaml',
      '--authorization-webhook-version=v1',
      '--authorization-webhook-cache-authorized-ttl=1m30s',
    );
    expect(secure).toMatchObject({
      authorizationModes: ['Node', 'RBAC', 'Webhook'],
      authorizationWebhook: { configFile: 'hook.yaml', version: 'v1', cacheAuthorizedMs: 90_000 },
    });
  });

  it.each([['--secure-port=off'], ['--secure-port=0']])('with %s the default roles are made', (flag) => {
    expect(read(flag)).toMatchObject({ defaultRoles: true });
  });

  it.each([
    [['--authorization-mode=Rbac'], /must name some of Node, RBAC, .*, not "Rbac"/],
    [['--authorization-mode=RBAC', '--authorization-config=f'], /exclude each other/],
    [['--authorization-webhook-version=v1'], /needs --authorization-webhook-config-file/],
    [['--authorization-mode=RBAC', '--secure-port=off'], /needs the secure door/],
  ])('%j are refused', (args, message) => {
    expect(() => read(...args)).toThrow(message);
  });
});

it('flags of admission are for every door', () => {
  const { admission } = read('--enable-admission-plugins=NodeRestriction', '--disable-admission-plugins=A,B');
  expect(admission).toEqual({ enabled: ['NodeRestriction'], disabled: ['A', 'B'] });
  expect(read().admission).toBeUndefined();
});
