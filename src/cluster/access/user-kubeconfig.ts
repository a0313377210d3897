/** Makes kubeconfigs of users with the authority in a data folder, for `wherry kubeconfig`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { wallClock } from '../../clock.ts';
import { type Authority, yearMs } from '../../pki/authority.ts';
import { administrator, issueClient, readAuthority } from '../../pki/cluster-certificates.ts';
import { writePrivately } from '../../pki/pki-folder.ts';
import { StartError } from '../shared/start-error.ts';
import { type Kubeconfig, kubeconfigText, secureKubeconfig } from './kubeconfig.ts';
import { type ContextEntry, mergeContextInto } from './kubeconfig-file.ts';

export interface KubeconfigOptions {
  readonly dataDir: string;
  /** The cluster of the data folder, if it has a name. */
  readonly cluster?: { readonly name: string; readonly identity: string } | undefined;
  /** The user; absent: the administrator. */
  readonly user: string | undefined;
  readonly groups: readonly string[];
  readonly lifeMs: number | undefined;
  /** The address of the server; absent: that of the last start. */
  readonly server: string | undefined;
  /** A file to write, or one to add to; with neither, the text is returned. */
  readonly output: string | undefined;
  readonly merge: string | undefined;
}

/** Maximum number of names tried for a cluster without a name of its own. */
const namesMax = 20;

/** Returns the text to print. Throws a `StartError` with a sentence. */
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
  if (merge !== undefined) return mergeInto(merge, config, options);
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

/** Address and authority that the last start wrote; undefined when it wrote nothing. */
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

/** Adds the entries to a file, under names that no other cluster uses there. */
async function mergeInto(
  file: string,
  config: Kubeconfig,
  { cluster, dataDir }: KubeconfigOptions,
): Promise<string> {
  const [written] = config.clusters;
  const [user] = config.users;
  const entries = {
    cluster: written!.cluster as Record<string, unknown>,
    user: user!.user as Record<string, unknown>,
    identity: cluster?.identity ?? path.resolve(dataDir),
  };
  const kept = await mergeContextInto(
    file,
    namesOf(config, user!.name, cluster?.name, dataDir).map((names) => ({ ...entries, ...names })),
    true,
  );
  if (!kept) throw new StartError(`${file} has no name left for this cluster`);
  return `Added to ${file}; its current context is ${kept.context}\n`;
}

type Names = Pick<ContextEntry, 'context' | 'clusterName' | 'userName'>;

/** Possible names: those of the named cluster; else the usual ones, then numbered ones. */
function namesOf(config: Kubeconfig, user: string, name: string | undefined, dataDir: string): Names[] {
  const of = (clusterName: string): Names => {
    const both = `${user}@${clusterName}`;
    return { context: both, clusterName, userName: both };
  };
  if (name !== undefined && user === administrator.name) {
    const own = `wherry-${name}`;
    return [{ context: own, clusterName: own, userName: own }];
  }
  if (name !== undefined) return [of(`wherry-${name}`)];
  const usual = { context: config['current-context'], clusterName: config.clusters[0]!.name, userName: user };
  const folder = path.basename(path.dirname(path.resolve(dataDir)));
  const further = Array.from({ length: namesMax }, (_, i) => of(`wherry-${folder}${i ? `-${i + 1}` : ''}`));
  return [usual, ...further];
}

async function orSentence<T>(file: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(`${file} cannot be used (${code ?? message})`, { cause: error });
  }
}
