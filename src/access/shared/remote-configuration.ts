/** Reads a kubeconfig that names a service to call: its URL, its authorities, and our credentials. */
import { readFile } from 'node:fs/promises';
import type { Agent } from 'node:https';
import path from 'node:path';
import { readYaml } from '../../api/text/yaml.ts';
import { clientUrl } from './client-path.ts';
import { remoteAgent } from './remote-call.ts';
import { readTextFile } from './text-file.ts';

export interface RemoteService {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

type AgentOptions = Parameters<typeof remoteAgent>[0];
type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** Rejects with a sentence that names the file and what is wrong with it. */
export async function readRemoteService(file: string, what: string): Promise<RemoteService> {
  const text = await readTextFile(file, what);
  try {
    return await serviceOf(fieldsOf(readYaml(text).value), path.dirname(file));
  } catch (error) {
    throw new Error(`the ${what} ${file} cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

async function serviceOf(config: Fields, folder: string): Promise<RemoteService> {
  const context = fieldsOf(named(config.contexts, textOf(config['current-context']), 'context'));
  const cluster = fieldsOf(named(config.clusters, textOf(context.cluster), 'cluster'));
  const user = context.user === undefined ? {} : fieldsOf(named(config.users, textOf(context.user), 'user'));
  const url = textOf(cluster.server);
  if (url === undefined || !/^https?:\/\//.test(url)) throw new Error('it names no server');
  const pem = async (holder: Fields, name: string): Promise<string | undefined> => {
    const data = textOf(holder[`${name}-data`]);
    if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
    const file = textOf(holder[name]);
    return file === undefined ? undefined : readFile(path.resolve(folder, file), 'utf8');
  };
  const tls: AgentOptions = {
    ca: await pem(cluster, 'certificate-authority'),
    cert: await pem(user, 'client-certificate'),
    key: await pem(user, 'client-key'),
    servername: textOf(cluster['tls-server-name']),
    ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
  };
  const tokenFile = textOf(user.tokenFile);
  const token =
    textOf(user.token) ?? (tokenFile && (await readFile(path.resolve(folder, tokenFile), 'utf8')).trim());
  return {
    url: clientUrl(url),
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    agent: remoteAgent(defined(tls)),
  };
}

/** An entry of a list by its name; the first when no name is given. */
function named(list: unknown, name: string | undefined, what: string): unknown {
  const entries = Array.isArray(list) ? list.map(fieldsOf) : [];
  const found = name === undefined ? entries[0] : entries.find((entry) => entry.name === name);
  if (!found)
    throw new Error(
      name === undefined ? `it names no ${what}` : `there is no ${what} ${JSON.stringify(name)} in it`,
    );
  return found[what];
}

const defined = (options: AgentOptions): AgentOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
