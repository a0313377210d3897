/** Builds authentication from its options: reads files, and follows those that may change. */

import { WatchedFiles } from '../../pki/watched-files.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Writing } from '../../registry/writing.ts';
import { readTextFile } from '../shared/text-file.ts';
import type { Tokens } from '../tokens/tokens.ts';
import { Anonymous, type AnonymousAccess } from './anonymous.ts';
import { Authentication } from './authentication.ts';
import type { AuthenticationOptions, OidcOptions, RequestHeaderOptions } from './authentication-options.ts';
import { requestHeaderDefaults } from './authentication-options.ts';
import type { Authenticator } from './authenticator.ts';
import { BearerTokens } from './bearer-tokens.ts';
import { BootstrapTokens } from './bootstrap-tokens.ts';
import { BoundTokens } from './bound-tokens.ts';
import { ClientAuthorities, ClientCertificates } from './client-certificates.ts';
import type { ConfiguredIssuers } from './configured-issuers.ts';
import { FrontProxy, type ProxyHeaders } from './front-proxy.ts';
import { LegacyTokens } from './legacy-tokens.ts';
import type { OidcConfiguration } from './oidc-tokens.ts';
import { type Published, PublishedAuthentication } from './published-authentication.ts';
import { SignedClaims } from './signed-claims.ts';
import { StaticTokens, type StaticUser, staticUsers, tokenFileUsers } from './static-tokens.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import type { TokenWebhook } from './token-webhook.ts';

/** A source of PEM authorities that may change. */
interface AuthoritySource {
  readonly pem: () => string;
  /** Calls back after each change. Returns a function that ends it. */
  readonly follow: (changed: () => void) => () => void;
}

export interface AuthenticationContext {
  readonly registry: Registry;
  readonly writing: Writing;
  /** Tokens of service accounts. */
  readonly tokens: Tokens;
  /** Users with tokens, in addition to those of the token file. */
  readonly users?: readonly StaticUser[];
  /** Authorities of client certificates; undefined: none are accepted. */
  readonly clients?: AuthoritySource;
  /** Whether authorization allows everything: then anonymous requests are refused. Called for every such request. */
  readonly allowsAll?: () => boolean;
  /** Whether to publish in a ConfigMap how users are authenticated, for extension API servers. */
  readonly publish?: boolean;
  /** The identity with which this server forwards requests, used unless front proxies are configured. */
  readonly ownProxy?: { readonly names: readonly string[]; readonly ca: () => string };
  readonly onError: (error: Error) => void;
  readonly onWarning: (message: string) => void;
}

const webhookCacheMs = 120_000;

/** Rejects with a sentence when options or files cannot be used. */
export async function makeAuthenticator(
  options: AuthenticationOptions,
  context: AuthenticationContext,
): Promise<Authentication> {
  const closers: Closers = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.reverse()) await closer();
  };
  try {
    return await assemble(options, context, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function assemble(
  options: AuthenticationOptions,
  context: AuthenticationContext,
  closers: Closers,
  close: () => Promise<void>,
): Promise<Authentication> {
  const { writing, onError } = context;
  const { audiences, issuers } = context.tokens.settings;
  const issuersOf = await configuredIssuers(options, context, audiences, issuers);
  closers.push(() => issuersOf?.close());

  let published: PublishedAuthentication | undefined;
  const changed = (): void => published?.refresh();
  const clients = clientAuthorities(context, changed, closers);
  const proxies = options.requestHeader && proxyAuthorities(options.requestHeader, context, changed, closers);
  const headers: ProxyHeaders = { ...requestHeaderDefaults, ...defined(options.requestHeader ?? {}) };
  const proxy = proxies && new FrontProxy(proxies, headers);
  const methods: Authenticator[] = [
    ...(proxy ? [proxy] : []),
    ...(clients ? [new ClientCertificates(clients)] : []),
  ];
  const webhook = await tokenWebhook(options, context, audiences);
  if (webhook) closers.push(() => webhook.close());
  const tokens = await tokenMethods(options, context, audiences, issuersOf, webhook);
  if (context.publish) {
    published = new PublishedAuthentication(writing, onError, () => ({
      clientCA: clients?.pem,
      proxy: proxies ? { ca: proxies.pem, headers } : ownProxy(context),
    }));
    const publishing = published;
    closers.push(() => publishing.close());
    await publishing.start();
  }
  return new Authentication({
    methods,
    tokens: new BearerTokens(tokens, audiences),
    anonymous: new Anonymous(anonymousAccess(options, context, issuersOf)),
    isIdentityHeader: (name) => proxy?.reads(name) ?? false,
    onError,
    close,
  });
}

/** The settings by which extension API servers accept identity headers of this server. */
function ownProxy({ ownProxy: own }: AuthenticationContext): Published['proxy'] {
  return own && { ca: own.ca(), headers: { ...requestHeaderDefaults, allowedNames: own.names } };
}

function anonymousAccess(
  { anonymous }: AuthenticationOptions,
  { allowsAll = () => false, onWarning }: AuthenticationContext,
  configured: ConfiguredIssuers | undefined,
): () => AnonymousAccess {
  if (anonymous !== undefined && configured?.anonymous !== undefined)
    throw new Error('anonymous access is set by an option and in the authentication configuration file');
  const off = { enabled: false };
  const usual = { enabled: anonymous ?? true };
  const access = (): AnonymousAccess => configured?.anonymous ?? usual;
  if (allowsAll() && access().enabled)
    onWarning(
      'anonymous requests are not let in, because the authorization mode AlwaysAllow would allow them everything',
    );
  return () => (allowsAll() ? off : access());
}

async function configuredIssuers(
  { oidc, configFile }: AuthenticationOptions,
  { registry, onError, onWarning }: AuthenticationContext,
  audiences: readonly string[],
  reserved: readonly string[],
): Promise<ConfiguredIssuers | undefined> {
  if (!oidc && configFile === undefined) return undefined;
  if (oidc && configFile !== undefined)
    throw new Error(
      'an OIDC issuer is set by options and by an authentication configuration file; only one is possible',
    );
  // Loaded on demand, like all code that calls other servers.
  const { ConfiguredIssuers } = await import('./configured-issuers.ts');
  const nowMs = (): number => registry.sources.nowMs();
  const issuers = new ConfiguredIssuers({ audiences, reserved, nowMs, onError, log: onWarning });
  if (configFile !== undefined) issuers.follow(configFile);
  else issuers.use([await oidcConfiguration(oidc!)]);
  return issuers;
}

async function oidcConfiguration(options: OidcOptions): Promise<OidcConfiguration> {
  const {
    issuerUrl,
    clientId,
    usernameClaim = 'sub',
    usernamePrefix,
    groupsClaim,
    groupsPrefix,
    caFile,
  } = options;
  const prefix = usernamePrefix ?? (usernameClaim === 'email' ? '' : `${issuerUrl}#`);
  return {
    issuer: {
      url: issuerUrl,
      certificateAuthority:
        caFile === undefined ? undefined : await readTextFile(caFile, 'OIDC authorities file'),
    },
    algorithms: options.signingAlgs?.length ? options.signingAlgs : ['RS256'],
    audiences: [clientId],
    requiredClaims: options.requiredClaims ?? {},
    username: { claim: usernameClaim, prefix: prefix === '-' ? '' : prefix },
    groups: groupsClaim === undefined ? undefined : { claim: groupsClaim, prefix: groupsPrefix ?? '' },
  };
}

type Closers = (() => Promise<void> | void)[];

/** The authorities of client certificates; undefined when none are accepted. */
function clientAuthorities(
  { registry, clients, onError }: AuthenticationContext,
  changed: () => void,
  closers: Closers,
): ClientAuthorities | undefined {
  if (!clients) return undefined;
  const authorities = new ClientAuthorities(clients.pem(), () => registry.sources.nowMs());
  const takeOver = (): void => {
    try {
      authorities.replace(clients.pem());
      changed();
    } catch (error) {
      onError(error as Error);
    }
  };
  closers.push(clients.follow(takeOver));
  return authorities;
}

function proxyAuthorities(
  { clientCAFile: file }: RequestHeaderOptions,
  { registry, onWarning }: AuthenticationContext,
  changed: () => void,
  closers: Closers,
): ClientAuthorities {
  let authorities: ClientAuthorities | undefined;
  const take = ([pem = '']: readonly string[]): void => {
    if (authorities) authorities.replace(pem);
    else authorities = new ClientAuthorities(pem, () => registry.sources.nowMs());
    changed();
  };
  try {
    const files = new WatchedFiles({ paths: [file], take, log: onWarning });
    closers.push(() => files.close());
  } catch (error) {
    throw new Error(
      `the authorities of front proxies, ${file}, cannot be used: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
  return authorities!;
}

async function tokenMethods(
  options: AuthenticationOptions,
  { registry, writing, tokens, users = [], onError, onWarning }: AuthenticationContext,
  audiences: readonly string[],
  issuers: ConfiguredIssuers | undefined,
  webhook: TokenWebhook | undefined,
): Promise<TokenAuthenticator[]> {
  const known = [...(await tokenFile(options, onWarning)), ...staticUsers(users)];
  const signed = new SignedClaims(tokens);
  return [
    ...(known.length ? [new StaticTokens(audiences, known)] : []),
    new LegacyTokens(writing, tokens.settings, signed, options.serviceAccounts?.lookup ?? true, onError),
    new BoundTokens(registry, tokens.settings, signed),
    ...((options.bootstrapTokens ?? true) ? [new BootstrapTokens(registry, audiences)] : []),
    ...(issuers ? [issuers] : []),
    ...(webhook ? [webhook] : []),
  ];
}

async function tokenFile(
  { tokenAuthFile: file }: AuthenticationOptions,
  onWarning: (message: string) => void,
): Promise<ReturnType<typeof tokenFileUsers>> {
  if (file === undefined) return [];
  const text = await readTextFile(file, 'token file');
  try {
    return tokenFileUsers(text, onWarning);
  } catch (error) {
    throw new Error(`the token file ${file} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

async function tokenWebhook(
  { tokenWebhook: settings }: AuthenticationOptions,
  { registry }: AuthenticationContext,
  serverAudiences: readonly string[],
): Promise<TokenWebhook | undefined> {
  if (!settings) return undefined;
  const { configFile, version = 'v1beta1', cacheMs = webhookCacheMs } = settings;
  const [{ readRemoteService }, { TokenWebhook }] = await Promise.all([
    import('../shared/remote-configuration.ts'),
    import('./token-webhook.ts'),
  ]);
  const service = await readRemoteService(configFile, 'token webhook configuration');
  return new TokenWebhook({
    service,
    version,
    cacheMs,
    serverAudiences,
    nowMs: () => registry.sources.nowMs(),
  });
}

/** Without undefined values, which would hide defaults. */
const defined = <T extends object>(options: T): Partial<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
