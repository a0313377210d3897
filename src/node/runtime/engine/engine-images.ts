/**
 * Images of a container engine: pulled by policy and with the secrets of the pod, one pull at a time for each image and
 * credentials. An image that was pulled with credentials is used for another pod only if that pod has them, too. Pulls
 * are recorded in a file; the records also tell which images of a shared engine this agent may remove.
 */
import { readFile } from 'node:fs/promises';
import type { Pod, Secret } from '../../../api/generated/types.ts';
import { composedKey } from '../../../composed-key.ts';
import { removeUnfinished, replaceFile } from '../../process/replaced-file.ts';
import { type ImageName, parseImageName, pullPolicyOf, repositoryOf } from '../image-name.ts';
import { type ImageCommand, ImageError, type ImageRequest } from '../runtime.ts';
import { type Credentials, credentialsFor, credentialsHash } from './registry-credentials.ts';

/** An event about a long pull is emitted this often. */
const progressMs = 15_000;

export interface StoredImage {
  readonly id: string;
  /** `repository@digest`. */
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  readonly entrypoint: readonly string[];
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  readonly user: string;
}

/** The images that an engine has. */
export interface ImageStore {
  /** Finds an image; undefined when the engine does not have it. */
  find(image: string): Promise<StoredImage | undefined>;
  /** Pulls an image; throws an error with the registry's words. */
  pull(
    name: ImageName,
    credentials: Credentials | undefined,
    progress: (text: string) => void,
  ): Promise<void>;
}

interface PullNote {
  /** When it was last used, in milliseconds since 1970. */
  usedAt: number;
  /** Hashes of the credentials it was pulled with, by repository; an empty hash for none. */
  readonly secrets: Record<string, string[]>;
}

export interface EngineImagesOptions {
  readonly store: ImageStore;
  /** The file with the records of pulls. */
  readonly file: string;
  readonly secret: (namespace: string, name: string) => Promise<Secret | undefined>;
  /** Secrets that count for every pod. */
  readonly nodeSecrets?: readonly Secret[] | undefined;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export class EngineImages {
  readonly #pulls = new Map<string, Promise<void>>();
  #notes: Map<string, PullNote> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(private readonly options: EngineImagesOptions) {}

  async resolve(request: ImageRequest): Promise<ImageCommand> {
    const { pod, container, tell } = request;
    const image = container.image ?? '';
    const { stored, pulled } = await this.#get(pod, image, container.imagePullPolicy, tell);
    const { id, entrypoint, args, env, workingDir, user } = stored;
    const shownId = shownIdOf(stored, image);
    return { entrypoint, args, env, workingDir, engine: { id, shownId, user, pulled } };
  }

  /** The id of an image for a volume. */
  async present(pod: Pod, image: string, policy: string | undefined): Promise<string> {
    return (await this.#get(pod, image, policy, () => undefined)).stored.id;
  }

  /** Images that this agent has pulled, the least recently used first. */
  async pulledImages(): Promise<readonly { readonly id: string; readonly usedAt: number }[]> {
    const notes = [...(await this.#read())].map(([id, { usedAt }]) => ({ id, usedAt }));
    return notes.sort((a, b) => a.usedAt - b.usedAt);
  }

  async forget(id: string): Promise<void> {
    (await this.#read()).delete(id);
    await this.#write();
  }

  async #get(pod: Pod, image: string, given: string | undefined, tell: ImageRequest['tell']) {
    const name = parseImageName(image);
    if (!name)
      throw new ImageError(
        `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`,
        'InvalidImageName',
      );
    const policy = pullPolicyOf(name, given);
    const credentials = await this.#credentials(pod, name);
    const stored = await this.#find(image);
    if (stored && policy !== 'Always' && (await this.#mayUse(stored.id, name, credentials))) {
      await this.#used(stored.id);
      return {
        stored,
        pulled: `Container image "${image}" already present on machine and can be accessed by the pod`,
      };
    }
    if (policy === 'Never')
      throw new ImageError(
        `Container image "${image}" is not present with pull policy of Never`,
        'ErrImageNeverPull',
      );
    return this.#pull(image, name, credentials, tell);
  }

  async #find(image: string): Promise<StoredImage | undefined> {
    try {
      return await this.options.store.find(image);
    } catch (error) {
      throw new ImageError(
        `Failed to inspect image "${image}": ${(error as Error).message}`,
        'ImageInspectError',
      );
    }
  }

  async #pull(
    image: string,
    name: ImageName,
    credentials: readonly Credentials[],
    tell: ImageRequest['tell'],
  ) {
    tell('Normal', 'Pulling', `Pulling image "${image}"`);
    const startedAt = performance.now();
    let toldAt = startedAt;
    const progress = (text: string): void => {
      if (performance.now() - toldAt < progressMs) return;
      toldAt = performance.now();
      tell('Normal', 'Pulling', `Pulling image "${image}": ${text}`);
    };
    let failure: Error | undefined;
    for (const one of [...credentials, undefined]) {
      try {
        await this.#pullOnce(image, name, one, progress);
      } catch (error) {
        // The message of the best credentials is the most useful one.
        failure ??= error as Error;
        continue;
      }
      const stored = await this.#find(image);
      if (!stored) throw new ImageError(`image "${image}" is not there although it was pulled`);
      await this.#note(stored.id, name, one ? credentialsHash(one) : '');
      const seconds = `${((performance.now() - startedAt) / 1000).toFixed(3)}s`;
      const pulled = `Successfully pulled image "${image}" in ${seconds} (${seconds} including waiting). Image size: ${stored.sizeBytes} bytes.`;
      return { stored, pulled };
    }
    throw failure instanceof ImageError ? failure : new ImageError(failure!.message);
  }

  #pullOnce(
    image: string,
    name: ImageName,
    credentials: Credentials | undefined,
    progress: (text: string) => void,
  ): Promise<void> {
    const key = composedKey(credentials ? credentialsHash(credentials) : '', image);
    let pulling = this.#pulls.get(key);
    if (!pulling) {
      pulling = this.options.store.pull(name, credentials, progress).finally(() => this.#pulls.delete(key));
      this.#pulls.set(key, pulling);
    }
    return pulling;
  }

  async #credentials({ metadata, spec }: Pod, name: ImageName): Promise<Credentials[]> {
    const secrets: Secret[] = [];
    for (const { name: secret } of spec?.imagePullSecrets ?? []) {
      const found =
        secret && (await this.options.secret(metadata.namespace ?? '', secret).catch(() => undefined));
      if (found) secrets.push(found);
    }
    return credentialsFor(name, [...secrets, ...(this.options.nodeSecrets ?? [])]);
  }

  /** Whether a pod may use an image. Images that others have pulled or named in the engine are free for all. */
  async #mayUse(id: string, name: ImageName, credentials: readonly Credentials[]): Promise<boolean> {
    const hashes = (await this.#read()).get(id)?.secrets[repositoryOf(name)];
    if (!hashes || hashes.includes('')) return true;
    return credentials.some((one) => hashes.includes(credentialsHash(one)));
  }

  async #used(id: string): Promise<void> {
    const note = (await this.#read()).get(id);
    if (note) note.usedAt = this.options.now();
  }

  async #note(id: string, name: ImageName, secret: string): Promise<void> {
    const notes = await this.#read();
    const secrets = { ...notes.get(id)?.secrets };
    const repository = repositoryOf(name);
    secrets[repository] = [...new Set([...(secrets[repository] ?? []), secret])];
    notes.set(id, { usedAt: this.options.now(), secrets });
    await this.#write();
  }

  async #read(): Promise<Map<string, PullNote>> {
    if (!this.#notes) {
      await removeUnfinished(this.options.file);
      const text = await readFile(this.options.file, 'utf8').catch(() => '[]');
      let notes: [string, PullNote][] = [];
      try {
        notes = JSON.parse(text) as [string, PullNote][];
      } catch {
        this.options.onError(new Error(`${this.options.file} cannot be read; it is made anew`));
      }
      this.#notes ??= new Map(notes);
    }
    return this.#notes;
  }

  #write(): Promise<void> {
    const { file, onError } = this.options;
    this.#writing = this.#writing
      .then(async () => {
        await replaceFile(file, JSON.stringify([...(this.#notes ?? [])]), 0o600);
      })
      .catch(onError);
    return this.#writing;
  }
}

/** The digest under which the image's registry knows it, if there is one. */
function shownIdOf({ id, repoDigests }: StoredImage, image: string): string {
  const wanted = parseImageName(image);
  const same = repoDigests.find((text) => {
    const name = parseImageName(text);
    return name?.registry === wanted?.registry && name?.path === wanted?.path;
  });
  return same ?? repoDigests[0] ?? id;
}
