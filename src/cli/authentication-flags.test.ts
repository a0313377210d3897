/** The options about users are read as kube-apiserver reads them, and wrong ones are refused. */
import { describe, expect, it } from 'vitest';
import { readCommandLine } from './options.ts';

const secureOf = (...args: string[]) => {
  const line = readCommandLine(['serve', ...args]);
  return line.command === 'serve' ? line.start.secure : undefined;
};

describe('options about users', () => {
  it('that are truths may stand alone, with true, or with false', () => {
    expect(secureOf('--anonymous-auth=false', '--enable-bootstrap-token-auth')).toMatchObject({
      anonymous: false,
      bootstrapTokens: true,
    });
    expect(secureOf('--anonymous-auth=true')).toMatchObject({ anonymous: true });
    expect(() => secureOf('--anonymous-auth=maybe')).toThrow('--anonymous-auth must be true or false');
  });

  it('privileged containers may be allowed, as kube-apiserver is told', () => {
    const allowed = (...args: string[]) => {
      const line = readCommandLine(['serve', ...args]);
      return line.command === 'serve' ? line.start.allowPrivileged : undefined;
    };
    expect([allowed(), allowed('--allow-privileged'), allowed('--allow-privileged=false')]).toEqual([
      undefined,
      true,
      false,
    ]);
    expect(() => allowed('--allow-privileged=')).toThrow('--allow-privileged must be true or false');
  });

  it('that are lists may have commas, or come again', () => {
    const headers = ['--requestheader-client-ca-file=ca.crt', '--requestheader-group-headers=A,B'];
    expect(secureOf(...headers, '--requestheader-group-headers', 'C', '--api-audiences=x,y')).toMatchObject({
      requestHeader: { clientCAFile: 'ca.crt', groupHeaders: ['A', 'B', 'C'] },
      apiAudiences: ['x', 'y'],
    });
  });

  it('name an issuer', () => {
    const issuer = ['--oidc-issuer-url=https://idp', '--oidc-client-id=me'];
    expect(secureOf(...issuer, '--oidc-required-claim=a=b=c', '--oidc-required-claim', 'd=')).toMatchObject({
      oidc: { issuerUrl: 'https://idp', clientId: 'me', requiredClaims: { a: 'b=c', d: '' } },
    });
    expect(() => secureOf('--oidc-issuer-url=https://idp')).toThrow(
      'need --oidc-issuer-url and --oidc-client-id',
    );
    expect(() => secureOf(...issuer, '--oidc-required-claim=a')).toThrow('--oidc-required-claim must be');
  });

  it('say how tokens live', () => {
    const args = ['--service-account-max-token-expiration=24h', '--service-account-issuer=https://a'];
    expect(secureOf(...args, '--service-account-issuer=https://b')).toMatchObject({
      serviceAccounts: { maxTokenExpirationSeconds: 86_400, issuers: ['https://a', 'https://b'] },
    });
    expect(() => secureOf('--service-account-max-token-expiration=1 day')).toThrow('must be a time such as');
  });

  it('need what they are about', () => {
    expect(() => secureOf('--requestheader-uid-headers=X')).toThrow('need --requestheader-client-ca-file');
    expect(() => secureOf('--secure-port=off', '--token-auth-file=x')).toThrow(
      '--token-auth-file needs the secure door',
    );
    expect(() =>
      secureOf('--authentication-token-webhook-config-file=x', '--authentication-token-webhook-version=v2'),
    ).toThrow('v1 or v1beta1');
  });
});
