/**
 * The log folder of a node, in the layout that kubelets use in /var/log and log shippers expect:
 *
 *   pods/<namespace>_<pod>_<uid>/<container>/<attempt>.log                the file that a container writes now
 *   pods/<namespace>_<pod>_<uid>/<container>/<attempt>.log.<time>         files that were rotated at that time
 *   containers/<pod>_<namespace>_<container>-<container id>.log          the current file again
 *
 * All entries are links: from `pods` to the files in the pods' folders, and from `containers` to `pods`.
 */
import type { Dirent, Stats } from 'node:fs';
import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
} from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import type { Pod } from '../../api/generated/types.ts';
import { makeFolders } from '../machine/folder-care.ts';
import { replaceLink } from '../process/replaced-file.ts';
import type { LogSegment } from './log-file.ts';

/** Maximum number of names in a listing. */
const namesMax = 10_000;
const folderMode = 0o755;

/** Paths of log files below the pods' folder; nothing else there may be read. */
const logPath = /^[^/]+\/containers\/[^/]+\/\d+\.log(?:\.\d+)?$/;
const logEnd = new RegExp(`/pods/${logPath.source.slice(1)}`);

export interface ContainerRun {
  readonly pod: Pod;
  readonly container: string;
  readonly attempt: number;
  readonly id: string;
}

export type Found =
  | { readonly kind: 'folder'; readonly entries: readonly Dirent[] }
  /** The caller closes the handle. */
  | { readonly kind: 'file'; readonly handle: FileHandle; readonly stats: Stats };

export class LogFolder {
  /** Tail of a queue: changes are made one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly path: string,
    /** The folders of the pods, whose log files the links point at. */
    private readonly podsFolders: readonly string[],
    private readonly now: () => number,
    private readonly onError: (error: Error) => void,
  ) {}

  /** Creates the links to the log of a run; `segments` are its files, the newest last. */
  show(run: ContainerRun, segments: readonly LogSegment[]): Promise<void> {
    const current = segments.at(-1)?.path;
    const { namespace, name } = run.pod.metadata;
    const folder = join(this.#podFolder(run.pod), run.container);
    const link = join(folder, `${run.attempt}.log`);
    const byId = join(this.path, 'containers', `${name}_${namespace}_${run.container}-${run.id}.log`);
    return this.#change(async () => {
      if (current === undefined) return;
      await makeFolders(folder, folderMode);
      await makeFolders(dirname(byId), folderMode);
      await this.#putAside(link, current);
      await replaceLink(link, current);
      await replaceLink(byId, relative(dirname(byId), link));
      await this.#prune(folder);
      await this.#pruneContainers(`${name}_${namespace}_${run.container}-`);
    });
  }

  /** Removes the links of a pod that is gone. */
  forget(uid: string): Promise<void> {
    const pods = join(this.path, 'pods');
    return this.#change(async () => {
      for (const folder of await foldersIn(pods)) {
        const [namespace, name, end] = folder.split('_');
        if (end !== uid) continue;
        await rm(join(pods, folder), { recursive: true, force: true });
        await this.#pruneContainers(`${name}_${namespace}_`);
      }
    });
  }

  /** Removes every link to a log that no longer exists, including links of other agents. */
  prune(): Promise<void> {
    return this.#change(async () => {
      const pods = join(this.path, 'pods');
      for (const pod of await foldersIn(pods)) {
        for (const container of await foldersIn(join(pods, pod)))
          await this.#prune(join(pods, pod, container));
        await rmdir(join(pods, pod)).catch(() => undefined);
      }
      await this.#pruneContainers('');
    });
  }

  /**
   * The file or folder at a path; undefined when it does not exist or may not be seen. Links are followed,
   * but only within the log folder and to logs of pods.
   */
  async find(segments: readonly string[]): Promise<Found | undefined> {
    if (segments.some((name) => !name || name === '.' || name === '..' || /[/\\\0]/.test(name)))
      return undefined;
    try {
      const top = await realpath(this.path);
      const path = await realpath(join(top, ...segments));
      if (!isWithin(path, top) && !(await this.#isLog(path))) return undefined;
      const stats = await lstat(path);
      if (stats.isDirectory()) {
        const entries = (await readdir(path, { withFileTypes: true })).slice(0, namesMax);
        return { kind: 'folder', entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)) };
      }
      return stats.isFile() ? await openFile(path) : undefined;
    } catch {
      return undefined;
    }
  }

  #podFolder({ metadata: { namespace, name, uid } }: Pod): string {
    return join(this.path, 'pods', `${namespace}_${name}_${uid}`);
  }

  async #isLog(path: string): Promise<boolean> {
    for (const folder of this.podsFolders) {
      const pods = await realpath(folder).catch(() => undefined);
      if (pods !== undefined && isWithin(path, pods) && logPath.test(relative(pods, path))) return true;
    }
    return false;
  }

  /** Renames the link to the former current file after the time it was rotated. */
  async #putAside(link: string, current: string): Promise<void> {
    const before = await readlink(link).catch(() => undefined);
    if (before === undefined || before === current) return;
    const time = new Date(this.now())
      .toISOString()
      .replace(/[-:]|\..*$/g, '')
      .replace('T', '-');
    let aside = `${link}.${time}`;
    // Two rotations within one second: add a number.
    for (let more = 1; await lstat(aside).catch(() => undefined); more++) aside = `${link}.${time}.${more}`;
    await rename(link, aside);
  }

  /** Removes dangling links in a folder, and the folder if it is empty then. */
  async #prune(folder: string): Promise<void> {
    for (const { name } of await entriesOf(folder)) {
      const target = await readlink(join(folder, name)).catch(() => '');
      if (logEnd.test(target) && !(await exists(join(folder, name)))) await rm(join(folder, name));
    }
    await rmdir(folder).catch(() => undefined);
  }

  async #pruneContainers(prefix: string): Promise<void> {
    const folder = join(this.path, 'containers');
    for (const { name } of await entriesOf(folder)) {
      if (!name.startsWith(prefix)) continue;
      const target = await readlink(join(folder, name)).catch(() => '');
      if (target.startsWith(join('..', 'pods') + sep) && !(await exists(join(folder, name))))
        await rm(join(folder, name));
    }
  }

  /**
   * Runs a change after those before it. Errors are reported only: a link that cannot be made must not stop a
   * container.
   */
  #change(work: () => Promise<void>): Promise<void> {
    const done = this.#last
      .then(work)
      .catch((error: Error) =>
        this.onError(new Error(`log links in ${this.path}: ${error.message}`, { cause: error })),
      );
    this.#last = done;
    return done;
  }
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep);

/** Opens a file and checks the open handle: the name may point elsewhere since it was resolved. */
async function openFile(path: string): Promise<Found | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stats = await handle.stat();
  if (stats.isFile()) return { kind: 'file', handle, stats };
  await handle.close();
  return undefined;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const entriesOf = (folder: string): Promise<Dirent[]> =>
  readdir(folder, { withFileTypes: true }).catch(() => []);

const foldersIn = async (folder: string): Promise<string[]> =>
  (await entriesOf(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
