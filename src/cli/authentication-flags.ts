/** The options that say how users are known on the secure door. They have kube-apiserver's names. */
import type { AuthenticationOptions, OidcOptions, RequestHeaderOptions } from '../cluster/index.ts';
import {
  list,
  listOf,
  type Refuse,
  text,
  timeOf,
  truth,
  truthOf,
  type ValuesOf,
  versionOf,
  withDoor,
} from './flag-values.ts';

/** For `parseArgs`. */
export const authenticationArgs = {
  'token-auth-file': text,
  'requestheader-client-ca-file': text,
  'requestheader-allowed-names': list,
  'requestheader-username-headers': list,
  'requestheader-uid-headers': list,
  'requestheader-group-headers': list,
  'requestheader-extra-headers-prefix': list,
  'enable-bootstrap-token-auth': truth,
  'anonymous-auth': truth,
  'oidc-issuer-url': text,
  'oidc-client-id': text,
  'oidc-username-claim': text,
  'oidc-username-prefix': text,
  'oidc-groups-claim': text,
  'oidc-groups-prefix': text,
  'oidc-required-claim': list,
  'oidc-signing-algs': list,
  'oidc-ca-file': text,
  'authentication-config': text,
  'authentication-token-webhook-config-file': text,
  'authentication-token-webhook-version': text,
  'authentication-token-webhook-cache-ttl': text,
  'service-account-issuer': list,
  'service-account-key-file': list,
  'service-account-signing-key-file': text,
  'service-account-extend-token-expiration': truth,
  'service-account-max-token-expiration': text,
  'api-audiences': list,
} as const;

export const authenticationHelp = `  --token-auth-file FILE
                        users with tokens, as lines of CSV: token,user,uid,"group1,group2"
  --anonymous-auth BOOL let requests without credentials in, as system:anonymous (default true)
  --enable-bootstrap-token-auth BOOL
                        accept bootstrap tokens, by which nodes join (default true)
  --api-audiences LIST  whom tokens must be meant for (default: the service account issuers)
  --authentication-config FILE
                        issuers of tokens and anonymous access, as an AuthenticationConfiguration

Users known by an OpenID Connect issuer
  --oidc-issuer-url URL the issuer; https only
  --oidc-client-id ID   whom tokens must be meant for
  --oidc-username-claim CLAIM
                        what names the user (default sub)
  --oidc-username-prefix TEXT
                        before the name; - for none (default: the issuer and #, none for the claim email)
  --oidc-groups-claim CLAIM
                        what names the groups (default: none)
  --oidc-groups-prefix TEXT
                        before each group
  --oidc-required-claim KEY=VALUE
                        what tokens must say; may be given several times
  --oidc-signing-algs LIST
                        algorithms of signatures (default RS256)
  --oidc-ca-file FILE   authorities of the issuer's certificate

Users known by other servers
  --authentication-token-webhook-config-file FILE
                        kubeconfig of a service that is asked about tokens
  --authentication-token-webhook-version VERSION
                        of the TokenReview that is sent: v1 or v1beta1 (default v1beta1)
  --authentication-token-webhook-cache-ttl TIME
                        how long its answers are remembered (default 2m)
  --requestheader-client-ca-file FILE
                        authorities of proxies in front of the server, which name users in headers
  --requestheader-allowed-names LIST
                        common names of these proxies (default: any)
  --requestheader-username-headers LIST
                        headers that name the user (default X-Remote-User)
  --requestheader-uid-headers LIST
                        headers with the user's uid (default: none)
  --requestheader-group-headers LIST
                        headers that name groups (default X-Remote-Group)
  --requestheader-extra-headers-prefix LIST
                        how headers begin that say more (default X-Remote-Extra-)

Service account tokens
  --service-account-issuer URL
                        who signs them; may be given several times, the first signs and all are accepted
                        (default https://kubernetes.default.svc)
  --service-account-key-file FILE
                        keys whose tokens are accepted; may be given several times
  --service-account-signing-key-file FILE
                        the key that signs (default: a key of the cluster's own)
  --service-account-extend-token-expiration BOOL
                        let tokens of pods live for a year, for programs that read them once (default true)
  --service-account-max-token-expiration TIME
                        longer lives of tokens are shortened to this
`;

type Values = ValuesOf<typeof authenticationArgs>;

/** Adds how users are known to the options of the secure door; refuses that for a door that is closed. */
export const readAuthentication = <Listening extends object>(
  values: Values,
  listening: Listening | false,
  refuse: Refuse,
): (Listening & AuthenticationOptions) | false =>
  withDoor(listening, authenticationArgs, values, () => authenticationOptions(values, refuse), refuse);

function authenticationOptions(values: Values, refuse: Refuse): AuthenticationOptions {
  const { 'authentication-token-webhook-config-file': webhook } = values;
  return {
    tokenAuthFile: values['token-auth-file'],
    requestHeader: requestHeader(values, refuse),
    bootstrapTokens: truthOf(values, 'enable-bootstrap-token-auth', refuse),
    anonymous: truthOf(values, 'anonymous-auth', refuse),
    oidc: oidc(values, refuse),
    configFile: values['authentication-config'],
    tokenWebhook:
      webhook === undefined
        ? undefined
        : {
            configFile: webhook,
            version: versionOf(values, 'authentication-token-webhook-version', refuse),
            cacheMs: timeOf(values, 'authentication-token-webhook-cache-ttl', refuse),
          },
    serviceAccounts: {
      issuers: values['service-account-issuer'],
      keyFiles: values['service-account-key-file'],
      signingKeyFile: values['service-account-signing-key-file'],
      extendTokenExpiration: truthOf(values, 'service-account-extend-token-expiration', refuse),
      maxTokenExpirationSeconds: secondsOf(values, refuse),
    },
    apiAudiences: listOf(values['api-audiences']),
  };
}

function requestHeader(values: Values, refuse: Refuse): RequestHeaderOptions | undefined {
  const file = values['requestheader-client-ca-file'];
  const headers = {
    allowedNames: listOf(values['requestheader-allowed-names']),
    usernameHeaders: listOf(values['requestheader-username-headers']),
    uidHeaders: listOf(values['requestheader-uid-headers']),
    groupHeaders: listOf(values['requestheader-group-headers']),
    extraHeaderPrefixes: listOf(values['requestheader-extra-headers-prefix']),
  };
  if (file !== undefined) return { clientCAFile: file, ...headers };
  if (Object.values(headers).some((given) => given !== undefined))
    refuse('--requestheader-* options need --requestheader-client-ca-file');
  return undefined;
}

function oidc(values: Values, refuse: Refuse): OidcOptions | undefined {
  const issuerUrl = values['oidc-issuer-url'];
  const clientId = values['oidc-client-id'];
  if (issuerUrl === undefined || clientId === undefined) {
    if (Object.keys(values).some((name) => name.startsWith('oidc-')))
      refuse('--oidc-* options need --oidc-issuer-url and --oidc-client-id');
    return undefined;
  }
  return {
    issuerUrl,
    clientId,
    usernameClaim: values['oidc-username-claim'],
    usernamePrefix: values['oidc-username-prefix'],
    groupsClaim: values['oidc-groups-claim'],
    groupsPrefix: values['oidc-groups-prefix'],
    requiredClaims: requiredClaims(values['oidc-required-claim'] ?? [], refuse),
    signingAlgs: listOf(values['oidc-signing-algs']),
    caFile: values['oidc-ca-file'],
  };
}

function requiredClaims(claims: readonly string[], refuse: Refuse): Record<string, string> {
  return Object.fromEntries(
    claims.map((claim) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(claim) ?? [];
      return key === undefined
        ? refuse(
            `--oidc-required-claim must be a claim and a value such as hd=example.com, not ${JSON.stringify(claim)}`,
          )
        : [key, value!];
    }),
  );
}

function secondsOf(values: Values, refuse: Refuse): number | undefined {
  const ms = timeOf(values, 'service-account-max-token-expiration', refuse);
  return ms === undefined ? undefined : Math.floor(ms / 1000);
}
