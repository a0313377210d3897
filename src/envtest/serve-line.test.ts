/** Proves that flags of kube-apiserver become options that `wherry serve` takes. */
import { describe, expect, it } from 'vitest';
import { allowAll } from '../api/kind/access.ts';
import { flagsOf } from '../cluster/options/option.ts';
import { startOptions } from '../cluster/options/start-options.ts';
import { servedOptions } from '../program/start-line.ts';
import { admissionChain } from '../registry/admission/plugins.ts';
import { fullFinalizing } from '../registry/finalizing.ts';
import type { Registry } from '../registry/registry.ts';
import { admissionPlugins } from './admission-plugins.ts';
import { apiServerFlags, readApiServerFlags } from './apiserver-flags.ts';
import { serveLine } from './serve-line.ts';

const place = { dataDir: 'd', requestBytesMax: 1, certFile: 'c', keyFile: 'k', bodyBytesMax: 1 };
/** Nothing but the minor is asked here, and without one plugins are as they are today. */
const parts = { registry: { kinds: {} } as Registry, authorizer: allowAll, finalizing: fullFinalizing };
const extensions = {
  mutating: [{ name: 'MutatingAdmissionPolicy' }, { name: 'MutatingAdmissionWebhook' }],
  validating: [{ name: 'ValidatingAdmissionPolicy' }, { name: 'ValidatingAdmissionWebhook' }],
};
const optionsOf = (...flags: string[]) => servedOptions(serveLine(readApiServerFlags(flags), place));

describe('flags', () => {
  it('of the audit log', () => {
    expect(
      optionsOf(
        '--audit-log-path=-',
        '--audit-policy-file=p',
        '--audit-log-maxage=2',
        '--audit-webhook-config-file=w',
        '--audit-webhook-batch-max-wait=1.5s',
        '--audit-webhook-mode=blocking',
      ).auditLog,
    ).toMatchObject({
      file: '-',
      fileMode: 'blocking',
      fileAgeMaxMs: 2 * 86_400_000,
      policyFile: 'p',
      webhook: { configFile: 'w', batchWaitMs: 1500, mode: 'blocking' },
    });
    expect(optionsOf('--audit-policy-file=p').auditLog).toBeUndefined();
  });

  it('that close the gate of mutating policies', () => {
    const disabled = (...flags: string[]) => optionsOf(...flags).admission?.disabled ?? [];
    const closed = '--feature-gates=MutatingAdmissionPolicy=false';
    expect(disabled(closed)).toEqual(['MutatingAdmissionPolicy']);
    expect(disabled(closed, '--disable-admission-plugins=LimitRanger')).toEqual([
      'LimitRanger',
      'MutatingAdmissionPolicy',
    ]);
    expect(disabled(closed, '--feature-gates=kube:MutatingAdmissionPolicy=true')).toEqual([]);
    expect(disabled('--feature-gates=AllBeta=false')).toEqual([]);
    expect(() => admissionChain(parts, optionsOf(closed).admission, { extensions })).not.toThrow();
  });

  it('that list all plugins, the old way', () => {
    const { admission } = optionsOf('--admission-control=NamespaceLifecycle,LimitRanger');
    expect(admission?.enabled).toEqual(['NamespaceLifecycle', 'LimitRanger']);
    expect(admission?.disabled).toContain('ServiceAccount');
    expect(admission?.disabled).not.toContain('LimitRanger');
    expect(() => admissionChain(parts, admission, { extensions })).not.toThrow();
  });

  it('of kube-apiserver alone are passed on, with all their values', () => {
    const names = new Set(apiServerFlags.filter(({ use }) => use === 'honour').map(({ name }) => name));
    const passedOn = flagsOf(startOptions).filter(({ isPassedOn }) => isPassedOn);
    expect(passedOn.length).toBeGreaterThan(40);
    expect(passedOn.map(({ flag }) => flag).filter((flag) => !names.has(flag))).toEqual([]);
    const given = [
      '--tls-sni-cert-key=a,b:c',
      '--tls-sni-cert-key=d,e',
      '--oidc-signing-algs=A,B',
      '--oidc-signing-algs=C',
    ];
    expect(serveLine(readApiServerFlags([...given, '--token-auth-file=']), place)).toEqual(
      expect.arrayContaining([
        '--tls-sni-cert-key=a,b:c',
        '--tls-sni-cert-key=d,e',
        '--oidc-signing-algs=A,B,C',
      ]),
    );
    expect(serveLine(readApiServerFlags(['--token-auth-file=']), place).join()).not.toContain(
      'token-auth-file',
    );
  });

  it('can name every plugin that is known', () => {
    const disabled = [...admissionPlugins];
    expect(() => admissionChain(parts, { disabled }, { extensions })).not.toThrow();
  });
});
