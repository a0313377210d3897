/** Kubeconfigs of users, made from the authority in a data folder: what `wherry kubeconfig` does. */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readYaml, writeYaml } from '../../api/text/yaml.ts';
import { wallClock } from '../../clock.ts';
import { type Authority, yearMs } from '../../pki/authority.ts';
import { administrator, issueClient, readAuthority } from '../../pki/cluster-certificates.ts';
import { writePrivately } from '../../pki/pki-folder.ts';
import { StartError } from '../shared/start-error.ts';
import { type Kubeconfig, kubeconfigText, secureKubeconfig } from './kubeconfig.ts';

export interface KubeconfigOptions {
  readonly dataDir: string;
  /** Absent: the administrator. */
  readonly user: string | undefined;
  readonly groups: readonly string[];
  readonly lifeMs: number | undefined;
  /** Absent: where the last start was reached. */
  readonly server: string | undefined;
  /** A file to write, or one to add to; neither: the text is handed back. */
  readonly output: string | undefined;
  readonly merge: string | undefined;
}

/** Length of the kubeconfig that a user is added to. */
const fileBytesMax = 16 * 1024 * 1024;

/** What is to be printed. Throws a `StartError` with a sentence. */
export async function writeUserKubeconfig(options: KubeconfigOptions): Promise<string> {
  const { dataDir, output, merge } = options;
  const authority = authorityIn(dataDir);
  const former = formerCluster(dataDir);
  const url = options.server ?? former?.server;
  if (url === undefined)
    throw new StartError(`where the server of ${dataDir} is reached is not known; name it by --server`);
  const user = options.user ?? administrator.name;
  const groups = options.user === undefined ? administrator.groups : options.groups;
  const issue = { name: user, groups, lifeMs: options.lifeMs ?? yearMs };
  const client = issueClient(authority, issue, wallClock());
  const config = secureKubeconfig({ url, ca: former ? former.ca : authority.pem.cert, user, client });
  if (merge !== undefined) return mergeInto(merge, config);
  if (output === undefined) return kubeconfigText(config);
  await orSentence(output, () => writePrivately(path.resolve(output), kubeconfigText(config)));
  return `Written to ${output}: user ${user} at ${url}\n`;
}

function authorityIn(dataDir: string): Authority {
  try {
    const found = readAuthority(path.join(dataDir, 'pki'));
    if (found) return found;
  } catch (error) {
    throw new StartError(`the authority in ${dataDir} cannot be used: ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new StartError(
    `there is no authority in ${path.join(dataDir, 'pki')}; it is made when a cluster with this data folder first starts`,
  );
}

/** What the last start wrote about where it is reached; undefined when it wrote nothing. */
function formerCluster(dataDir: string): { server: string; ca: string | undefined } | undefined {
  try {
    const text = readFileSync(path.join(dataDir, 'kubeconfig'), 'utf8');
    const cluster = (JSON.parse(text) as Kubeconfig).clusters[0]!.cluster as Record<string, string>;
    const data = cluster['certificate-authority-data'];
    return { server: cluster['server']!, ca: data && Buffer.from(data, 'base64').toString('utf8') };
  } catch {
    return undefined;
  }
}

interface Named {
  readonly name?: string;
}

async function mergeInto(file: string, config: Kubeconfig): Promise<string> {
  const there = await orSentence(file, () => readKubeconfig(file));
  const merged: Record<string, unknown> = { apiVersion: 'v1', kind: 'Config', preferences: {}, ...there };
  for (const list of ['clusters', 'users', 'contexts'] as const) {
    const before = Array.isArray(merged[list]) ? (merged[list] as Named[]) : [];
    const names = new Set(config[list].map(({ name }) => name));
    merged[list] = [...before.filter((entry) => !names.has(entry?.name ?? '')), ...config[list]];
  }
  merged['current-context'] = config['current-context'];
  await orSentence(file, async () => {
    // kubectl makes the folder of its configuration, too.
    mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
    await writePrivately(path.resolve(file), writeYaml(merged));
  });
  return `Added to ${file}; its current context is ${config['current-context']}\n`;
}

async function readKubeconfig(file: string): Promise<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  if (text.length > fileBytesMax) throw new Error('it is too large for a kubeconfig');
  if (text.trim() === '') return {};
  const { value } = await readYaml(text);
  if (typeof value !== 'object' || value === null || (value as { kind?: unknown }).kind !== 'Config')
    throw new Error('it is no kubeconfig');
  return value as Record<string, unknown>;
}

async function orSentence<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(`${file} cannot be used (${code ?? message})`, { cause: error });
  }
}
