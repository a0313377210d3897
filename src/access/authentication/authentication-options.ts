/** Options of authentication: how users of the secure door are identified. Named after kube-apiserver's flags. */

export interface AuthenticationOptions {
  /** CSV file of static tokens: `token,user,uid[,"group1,group2"]`. Read once. */
  readonly tokenAuthFile?: string;
  /** A proxy in front of the server that names users in headers. */
  readonly requestHeader?: RequestHeaderOptions;
  /** Accept bootstrap tokens, by which nodes join. Default true. */
  readonly bootstrapTokens?: boolean;
  /** Let requests without credentials in, as `system:anonymous`. Default true. */
  readonly anonymous?: boolean;
  /** An OpenID Connect issuer whose tokens are accepted. */
  readonly oidc?: OidcOptions;
  /** File of kind AuthenticationConfiguration, instead of `oidc`. Read again when it changes. */
  readonly configFile?: string;
  /** A service that is asked about tokens nobody else knows. */
  readonly tokenWebhook?: TokenWebhookSettings;
  /** Tokens of service accounts. */
  readonly serviceAccounts?: ServiceAccountOptions;
  /** As whom the server reads tokens. Default: the issuers of service account tokens. */
  readonly apiAudiences?: readonly string[];
}

export interface RequestHeaderOptions {
  /** PEM file of authorities that sign certificates of proxies. Read again when it changes. */
  readonly clientCAFile: string;
  /** Common names of proxies. Default: any. */
  readonly allowedNames?: readonly string[];
  /** Default `X-Remote-User`. */
  readonly usernameHeaders?: readonly string[];
  /** Default: none. */
  readonly uidHeaders?: readonly string[];
  /** Default `X-Remote-Group`. */
  readonly groupHeaders?: readonly string[];
  /** Default `X-Remote-Extra-`. */
  readonly extraHeaderPrefixes?: readonly string[];
}

export interface OidcOptions {
  readonly issuerUrl: string;
  /** Tokens must be for this client. */
  readonly clientId: string;
  /** Default `sub`. */
  readonly usernameClaim?: string;
  /** `-`: none. Default: the issuer's URL and `#`, or none when the claim is `email`. */
  readonly usernamePrefix?: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  readonly requiredClaims?: Readonly<Record<string, string>>;
  /** Default `RS256`. */
  readonly signingAlgs?: readonly string[];
  /** PEM file of authorities that sign the certificate of the issuer. Default: those that Node trusts. */
  readonly caFile?: string;
}

export interface TokenWebhookSettings {
  /** A kubeconfig that names the service. */
  readonly configFile: string;
  /** Default `v1beta1`. */
  readonly version?: 'v1' | 'v1beta1';
  /** How long answers are remembered. Default: two minutes. */
  readonly cacheMs?: number;
}

export interface ServiceAccountOptions {
  /** The first signs, all are accepted. Default `https://kubernetes.default.svc`. */
  readonly issuers?: readonly string[];
  /** PEM files of keys whose tokens are accepted. */
  readonly keyFiles?: readonly string[];
  /** PEM file of the key that signs. Default: a key of the cluster's own. */
  readonly signingKeyFile?: string;
  /** Let tokens of pods live for a year, for programs that do not read them again. Default true. */
  readonly extendTokenExpiration?: boolean;
  /** Longer lives are shortened to this. */
  readonly maxTokenExpirationSeconds?: number;
  /** Where the discovery document of the issuer says that its keys are. Default: at the server itself. */
  readonly jwksUri?: string;
  /** Whether tokens in secrets are good only while the secret and its account exist. Default true. */
  readonly lookup?: boolean;
}

export const requestHeaderDefaults: Required<Omit<RequestHeaderOptions, 'clientCAFile'>> = {
  allowedNames: [],
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: [],
  groupHeaders: ['X-Remote-Group'],
  extraHeaderPrefixes: ['X-Remote-Extra-'],
};
