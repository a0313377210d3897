/**
 * Reads kubeconfigs: where a cluster is, how its server is checked, and what a client shows to it. Tokens from files and
 * programs are renewed before they expire, and when the server refuses them.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { readYaml } from '../../api/text/yaml.ts';
import { wallClock } from '../../clock.ts';
import { homeFolder } from '../../platform.ts';
import { expiryMs, type OidcConfig, type OidcTokens, refreshTokens } from './oidc-token.ts';

const fileBytesMax = 16 * 1024 * 1024;
/** How long a program may take to make a credential, and how much it may print. */
const programMaxMs = 60_000;
const programBytesMax = 1024 * 1024;
/** How long a token from a file is used before the file is read again. */
const fileTokenMs = 60_000;
/** A credential is renewed this long before it expires. */
const renewalMs = 30_000;
/** The same for tokens of OpenID Connect, of which some live for a minute alone. */
const oidcRenewalMs = 10_000;

/** What a client shows. */
interface Credential {
  readonly authorization?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Where a cluster is, and how to reach it. */
export interface SourceAccess {
  readonly url: string;
  readonly ca?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly serverName?: string | undefined;
  /** @param refused the server did not take the last one */
  credential(refused?: boolean): Promise<Credential>;
}

/** What is wrong with a kubeconfig, in a sentence. */
export class KubeconfigError extends Error {}

/** Where tokens are kept that an issuer has given, beyond the life of the process. */
export interface TokenShelf {
  read(): OidcTokens | undefined;
  write(tokens: OidcTokens): void;
}

/** @param files those of `KUBECONFIG`, or `~/.kube/config`, when none is named */
export function readKubeconfig(file?: string, context?: string, shelf?: TokenShelf): SourceAccess {
  const named =
    file === undefined ? process.env['KUBECONFIG']?.split(path.delimiter).filter(Boolean) : [file];
  const files = named?.length ? named : usualFiles();
  const configs = files.map((one) => readConfig(one, files.length > 1)).filter((one) => one !== undefined);
  const name = context ?? configs.map(({ value }) => text(value['current-context'])).find(Boolean);
  if (!name) throw new KubeconfigError(`${files.join(', ')}: no context is current; name one by --context`);
  const found = entryOf(configs, 'contexts', 'context', name);
  const cluster = entryOf(configs, 'clusters', 'cluster', text(found.value['cluster']) ?? '');
  const user = text(found.value['user']);
  return accessOf(cluster, user ? entryOf(configs, 'users', 'user', user) : undefined, shelf);
}

function usualFiles(): readonly string[] {
  const home = homeFolder();
  if (home === undefined)
    throw new KubeconfigError('the home folder of this user is not known: set HOME or KUBECONFIG');
  return [path.join(home, '.kube', 'config')];
}

interface Config {
  readonly folder: string;
  readonly value: JsonObject;
}

function readConfig(file: string, mayMiss: boolean): Config | undefined {
  try {
    const content = readFileSync(file, 'utf8');
    if (content.length > fileBytesMax) throw new Error('it is too large');
    const { value } = readYaml(content);
    if (!isJsonObject(value)) throw new Error('it is no kubeconfig');
    return { folder: path.dirname(path.resolve(file)), value };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && mayMiss) return undefined;
    throw new KubeconfigError(`the kubeconfig ${file} cannot be read (${code ?? message})`);
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value ? value : undefined);

function entryOf(configs: readonly Config[], list: string, member: string, name: string): Config {
  for (const { folder, value } of configs)
    for (const entry of Array.isArray(value[list]) ? (value[list] as unknown[]) : [])
      if (isJsonObject(entry) && entry['name'] === name && isJsonObject(entry[member]))
        return { folder, value: entry[member] };
  throw new KubeconfigError(`the kubeconfig has no ${member} ${JSON.stringify(name)}`);
}

/** The text of `NAME-data`, in base64, or of the file `NAME`. */
function material({ folder, value }: Config, name: string): string | undefined {
  const data = text(value[`${name}-data`]);
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  const file = text(value[name]);
  return file === undefined ? undefined : readMaterial(path.resolve(folder, file));
}

function readMaterial(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function accessOf(cluster: Config, user: Config | undefined, shelf: TokenShelf | undefined): SourceAccess {
  const { value } = cluster;
  const url = text(value['server']) ?? '';
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new KubeconfigError(`the cluster has no server: ${url}`);
  if (value['proxy-url']) throw new KubeconfigError('clusters behind a proxy (proxy-url) cannot be read');
  return {
    url,
    ca: material(cluster, 'certificate-authority'),
    insecure: value['insecure-skip-tls-verify'] === true,
    serverName: text(value['tls-server-name']),
    credential: credentials(cluster, user, shelf),
  };
}

function credentials(
  cluster: Config,
  user: Config | undefined,
  shelf: TokenShelf | undefined,
): SourceAccess['credential'] {
  if (!user) return async () => ({});
  const { folder, value } = user;
  const readCertificate = () => ({
    cert: material(user, 'client-certificate'),
    key: material(user, 'client-key'),
  });
  // Read at once, so that a file that is missing ends the start.
  let certificate = readCertificate();
  const issued = value['auth-provider'] === undefined ? undefined : oidcTokens(user, shelf);
  const name = text(value['username']);
  const basic = name && `Basic ${Buffer.from(`${name}:${text(value['password']) ?? ''}`).toString('base64')}`;
  const fixed = text(value['token']);
  const file = text(value['tokenFile']);
  let kept: { readonly credential: Credential; readonly untilMs: number } | undefined;
  return async (refused = false) => {
    if (kept && !refused && wallClock() < kept.untilMs) return kept.credential;
    // Certificates in files are renewed there.
    if (refused) certificate = readCertificate();
    if (issued) {
      const { token, untilMs } = await issued(refused);
      kept = { credential: { ...certificate, authorization: `Bearer ${token}` }, untilMs };
    } else if (file !== undefined) {
      const token = readMaterial(path.resolve(folder, file)).trim();
      kept = {
        credential: { ...certificate, authorization: `Bearer ${token}` },
        untilMs: wallClock() + fileTokenMs,
      };
    } else if (isJsonObject(value['exec'])) {
      const made = await runProgram(value['exec'], folder, cluster.value);
      kept = { ...made, credential: { ...certificate, ...made.credential } };
    } else {
      const authorization = fixed ? `Bearer ${fixed}` : basic;
      kept = { credential: { ...certificate, authorization }, untilMs: Number.POSITIVE_INFINITY };
    }
    return kept.credential;
  };
}

/** The tokens of `auth-provider: oidc`, which are renewed as they expire. */
function oidcTokens(
  user: Config,
  shelf: TokenShelf | undefined,
): (refused: boolean) => Promise<{ token: string; untilMs: number }> {
  const provider = user.value['auth-provider'];
  const { name, config } = (isJsonObject(provider) ? provider : {}) as { name?: unknown; config?: unknown };
  if (name !== 'oidc' || !isJsonObject(config))
    throw new KubeconfigError(
      'of all auth-providers only oidc is supported, as in kubectl: use a credential plugin (exec)',
    );
  const authority = { folder: user.folder, value: config };
  const settings: OidcConfig = {
    issuer: text(config['idp-issuer-url']) ?? '',
    clientId: text(config['client-id']) ?? '',
    clientSecret: text(config['client-secret']),
    idToken: text(config['id-token']),
    refreshToken: text(config['refresh-token']),
    ca: material(authority, 'idp-certificate-authority'),
  };
  let tokens: OidcTokens | undefined =
    shelf?.read() ??
    (settings.idToken ? { idToken: settings.idToken, refreshToken: settings.refreshToken } : undefined);
  return async (refused) => {
    const isFresh = tokens && !refused && wallClock() < expiryMs(tokens.idToken) - oidcRenewalMs;
    if (!isFresh) {
      const refreshToken = tokens?.refreshToken ?? settings.refreshToken;
      if (!refreshToken) {
        // Without it there is nothing else to show.
        if (!tokens || refused)
          throw new KubeconfigError('the token has expired, and there is no refresh-token');
      } else {
        const again = settings.refreshToken === refreshToken ? undefined : settings.refreshToken;
        tokens = await refreshTokens(settings, refreshToken)
          // After a new login the kubeconfig has another one.
          .catch((error: Error) => (again ? refreshTokens(settings, again) : Promise.reject(error)))
          .catch((error: Error) => {
            throw new KubeconfigError(`the token could not be renewed: ${error.message}`);
          });
        shelf?.write(tokens);
      }
    }
    const expires = expiryMs(tokens!.idToken);
    return { token: tokens!.idToken, untilMs: expires ? expires - oidcRenewalMs : Number.POSITIVE_INFINITY };
  };
}

/** Runs a credential plugin, as kubectl does. */
async function runProgram(
  exec: JsonObject,
  folder: string,
  cluster: JsonObject,
): Promise<{ credential: Credential; untilMs: number }> {
  const command = text(exec['command']) ?? '';
  const isPath = command.includes('/') || command.includes('\\');
  const file = isPath ? path.resolve(folder, command) : command;
  const args = (Array.isArray(exec['args']) ? exec['args'] : []).map(String);
  const apiVersion = text(exec['apiVersion']) ?? 'client.authentication.k8s.io/v1';
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: {
      interactive: false,
      ...(exec['provideClusterInfo'] === true
        ? {
            cluster: {
              server: cluster['server'],
              'certificate-authority-data': cluster['certificate-authority-data'],
            },
          }
        : {}),
    },
  };
  const env: NodeJS.ProcessEnv = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  for (const entry of Array.isArray(exec['env']) ? (exec['env'] as JsonObject[]) : [])
    env[String(entry['name'])] = String(entry['value']);
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      file,
      args,
      { env, timeout: programMaxMs, maxBuffer: programBytesMax },
      (error, stdout, stderr) =>
        error
          ? reject(
              new KubeconfigError(
                `the credential plugin ${command} failed: ${stderr.trim().slice(0, 500) || error.message}`,
              ),
            )
          : resolve(stdout),
    );
  });
  const { status } = parsedCredential(output, command);
  const token = text(status['token']);
  const expires = Date.parse(text(status['expirationTimestamp']) ?? '');
  return {
    credential: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(text(status['clientCertificateData'])
        ? { cert: text(status['clientCertificateData']), key: text(status['clientKeyData']) }
        : {}),
    },
    untilMs: Number.isNaN(expires) ? Number.POSITIVE_INFINITY : expires - renewalMs,
  };
}

function parsedCredential(output: string, command: string): { status: JsonObject } {
  try {
    const { status } = JSON.parse(output) as { status?: unknown };
    if (isJsonObject(status)) return { status };
  } catch {
    // The same sentence for what is no JSON.
  }
  throw new KubeconfigError(`the credential plugin ${command} printed no ExecCredential with a status`);
}
