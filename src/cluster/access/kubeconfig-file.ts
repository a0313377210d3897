/**
 * Edits the user's kubeconfig: adds and removes contexts of clusters. It uses the same lock as kubectl, replaces the
 * file in one step, and writes only what changes: comments, order and unknown fields stay.
 */
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Document } from 'yaml';
import { writePrivately } from '../../pki/pki-folder.ts';
import { homeFolder } from '../../platform.ts';
import { StartError } from '../shared/start-error.ts';
import type { Kubeconfig } from './kubeconfig.ts';

const fileBytesMax = 16 * 1024 * 1024;
/** How long to wait for the lock. kubectl holds it for some milliseconds; one that stays was left by a killed program. */
const lockMaxMs = 10_000;
const lockLookMs = 20;
/** The extension that names the owner of an entry. Clients keep extensions that they do not know. */
const extensionName = 'wherry.dev/cluster';

/** The entries of a context. */
export interface ContextEntry {
  /** The names of context, cluster and user. */
  readonly context: string;
  readonly clusterName: string;
  readonly userName: string;
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
  /** Distinguishes clusters of the same name: the folder of its record, or of its data. */
  readonly identity: string;
}

export interface Merged {
  readonly file: string;
  readonly isCurrent: boolean;
}

/** The entries of a named cluster, all with its name. @param text a kubeconfig of that cluster */
export function contextEntry(name: string, identity: string, text: string): ContextEntry {
  const { clusters, users } = JSON.parse(text) as Kubeconfig;
  const cluster = clusters[0]!.cluster as ContextEntry['cluster'];
  const own = `wherry-${name}`;
  const names = { context: own, clusterName: own, userName: own };
  return { ...names, cluster, user: users[0]!.user as ContextEntry['user'], identity };
}

/** The files that kubectl reads, first to last. */
function kubeconfigFiles(env: NodeJS.ProcessEnv = process.env): string[] {
  const named = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter(Boolean);
  if (named.length) return [...new Set(named)];
  const home = homeFolder();
  return home === undefined ? [] : [path.join(home, '.kube', 'config')];
}

/** The file to which kubectl would write new entries: the first that exists, else the last. */
const fileForNew = (files: readonly string[]): string =>
  files.length === 1 ? files[0]! : (files.find((file) => textOf(file) !== undefined) ?? files.at(-1)!);

/**
 * Adds a context to the user's kubeconfig, or updates it.
 * @param use make it the current one always, not only when no file names one
 */
export async function mergeContext(entry: ContextEntry, use: boolean): Promise<Merged> {
  const files = kubeconfigFiles();
  if (!files.length)
    throw new StartError('the home folder of this user is not known: set HOME or KUBECONFIG');
  const file = files.find((one) => namesIn(one, entry.context)) ?? fileForNew(files);
  const current = (await Promise.all(files.map(currentIn))).find(Boolean);
  const makesCurrent = use || !current;
  const kept = await mergeContextInto(file, [entry], makesCurrent);
  if (!kept)
    throw new StartError(
      `${file} has a context, cluster or user ${entry.context} of another cluster, which stays as it is`,
    );
  return { file, isCurrent: makesCurrent || current === entry.context };
}

/** Adds the first of several alternatives whose names no other cluster uses in the file; undefined when all are used. */
export async function mergeContextInto(
  file: string,
  forms: readonly ContextEntry[],
  makesCurrent: boolean,
): Promise<ContextEntry | undefined> {
  let kept: ContextEntry | undefined;
  await edited(file, async (document) => {
    const { isMap } = await import('yaml');
    if (!isMap(document.contents) || document.get('kind') !== 'Config')
      throw new Error('it is no kubeconfig');
    kept = forms.find((form) => !isForeign(document, form));
    if (!kept) return;
    const { context, clusterName, userName, identity } = kept;
    const extensions = [{ name: extensionName, extension: { identity } }];
    set(document, 'clusters', clusterName, { name: clusterName, cluster: { ...kept.cluster, extensions } });
    set(document, 'users', userName, { name: userName, user: kept.user });
    set(document, 'contexts', context, { name: context, context: { cluster: clusterName, user: userName } });
    if (makesCurrent) document.set('current-context', context);
  });
  return kept;
}

/** The contexts of a cluster, with their users. */
const contextsOf = (document: Document, cluster: string): { context: string; user: string }[] =>
  entriesOf(document, 'contexts').flatMap((item) => {
    const { name = '', context } = item.toJSON() as {
      name?: string;
      context?: { cluster?: string; user?: string };
    };
    return context?.cluster === cluster ? [{ context: name, user: context.user ?? '' }] : [];
  });

/** Removes a cluster with its contexts from all files. Returns the changed ones. */
export async function removeContext(
  name: string,
  identity: string,
  further: readonly string[] = [],
): Promise<string[]> {
  const changed: string[] = [];
  for (const file of new Set([...kubeconfigFiles(), ...further])) {
    if (!namesIn(file, name)) continue;
    await edited(file, (document) => {
      if (identityIn(document, name) !== identity) return;
      const contexts = contextsOf(document, name);
      remove(document, 'clusters', name);
      for (const { context, user } of contexts) {
        remove(document, 'contexts', context);
        remove(document, 'users', user);
        if (document.get('current-context') === context) document.delete('current-context');
      }
      changed.push(file);
    });
  }
  return changed;
}

type Entries = { items: { toJSON(): { name?: unknown } }[] };

const entriesOf = (document: Document, list: string): Entries['items'] => {
  const found = document.get(list) as Partial<Entries> | undefined;
  return Array.isArray(found?.items) ? found.items : [];
};

const indexOf = (document: Document, list: string, name: string): number =>
  entriesOf(document, list).findIndex((item) => item?.toJSON?.()?.name === name);

function set(document: Document, list: string, name: string, value: object): void {
  const index = indexOf(document, list, name);
  const node = document.createNode(value);
  if (index >= 0) document.setIn([list, index], node);
  else if (entriesOf(document, list).length) document.addIn([list], node);
  else document.set(list, document.createNode([value]));
}

function remove(document: Document, list: string, name: string): void {
  const index = indexOf(document, list, name);
  if (index >= 0) document.deleteIn([list, index]);
}

interface WrittenCluster {
  readonly server?: string;
  readonly 'certificate-authority-data'?: string;
  readonly extensions?: readonly { name?: string; extension?: { identity?: string } }[];
}

function clusterIn(document: Document, name: string): WrittenCluster | undefined {
  const index = indexOf(document, 'clusters', name);
  if (index < 0) return undefined;
  return (entriesOf(document, 'clusters')[index]!.toJSON() as { cluster?: WrittenCluster }).cluster ?? {};
}

/** The owner of an entry; undefined when it names none. */
const identityIn = (document: Document, name: string): string | undefined =>
  clusterIn(document, name)?.extensions?.find((one) => one?.name === extensionName)?.extension?.identity;

/** Whether one of the names is used by another cluster. */
function isForeign(
  document: Document,
  { context, clusterName, userName, cluster, identity }: ContextEntry,
): boolean {
  const there = clusterIn(document, clusterName);
  if (!there) return indexOf(document, 'users', userName) >= 0 || indexOf(document, 'contexts', context) >= 0;
  const said = identityIn(document, clusterName);
  if (said !== undefined) return said !== identity;
  const authority = 'certificate-authority-data';
  return there[authority] === undefined
    ? there.server !== cluster['server']
    : there[authority] !== cluster[authority];
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(file, error);
  }
}

function unusable(file: string, error: unknown): StartError {
  if (error instanceof StartError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new StartError(`${file} cannot be used (${code ?? message})`, { cause: error });
}

/** Whether a file mentions a name; a quick check without parsing. */
const namesIn = (file: string, name: string): boolean => textOf(file)?.includes(name) ?? false;

/** The current context of a file; undefined when it has none. */
async function currentIn(file: string): Promise<string | undefined> {
  const text = textOf(file);
  if (text === undefined || !text.includes('current-context')) return undefined;
  const { parseDocument } = await import('yaml');
  const { contents } = parseDocument(text) as { contents: { get?(key: string): unknown } | null };
  const current = contents?.get?.('current-context');
  return typeof current === 'string' && current !== '' ? current : undefined;
}

const empty = 'apiVersion: v1\nkind: Config\npreferences: {}\n';

/** Changes a file under its lock. */
async function edited(file: string, change: (document: Document) => void | Promise<void>): Promise<void> {
  try {
    // Edit the target of a symbolic link, so that the link stays.
    const real = realOf(path.resolve(file));
    mkdirSync(path.dirname(real), { recursive: true, mode: 0o700 });
    await withLock(`${path.resolve(file)}.lock`, async () => {
      const before = textOf(real) ?? '';
      if (before.length > fileBytesMax) throw new Error('it is too large for a kubeconfig');
      const { parseDocument } = await import('yaml');
      const document = parseDocument(before.trim() === '' ? empty : before);
      if (document.errors.length) throw new Error(await faultIn(before, document));
      await change(document);
      const after = document.toString({ lineWidth: 0 });
      if (after !== before) writePrivately(real, after);
    });
  } catch (error) {
    throw unusable(file, error);
  }
}

async function faultIn(text: string, { errors }: Document): Promise<string> {
  const { tellingError, yamlFault } = await import('../../api/text/yaml-faults.ts');
  const wrong = tellingError(errors)!;
  const [at] = wrong.linePos ?? [];
  return `line ${at?.line}, column ${at?.col}: ${yamlFault(wrong, text.slice(wrong.pos[0]))}`;
}

function realOf(file: string): string {
  try {
    lstatSync(file);
    return realpathSync(file);
  } catch {
    return file;
  }
}

async function withLock(lock: string, work: () => Promise<void>): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lockLookMs) {
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (waitedMs >= lockMaxMs)
        throw new StartError(
          `${lock} is there: another program changes the file, or was killed while it did; remove it if none does`,
        );
    }
    await setTimeout(lockLookMs);
  }
  try {
    await work();
  } finally {
    rmSync(lock, { force: true });
  }
}
