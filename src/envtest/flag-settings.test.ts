/** Proves that flags of kube-apiserver become settings of the API server, and which values are refused. */
import { describe, expect, it } from 'vitest';
import { readApiServerFlags } from './apiserver-flags.ts';
import { accountSettingsOf, serverSettingsOf, settingProblems, versionProblem } from './flag-settings.ts';

const valuesOf = (...flags: string[]) => readApiServerFlags(flags);

describe('settings', () => {
  it('are those of kube-apiserver without flags', () => {
    expect(serverSettingsOf(valuesOf())).toEqual({
      corsAllowedOrigins: [],
      strictTransportSecurity: [],
      gitVersion: 'v1.36.4',
      kubernetesEndpoints: true,
      kubelet: {},
    });
    expect(accountSettingsOf(valuesOf())).toEqual({ lookup: true });
  });

  it('follow gates of what is served', () => {
    const closed = { compressesAnswers: false, watchLists: false };
    expect(
      serverSettingsOf(valuesOf('--feature-gates=WatchList=false,APIResponseCompression=f')),
    ).toMatchObject(closed);
    expect(serverSettingsOf(valuesOf('--feature-gates=AllBeta=false'))).toMatchObject(closed);
    const opened = serverSettingsOf(
      valuesOf('--feature-gates=AllBeta=false', '--feature-gates=WatchList=true'),
    );
    expect([opened.watchLists, opened.compressesAnswers]).toEqual([undefined, false]);
  });

  it('follow flags', () => {
    expect(
      serverSettingsOf(
        valuesOf(
          '--kubelet-timeout=3s',
          '--kubelet-certificate-authority=ca',
          '--kubelet-client-certificate=c',
          '--kubelet-client-key=k',
          '--kubelet-preferred-address-types=InternalIP,Hostname',
          '--proxy-client-cert-file=p',
          '--proxy-client-key-file=q',
          '--goaway-chance=0.01',
          '--emulated-version=kube=1.35',
          '--version=v1.36.4-mine',
        ),
      ),
    ).toMatchObject({
      kubelet: {
        timeoutMs: 3_000,
        caFile: 'ca',
        client: { certFile: 'c', keyFile: 'k' },
        addressTypes: ['InternalIP', 'Hostname'],
      },
      proxyClient: { certFile: 'p', keyFile: 'q' },
      goawayChance: 0.01,
      emulatedVersion: '1.35',
      gitVersion: 'v1.36.4-mine',
    });
    expect(accountSettingsOf(valuesOf('--service-account-lookup=false'))).toEqual({ lookup: false });
  });

  it.each([
    ['--emulated-version=1.20', 'emulation version 1.20 is not between [1.33, 1.36.4]'],
    ['--emulated-version=new', 'illegal version string "new"'],
    ['--endpoint-reconciler-type=x', 'unknown endpoint reconciler type: x'],
    [
      '--service-account-jwks-uri=http://a',
      'service-account-jwks-uri requires https scheme, parsed as: http://a',
    ],
    ['--min-request-timeout=-1', '--min-request-timeout can not be negative value'],
    [
      '--kubelet-client-key=k',
      '--kubelet-client-certificate and --kubelet-client-key must be specified together',
    ],
  ])('%s is refused: %s', (flag, problem) => {
    expect(settingProblems(valuesOf(flag))).toEqual([problem]);
  });

  it('of the version may add to it, not change it', () => {
    expect(versionProblem('v1.36.4+test')).toBeUndefined();
    expect(versionProblem('v1.2.3')).toBe(
      'version "v1.2.3" must match major/minor/patch of default version "v1.36.4"',
    );
    expect(versionProblem('v1')).toBe('could not parse "v1" as version');
  });
});
