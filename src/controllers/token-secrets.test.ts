/**
 * Proves that with the setting for 1.1 every account names one secret with its token, also after either is changed or
 * deleted.
 */
import { describe, expect, it } from 'vitest';
import type { Secret, ServiceAccount } from '../api/generated/types.ts';
import { asTester } from '../registry/request.fixture.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import { harness, useHarness } from './shared/harness.fixture.ts';

useHarness();

const begin = async (): Promise<void> => {
  harness.start(['serviceaccount', 'serviceaccount-token'], { serviceAccountTokenSecrets: true });
  await settled();
};

/** Waits also for work that other work leads to. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await harness.settled();
}

const secrets = (): Secret[] => harness.all('core/secrets').map((entry) => entry.object() as Secret);
const tokenSecrets = (): Secret[] =>
  secrets().filter(({ type }) => type === 'kubernetes.io/service-account-token');
const accounts = (): ServiceAccount[] =>
  harness.all('core/serviceaccounts').map((entry) => entry.object() as ServiceAccount);
const account = (name = 'default'): ServiceAccount =>
  accounts().find(({ metadata }) => metadata.name === name)!;
const named = (name?: string): (string | undefined)[] =>
  (account(name).secrets ?? []).map((secret) => secret.name);

const drop = (resource: string, name: string): Promise<unknown> =>
  remove(
    harness.writing,
    asTester('delete'),
    targetOf({ kind: harness.registry.kinds.resource('v1', resource)!, namespace: 'default', name }),
    {},
  );

describe('an account', () => {
  it('gets a secret with its token, and names it', async () => {
    await begin();
    const [name] = named();
    expect(name).toMatch(/^default-token-[a-z0-9]{5}$/);
    expect(named()).toHaveLength(1);
    const [secret] = tokenSecrets();
    expect(secret!.metadata).toMatchObject({
      name,
      annotations: {
        'kubernetes.io/service-account.name': 'default',
        'kubernetes.io/service-account.uid': account().metadata.uid,
      },
    });
    expect(Object.keys(secret!.data!).sort()).toEqual(['namespace', 'token']);
  });

  it('gets one, however often it changes', async () => {
    await begin();
    const before = named();
    for (const round of ['a', 'b', 'c']) {
      const target = targetOf(harness.all('core/serviceaccounts')[0]!);
      await modify(harness.writing, asTester('update'), target, (entry) => {
        const now = entry.object() as ServiceAccount;
        now.metadata.labels = { round };
        return now;
      });
    }
    await settled();
    await harness.stop();
    await begin();
    expect([named(), tokenSecrets().length]).toEqual([before, 1]);
  });

  it('gets another when the first is deleted, and forgets that', async () => {
    await begin();
    const [first] = named();
    await drop('secrets', first!);
    await settled();
    expect(named()).toHaveLength(1);
    expect(named()).not.toEqual([first]);
    expect(tokenSecrets().map(({ metadata }) => metadata.name)).toEqual(named());
  });

  it('that was not told of its secret is told of that one', async () => {
    await harness.seed('v1', 'serviceaccounts', 'default', { metadata: { name: 'bot' } });
    await harness.seed('v1', 'secrets', 'default', {
      metadata: {
        name: 'bot-token-abcde',
        annotations: {
          'kubernetes.io/service-account.name': 'bot',
          'kubernetes.io/service-account.uid': account('bot').metadata.uid,
        },
      },
      type: 'kubernetes.io/service-account-token',
    });
    await begin();
    expect(named('bot')).toEqual(['bot-token-abcde']);
    expect(
      tokenSecrets().find(({ metadata }) => metadata.name === 'bot-token-abcde')!.data?.token,
    ).toBeTruthy();
  });

  it('keeps secrets that it names for other reasons', async () => {
    await harness.seed('v1', 'secrets', 'default', { metadata: { name: 'mine' }, type: 'Opaque' });
    await harness.seed('v1', 'serviceaccounts', 'default', {
      metadata: { name: 'bot' },
      secrets: [{ name: 'mine' }, { name: 'not-yet-there' }],
    });
    await begin();
    expect(named('bot')).toEqual(['mine', 'not-yet-there', expect.stringMatching(/^bot-token-/)]);
  });

  it('with a very long name gets one, too', async () => {
    const name = 'x'.repeat(253);
    await harness.seed('v1', 'serviceaccounts', 'default', { metadata: { name } });
    await begin();
    expect(named(name)).toEqual([expect.stringMatching(/^x{51}-token-[a-z0-9]{5}$/)]);
  });

  it('that goes takes its secret along', async () => {
    await harness.seed('v1', 'serviceaccounts', 'default', { metadata: { name: 'bot' } });
    await begin();
    await drop('serviceaccounts', 'bot');
    await settled();
    expect(
      tokenSecrets().map(({ metadata }) => metadata.annotations!['kubernetes.io/service-account.name']),
    ).toEqual(['default']);
  });

  it('has none without the setting', async () => {
    harness.start(['serviceaccount', 'serviceaccount-token']);
    await settled();
    expect([named(), tokenSecrets()]).toEqual([[], []]);
  });
});
