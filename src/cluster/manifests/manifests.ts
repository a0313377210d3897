/**
 * Manifests that a cluster applies when it starts, from files, folders and kustomizations, and applies again when their
 * files change. What a file does not hold any more stays in the cluster.
 */
import { execFile } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StatusError } from '../../api/errors/errors.ts';
import type { Writing } from '../../registry/writing.ts';
import { StartError } from '../shared/start-error.ts';
import { applyObject, cleaned, rank } from './applying.ts';
import { type FoundObject, objectsOfFiles, objectsOfText } from './manifest-files.ts';

/** Owner of the fields that manifests set. */
const manager = 'wherry-manifests';
const objectsMax = 50_000;
const kustomizeMaxMs = 120_000;
const kustomizeBytesMax = 64 * 1024 * 1024;
/** How long an object may be refused because of what is still to come: a kind, a namespace, a webhook. */
const patienceMs = 60_000;
const retryFirstMs = 50;
const retryMaxMs = 2_000;
/** When it takes longer, a line says what is waited for. */
const quietMs = 5_000;
/** Editors change a file in several steps. */
const settleMs = 100;

export interface ManifestOptions {
  readonly manifests: readonly string[];
  readonly kustomizations: readonly string[];
  /** Whether they are applied again when they change. */
  readonly watched: boolean;
  readonly writing: Writing;
  /** Called with what was applied after a change. */
  readonly tell: (message: string) => void;
  /** Called with what is wrong after a change, or waited for. */
  readonly warn: (message: string) => void;
}

interface Source {
  readonly place: string;
  readonly read: () => Promise<FoundObject[]>;
}

export class Manifests {
  readonly #watchers: FSWatcher[] = [];
  readonly #sources: readonly Source[];
  readonly #closing = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: ManifestOptions) {
    const { manifests, kustomizations } = options;
    this.#sources = [
      ...manifests.map((place) => ({ place, read: () => objectsOfFiles(place) })),
      ...kustomizations.map((place) => ({ place, read: () => kustomized(place) })),
    ];
  }

  /** Resolves with a line for people when all are applied. Rejects with a `StartError`, unless they are watched. */
  async start(): Promise<string> {
    if (this.options.watched) for (const source of this.#sources) await this.#watch(source);
    const lines: string[] = [];
    // All of them are read first, because one may need the kinds of the next.
    const first = this.#applied(this.#sources);
    this.#turn = first.catch(() => undefined);
    try {
      lines.push(await first);
    } catch (error) {
      if (this.#closing.signal.aborted) return '';
      if (!this.options.watched) throw new StartError((error as Error).message, { cause: error });
      this.options.warn((error as Error).message);
    }
    return lines.join('\n');
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const watcher of this.#watchers) watcher.close();
    await this.#turn;
  }

  async #watch(source: Source): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const isFile = (await stat(source.place).catch(() => undefined))?.isFile() ?? false;
    // The folder of a file: editors put a new file in the place of the old one.
    const folder = isFile ? path.dirname(source.place) : source.place;
    const changed = (_: string, name: string | null): void => {
      if (isFile && name !== null && name !== path.basename(source.place)) return;
      clearTimeout(timer);
      timer = globalThis.setTimeout(() => this.#again(source), settleMs);
    };
    try {
      const watcher = watch(folder, { recursive: !isFile, persistent: false }, changed);
      watcher.on('error', (error) => this.options.warn(`${source.place} is not watched: ${error.message}`));
      watcher.on('close', () => clearTimeout(timer));
      this.#watchers.push(watcher);
    } catch (error) {
      throw new StartError(`${source.place} cannot be watched: ${(error as NodeJS.ErrnoException).code}`, {
        cause: error,
      });
    }
  }

  #again(source: Source): void {
    if (this.#closing.signal.aborted) return;
    const { tell, warn } = this.options;
    this.#turn = this.#turn
      .then(() => this.#applied([source]))
      .then(tell, (error: Error) => (this.#closing.signal.aborted ? undefined : warn(error.message)));
  }

  async #applied(sources: readonly Source[]): Promise<string> {
    const found: FoundObject[] = [];
    for (const { read } of sources) found.push(...(await read()));
    if (found.length > objectsMax) throw new RangeError(`the manifests have more than ${objectsMax} objects`);
    found.sort((a, b) => rank(a.object) - rank(b.object));
    const places = sources.map(({ place }) => place).join(', ');
    await this.#applyAll(found);
    return `Applied ${found.length} object${found.length === 1 ? '' : 's'} of ${places}`;
  }

  /** In rounds, because an object may need another that comes later, or what the cluster does with it. */
  async #applyAll(found: readonly FoundObject[]): Promise<void> {
    const begun = performance.now();
    const until = begun + patienceMs;
    let isTold = false;
    let pauseMs = retryFirstMs;
    for (let waiting = found; waiting.length; pauseMs = Math.min(pauseMs * 2, retryMaxMs)) {
      const refused: { readonly one: FoundObject; readonly error: Error }[] = [];
      for (const one of waiting) {
        if (this.#closing.signal.aborted) throw new Error('the cluster closes');
        await this.#applyOne(one).catch((error: Error) => refused.push({ one, error }));
      }
      const last = refused.find(({ error }) => !mayPass(error));
      const isOver = last !== undefined || performance.now() > until;
      if (isOver && refused.length) throw new Error(sentence((last ?? refused[0])!, refused.length));
      waiting = refused.map(({ one }) => one);
      const { signal } = this.#closing;
      if (waiting.length && !isTold && performance.now() > begun + quietMs) {
        isTold = true;
        this.options.warn(
          `${sentence(refused[0]!, refused.length)}; this is tried again for ${patienceMs / 1_000} s`,
        );
      }
      if (waiting.length) await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #applyOne({ object }: FoundObject): Promise<void> {
    const { status: _, ...value } = cleaned(object);
    if (String(object.apiVersion).startsWith('kustomize.config.k8s.io/'))
      throw new RangeError('a kustomization is named by --kustomization, not by --manifests');
    if (!value.apiVersion || !value.kind)
      throw new RangeError('an object of a manifest needs apiVersion and kind');
    if (value.metadata.name === undefined) throw new RangeError('an object of a manifest needs a name');
    await applyObject(this.options.writing, value as typeof value & { metadata: object } as never, manager);
  }
}

/** Whether an object that is refused may be accepted later: its kind, its namespace or a webhook is still to come. */
const mayPass = (error: Error): boolean =>
  error instanceof StatusError
    ? [404, 409, 429, 503, 504].includes(error.code) || error.message.includes('failed calling webhook')
    : error.message.startsWith('there is no kind');

function sentence({ one, error }: { one: FoundObject; error: Error }, count: number): string {
  const { kind, metadata } = one.object as {
    kind?: string;
    metadata?: { namespace?: string; name?: string };
  };
  const { namespace, name = '' } = metadata ?? {};
  const more = count > 1 ? `; ${count - 1} more of the manifests were not applied` : '';
  const object = `${kind ?? ''} ${namespace ? `${namespace}/` : ''}${name}`.trim();
  return `${one.file ?? 'kustomization'}: ${object}: ${error.message}${more}`;
}

/** What `kubectl kustomize` makes of a folder. */
async function kustomized(folder: string): Promise<FoundObject[]> {
  try {
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', folder], {
      timeout: kustomizeMaxMs,
      maxBuffer: kustomizeBytesMax,
    });
    return objectsOfText(stdout, undefined).map((found) => ({ ...found, file: folder }));
  } catch (error) {
    const { code, stderr = '', message } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === 'ENOENT')
      throw new Error(
        `the kustomization ${folder} needs kubectl, which is not on the PATH; without it, write what kustomize makes into a file, and name that by --manifests`,
      );
    throw new Error(`the kustomization ${folder} cannot be built: ${stderr.trim() || message}`, {
      cause: error,
    });
  }
}
