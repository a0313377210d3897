/** How users of the secure door are known. The flags have kube-apiserver's names. */
import type {
  AuthenticationOptions,
  OidcOptions,
  RequestHeaderOptions,
  ServiceAccountOptions,
  TokenWebhookSettings,
} from '../../access/authentication/authentication-options.ts';
import { group, handedIn, type Option, optionFor } from './option.ts';
import { list, parsed, repeated, reviewVersion, text, time, truth } from './values.ts';

const option = optionFor('up', 'serve');

type Users<Name extends keyof AuthenticationOptions> = {
  readonly [name in Name]: Option<Required<AuthenticationOptions>[name]>;
};

export const userOptions: Users<
  'tokenAuthFile' | 'anonymous' | 'bootstrapTokens' | 'apiAudiences' | 'configFile'
> = {
  tokenAuthFile: option({
    flag: 'token-auth-file',
    value: text('FILE'),
    text: 'users with tokens, as lines of CSV: token,user,uid,"group1,group2"',
    isPassedOn: true,
  }),
  anonymous: option({
    flag: 'anonymous-auth',
    value: truth,
    text: 'let requests without credentials in, as system:anonymous',
    default: 'true',
    isPassedOn: true,
  }),
  bootstrapTokens: option({
    flag: 'enable-bootstrap-token-auth',
    value: truth,
    text: 'accept bootstrap tokens, by which nodes join',
    default: 'true',
    isPassedOn: true,
  }),
  apiAudiences: option({
    flag: 'api-audiences',
    value: list,
    text: 'whom tokens must be meant for (default: the service account issuers)',
    isPassedOn: true,
  }),
  configFile: option({
    flag: 'authentication-config',
    value: text('FILE'),
    text: 'issuers of tokens and anonymous access, as an AuthenticationConfiguration',
    isPassedOn: true,
  }),
};

export const issuerOptions: Users<'oidc'> = {
  oidc: group<OidcOptions>(
    {
      issuerUrl: option({
        flag: 'oidc-issuer-url',
        value: text('URL'),
        text: 'the issuer; https only',
        isPassedOn: true,
      }),
      clientId: option({
        flag: 'oidc-client-id',
        value: text('ID'),
        text: 'whom tokens must be meant for',
        isPassedOn: true,
      }),
      usernameClaim: option({
        flag: 'oidc-username-claim',
        value: text('CLAIM'),
        text: 'what names the user',
        default: 'sub',
        isPassedOn: true,
      }),
      usernamePrefix: option({
        flag: 'oidc-username-prefix',
        value: text('TEXT'),
        text: 'before the name; - for none (default: the issuer and #, none for the claim email)',
        isPassedOn: true,
      }),
      groupsClaim: option({
        flag: 'oidc-groups-claim',
        value: text('CLAIM'),
        text: 'what names the groups (default: none)',
        isPassedOn: true,
      }),
      groupsPrefix: option({
        flag: 'oidc-groups-prefix',
        value: text('TEXT'),
        text: 'before each group',
        isPassedOn: true,
      }),
      requiredClaims: option({
        flag: 'oidc-required-claim',
        value: {
          shown: 'KEY=VALUE',
          form: 'repeated',
          read: (given, flag, refuse) =>
            Object.fromEntries(
              given.map((claim) => {
                const [, key, value = ''] = /^([^=]+)=(.*)$/s.exec(claim) ?? [];
                return key === undefined
                  ? refuse(
                      `${flag} must be a claim and a value such as hd=example.com, not ${JSON.stringify(claim)}`,
                    )
                  : [key, value];
              }),
            ),
        },
        text: 'what tokens must say; may be given several times',
        isPassedOn: true,
      }),
      signingAlgs: option({
        flag: 'oidc-signing-algs',
        value: list,
        text: 'algorithms of signatures',
        default: 'RS256',
        isPassedOn: true,
      }),
      caFile: option({
        flag: 'oidc-ca-file',
        value: text('FILE'),
        text: "authorities of the issuer's certificate",
        isPassedOn: true,
      }),
    },
    {
      isGiven: ({ flags, refuse }) =>
        ['oidc-issuer-url', 'oidc-client-id'].every((flag) => flags.includes(flag)) ||
        (flags.length > 0 && refuse('--oidc-* options need --oidc-issuer-url and --oidc-client-id')),
    },
  ),
};

export const otherServerOptions: Users<'tokenWebhook' | 'requestHeader'> = {
  tokenWebhook: group<TokenWebhookSettings>(
    {
      configFile: option({
        flag: 'authentication-token-webhook-config-file',
        value: text('FILE'),
        text: 'kubeconfig of a service that is asked about tokens',
        isPassedOn: true,
      }),
      version: option({
        flag: 'authentication-token-webhook-version',
        value: reviewVersion,
        text: 'of the TokenReview that is sent: v1 or v1beta1',
        default: 'v1beta1',
        isPassedOn: true,
      }),
      cacheMs: option({
        flag: 'authentication-token-webhook-cache-ttl',
        value: time,
        text: 'how long its answers are remembered',
        default: '2m',
        isPassedOn: true,
      }),
    },
    { isGiven: ({ flags }) => flags.includes('authentication-token-webhook-config-file') },
  ),
  requestHeader: group<RequestHeaderOptions>(
    {
      clientCAFile: option({
        flag: 'requestheader-client-ca-file',
        value: text('FILE'),
        text: 'authorities of proxies in front of the server, which name users in headers',
        isPassedOn: true,
      }),
      allowedNames: option({
        flag: 'requestheader-allowed-names',
        value: list,
        text: 'common names of these proxies (default: any)',
        isPassedOn: true,
      }),
      usernameHeaders: option({
        flag: 'requestheader-username-headers',
        value: list,
        text: 'headers that name the user',
        default: 'X-Remote-User',
        isPassedOn: true,
      }),
      uidHeaders: option({
        flag: 'requestheader-uid-headers',
        value: list,
        text: "headers with the user's uid (default: none)",
        isPassedOn: true,
      }),
      groupHeaders: option({
        flag: 'requestheader-group-headers',
        value: list,
        text: 'headers that name groups',
        default: 'X-Remote-Group',
        isPassedOn: true,
      }),
      extraHeaderPrefixes: option({
        flag: 'requestheader-extra-headers-prefix',
        value: list,
        text: 'how headers begin that say more',
        default: 'X-Remote-Extra-',
        isPassedOn: true,
      }),
    },
    {
      isGiven: ({ flags, refuse }) =>
        flags.includes('requestheader-client-ca-file') ||
        (flags.length > 0 && refuse('--requestheader-* options need --requestheader-client-ca-file')),
    },
  ),
};

export const accountOptions: Users<'serviceAccounts'> = {
  serviceAccounts: group<ServiceAccountOptions>({
    issuers: option({
      flag: 'service-account-issuer',
      value: repeated('URL', (url) => url),
      text: 'who signs them; may be given several times, the first signs and all are accepted\n',
      default: 'https://kubernetes.default.svc',
      isPassedOn: true,
    }),
    keyFiles: option({
      flag: 'service-account-key-file',
      value: repeated('FILE', (file) => file),
      text: 'keys whose tokens are accepted; may be given several times',
      isPassedOn: true,
    }),
    signingKeyFile: option({
      flag: 'service-account-signing-key-file',
      value: text('FILE'),
      text: "the key that signs (default: a key of the cluster's own)",
      isPassedOn: true,
    }),
    extendTokenExpiration: option({
      flag: 'service-account-extend-token-expiration',
      value: truth,
      text: 'let tokens of pods live for a year, for programs that read them once',
      default: 'true',
      isPassedOn: true,
    }),
    maxTokenExpirationSeconds: option({
      flag: 'service-account-max-token-expiration',
      value: { ...time, read: (...given) => Math.floor(time.read(...given) / 1000) },
      text: 'longer lives of tokens are shortened to this',
    }),
    jwksUri: option({
      flag: 'service-account-jwks-uri',
      value: parsed('URL', 'a URL with https', (given) =>
        /^https:\/\/[^/]/.test(given) ? given : undefined,
      ),
      text: 'where others find the keys (default: on this server, by the address that it is reached at)',
    }),
    lookup: handedIn(),
  }),
};
