/** Tokens with which nodes join: made, listed and deleted on a running cluster, as the administrator of its data folder. */
import { createHash, randomInt, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { StatusError } from '../../api/errors/errors.ts';
import type { Secret } from '../../api/generated/types.ts';
import {
  bootstrapSecretName,
  bootstrapTokenNamespace,
  bootstrapTokenOf,
  bootstrapTokenType,
} from '../../api/values/bootstrap-token.ts';
import { durationText, formatTime } from '../../api/values/time.ts';
import { Client } from '../../client/client.ts';
import { configMaps, secrets } from '../../client/resources.ts';
import { wallClock } from '../../clock.ts';
import { publicDer } from '../../pki/key-pair.ts';
import { certificatesIn } from '../../pki/pem.ts';
import { clusterInfo } from '../../registry/system/cluster-info.ts';
import { isLoopback } from '../../server/doors/foreign-page.ts';
import { StartError } from '../shared/start-error.ts';
import { joiningGroup } from './joining.ts';
import type { Kubeconfig } from './kubeconfig.ts';

export interface TokenOptions {
  readonly action: 'create' | 'list' | 'delete';
  readonly dataDir: string;
  /** For `delete`: the token, or the part before its dot. */
  readonly token: string | undefined;
  /** Lifetime; 0: it does not expire. */
  readonly ttlMs: number;
  readonly description: string | undefined;
  /** Groups besides `system:bootstrappers`. Default: the group that may join. */
  readonly groups: readonly string[] | undefined;
  readonly printJoinCommand: boolean;
}

/** How long the command waits until a new token is signed, and how often it checks. */
const signedMaxMs = 3_000;
const lookMs = 50;

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
const random = (length: number): string =>
  Array.from({ length }, () => letters[randomInt(letters.length)]).join('');

/** Text for standard output, and messages beside it. */
export interface TokenAnswer {
  readonly text: string;
  readonly warning?: string | undefined;
}

/** Throws a `StartError` with a sentence. */
export async function runToken(options: TokenOptions): Promise<TokenAnswer> {
  const cluster = administeredCluster(options.dataDir);
  const client = new Client(cluster.server, { ...cluster });
  try {
    if (options.action === 'create') {
      const text = await createToken(client, cluster, options);
      return { text, warning: unreachable(cluster.server) };
    }
    if (options.action === 'list') return { text: await listTokens(client) };
    return { text: await deleteToken(client, options.token ?? '') };
  } catch (error) {
    if (error instanceof StatusError || error instanceof StartError)
      throw new StartError(error.message, { cause: error });
    throw new StartError(
      `the server at ${cluster.server} cannot be reached (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}); it must be running`,
      { cause: error },
    );
  } finally {
    client.close();
  }
}

/** Why other machines cannot reach the address of a server; undefined when no reason is known. */
function unreachable(server: string): string | undefined {
  if (!isLoopback(new URL(server).hostname)) return undefined;
  return `${server} is reached from this machine alone; for nodes elsewhere, start the cluster with --secure-host 0.0.0.0 or one of its addresses, and make the token then`;
}

export interface RunningCluster {
  readonly server: string;
  /** PEM of the authority; absent when the operator's own certificate is used. */
  readonly ca?: string;
  readonly cert: string;
  readonly key: string;
}

/** What the last start wrote about where it is reached, and its administrator. */
export function administeredCluster(dataDir: string): RunningCluster {
  const file = path.join(dataDir, 'kubeconfig');
  try {
    const { clusters, users } = JSON.parse(readFileSync(file, 'utf8')) as Kubeconfig;
    const cluster = clusters[0]!.cluster as Record<string, string>;
    const user = users[0]!.user as Record<string, string>;
    const text = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('utf8');
    const ca = text(cluster['certificate-authority-data']);
    return {
      server: cluster['server']!,
      ...(ca ? { ca } : {}),
      cert: text(user['client-certificate-data']),
      key: text(user['client-key-data']),
    };
  } catch (error) {
    throw new StartError(
      `there is no kubeconfig of an administrator in ${dataDir}; a cluster with this data folder writes it when its secure door opens`,
      { cause: error },
    );
  }
}

async function createToken(client: Client, cluster: RunningCluster, options: TokenOptions): Promise<string> {
  const { ttlMs, description, groups = [joiningGroup] } = options;
  const id = random(6);
  const secret = random(16);
  const fields: Record<string, string> = {
    'token-id': id,
    'token-secret': secret,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': groups.join(','),
    ...(ttlMs === 0 ? {} : { expiration: formatTime(wallClock() + ttlMs) }),
    ...(description === undefined ? {} : { description }),
  };
  const data = Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  const object = { metadata: { name: bootstrapSecretName(id) }, type: bootstrapTokenType, data } as Secret;
  if (bootstrapTokenOf(object)?.groups === undefined)
    throw new StartError(
      'groups of a token begin with system:bootstrappers: and hold small letters, digits, : and -',
    );
  await client.create(secrets, bootstrapTokenNamespace, object);
  await signed(client, id);
  const token = `${id}.${secret}`;
  return options.printJoinCommand ? `${joinCommand(cluster, token)}\n` : `${token}\n`;
}

/** Waits until a controller has signed the cluster info with the token: nodes trust the cluster by that signature. */
async function signed(client: Client, id: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < signedMaxMs; waitedMs += lookMs) {
    const { data } = await client.get(configMaps, clusterInfo.namespace, clusterInfo.name);
    if (data?.[`jws-kubeconfig-${id}`] !== undefined) return;
    await setTimeout(lookMs);
  }
}

function joinCommand({ server, ca }: RunningCluster, token: string): string {
  const trust = ca === undefined ? '--ca-file FILE' : `--ca-hash ${hashOf(ca)}`;
  return `wherry node --server ${server} --token ${token} ${trust}`;
}

function hashOf(ca: string): string {
  const key = publicDer(new X509Certificate(certificatesIn(ca)[0]!).publicKey);
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

async function listTokens(client: Client): Promise<string> {
  const selection = { namespace: bootstrapTokenNamespace, fieldSelector: `type=${bootstrapTokenType}` };
  const { items } = await client.list(secrets, selection);
  const now = wallClock();
  const rows = items.flatMap((secret) => {
    const token = bootstrapTokenOf(secret);
    if (!token) return [];
    const { id, expiresMs, groups = [] } = token;
    const left =
      expiresMs === undefined ? 'never' : expiresMs < now ? 'ended' : durationText(expiresMs - now);
    const description = Buffer.from(secret.data?.['description'] ?? '', 'base64').toString('utf8');
    return [[id, left, groups.join(','), printable(description)]];
  });
  const table = [['TOKEN', 'ENDS', 'GROUPS', 'DESCRIPTION'], ...rows];
  const widths = table[0]!.map((_, at) => Math.max(...table.map((row) => row[at]!.length)));
  return table
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Removes control characters: text of others must not move the cursor of a terminal. */
const printable = (text: string): string => text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '?');

async function deleteToken(client: Client, token: string): Promise<string> {
  const id = token.split('.')[0]!;
  await client.delete(secrets, bootstrapTokenNamespace, bootstrapSecretName(id)).catch((error: unknown) => {
    if (error instanceof StatusError && error.code === 404) throw new StartError(`there is no token ${id}`);
    throw error;
  });
  return `Deleted token ${id}\n`;
}
