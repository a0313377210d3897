/** The images of Docker and Podman: finding, pulling, and copying the files of one. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TextLines } from '../../../text-lines.ts';
import type { ImageStore, StoredImage } from '../engine/engine-images.ts';
import { pauseArchive, pausePath } from '../engine/pause-program.ts';
import { labels } from '../engine/pod-identity.ts';
import type { Credentials } from '../engine/registry-credentials.ts';
import { type ImageName, parseImageName, referenceOf, repositoryOf } from '../image-name.ts';
import { type DockerApi, DockerError, isDone } from './docker-api.ts';
import type { InspectedImage } from './docker-types.ts';

/** A pull that makes no progress for this long is given up. */
const pullIdleMs = 120_000;
/** Maximum length of a line about a pull. */
const lineCharsMax = 1024 * 1024;
const pauseRepository = 'wherry/pause';
const pauseTag = '1';

interface PullLine {
  readonly status?: string;
  readonly id?: string;
  readonly error?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

export class DockerImages implements ImageStore {
  #pause: Promise<string> | undefined;

  constructor(
    private readonly api: DockerApi,
    private readonly node: string,
  ) {}

  async find(image: string): Promise<StoredImage | undefined> {
    const name = parseImageName(image);
    try {
      const reference = name ? referenceOf(name) : image;
      return storedImage(await this.api.json<InspectedImage>('GET', `/images/${reference}/json`));
    } catch (error) {
      if (isDone(error)) return undefined;
      throw error;
    }
  }

  async pull(
    name: ImageName,
    credentials: Credentials | undefined,
    progress: (text: string) => void,
  ): Promise<void> {
    const answer = await this.api.stream('POST', '/images/create', {
      query: { fromImage: repositoryOf(name), tag: name.digest ?? name.tag ?? 'latest' },
      headers: credentials ? { 'X-Registry-Auth': registryAuth(name, credentials) } : {},
      timeoutMs: pullIdleMs,
    });
    const layers = new Map<string, { current: number; total: number }>();
    for await (const { error, id = '', progressDetail } of jsonLines<PullLine>(answer)) {
      // An error after the first byte is reported inside a successful answer.
      if (error) throw new DockerError(500, error);
      const { current, total } = progressDetail ?? {};
      if (!current || !total) continue;
      layers.set(id, { current, total });
      progress(progressText([...layers.values()]));
    }
  }

  /** The image of sandboxes, built locally. */
  pause(architecture: string): Promise<string> {
    this.#pause ??= this.#makePause(architecture).catch((error) => {
      this.#pause = undefined;
      throw error;
    });
    return this.#pause;
  }

  /** The files of an image as a tar archive, from a container that is made for it and never started. */
  async archive(id: string, take: (archive: IncomingMessage) => Promise<void>): Promise<void> {
    const { Id } = await this.api.json<{ Id: string }>('POST', '/containers/create', {
      query: { name: `wherry-files-${randomUUID()}` },
      body: {
        Image: id,
        Entrypoint: [pausePath],
        Cmd: [],
        Labels: { [labels.node]: this.node },
        NetworkDisabled: true,
      },
    });
    try {
      await take(
        await this.api.stream('GET', `/containers/${Id}/archive`, { query: { path: '/' }, timeoutMs: 0 }),
      );
    } finally {
      await this.api.json('DELETE', `/containers/${Id}`, { query: { force: true, v: true } });
    }
  }

  async #makePause(architecture: string): Promise<string> {
    const known = await this.find(`docker.io/${pauseRepository}:${pauseTag}`);
    if (known) return known.id;
    const archive = pauseArchive(architecture);
    if (!archive) throw new Error(`there is no sandbox program for the architecture ${architecture}`);
    const answer = await this.api.stream('POST', '/images/create', {
      query: {
        fromSrc: '-',
        repo: pauseRepository,
        tag: pauseTag,
        changes: `ENTRYPOINT ["${pausePath}"]`,
      },
      body: archive,
    });
    let id = '';
    for await (const { status, error } of jsonLines<PullLine>(answer)) {
      if (error) throw new DockerError(500, error);
      id = /sha256:[0-9a-f]{64}/.exec(status ?? '')?.[0] ?? (/^[0-9a-f]{64}$/.exec(status ?? '')?.[0] || id);
    }
    if (!id) throw new Error('the container engine has not named the image of sandboxes');
    return id;
  }
}

/** The header with the credentials. The padding is needed: without it Docker silently uses none. */
const registryAuth = ({ registry }: ImageName, { username, password, identityToken }: Credentials): string =>
  Buffer.from(
    JSON.stringify(
      identityToken
        ? { identitytoken: identityToken, serveraddress: registry }
        : { username, password, serveraddress: registry },
    ),
  )
    .toString('base64')
    .replaceAll('+', '-')
    .replaceAll('/', '_');

function storedImage({ Id, RepoDigests, Size = 0, Config }: InspectedImage): StoredImage {
  const { Entrypoint, Cmd, Env, WorkingDir = '', User = '' } = Config ?? {};
  return {
    id: Id.includes(':') ? Id : `sha256:${Id}`,
    repoDigests: RepoDigests ?? [],
    sizeBytes: Size,
    entrypoint: typeof Entrypoint === 'string' ? [Entrypoint] : (Entrypoint ?? []),
    args: Cmd ?? [],
    env: Object.fromEntries(
      (Env ?? []).map((text) => [text.split('=')[0]!, text.slice(text.indexOf('=') + 1)]),
    ),
    workingDir: WorkingDir,
    user: User,
  };
}

function progressText(layers: readonly { readonly current: number; readonly total: number }[]): string {
  const sum = (of: 'current' | 'total'): number => layers.reduce((total, layer) => total + layer[of], 0);
  const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
  return `${megabytes(sum('current'))} of ${megabytes(sum('total'))} MB`;
}

/** Parses an answer with one JSON object per line; other lines are skipped. */
async function* jsonLines<T>(answer: IncomingMessage): AsyncGenerator<T> {
  answer.setEncoding('utf8');
  const lines = new TextLines(lineCharsMax);
  const parsed = (line: string): T[] => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  };
  for await (const text of answer as AsyncIterable<string>)
    for (const line of lines.take(text)) yield* parsed(line);
  yield* parsed(lines.rest);
}
