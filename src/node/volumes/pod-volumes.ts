/**
 * The volumes of a pod: set up before its containers start, refreshed while they run, and passed to each
 * container as mounts. Volumes that belong to the pod alone are in its folder and are removed with it.
 */
import { existsSync } from 'node:fs';
import { chmod, constants, lchown, lstat, mkdir, open } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Container, Node, Pod, Service, Volume, VolumeMount } from '../../api/generated/types.ts';
import { isLabel1123, isRelativePath } from '../../api/values/names.ts';
import { parseQuantity, toNumber } from '../../api/values/quantity.ts';
import type { Client } from '../../client/client.ts';
import { pods } from '../../client/resources.ts';
import type { ConfigObjects, Freshness } from '../environment/config-objects.ts';
import { expand } from '../environment/expansion.ts';
import { ConfigError, containerVariables } from '../environment/pod-environment.ts';
import { PodTokens } from '../environment/pod-tokens.ts';
import { hostsFile } from '../network/hosts-file.ts';
import { replaceFile } from '../process/replaced-file.ts';
import type { Mount, PodPlace } from '../runtime/runtime.ts';
import { AtomicFolder } from './atomic-folder.ts';
import { prepareClaim } from './claim-volume.ts';
import { prepareHostPath } from './host-path.ts';
import { resolveSubPath } from './sub-path.ts';
import {
  mayGiveAway,
  shownObjects,
  showsLabels,
  showsObjects,
  showsOldFiles,
  volumeFiles,
} from './volume-files.ts';

const subPathCharsMax = 4096;
const hostsPath = '/etc/hosts';
const resolvPath = '/etc/resolv.conf';
const hostnamePath = '/etc/hostname';

/** A volume that cannot be set up, or cannot be set up yet. */
export class MountError extends Error {
  override readonly name = 'MountError';

  constructor(
    readonly volume: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface PodVolumesOptions {
  readonly pod: Pod;
  /** The private folder of the pod. */
  readonly folder: string;
  readonly client: Client;
  readonly objects: ConfigObjects;
  readonly node: Node;
  podIP(): string;
  readonly hostIP: string;
  readonly now: () => number;
  /** Called with errors of refreshing; a `MountError` if it concerns one volume. */
  readonly onError: (error: Error) => void;
  /** All services, for sub paths that refer to service variables. */
  services?(): readonly Service[];
  /** The pod's resolv.conf, if it differs from the machine's. */
  resolvConf?(): Promise<string | undefined>;
  /** The pod's host name, if it differs from the machine's. */
  readonly hostname?: string | undefined;
  /** Mounts a tmpfs at a folder; absent where that is not possible. */
  readonly mountMemory?: PodPlace['mountMemory'];
  /** Mounts a sub path safely; absent where that is not needed. */
  readonly bindSubPath?: PodPlace['bindSubPath'];
  /** The files of an image; absent where images have none. */
  readonly imageFolder?: PodPlace['imageFolder'];
  /** Why images cannot be mounted; undefined where they can. */
  readonly imageProblem?: string | undefined;
  /** Returns the id of an image that the engine mounts itself. */
  readonly imageToMount?: PodPlace['imageToMount'];
}

interface Prepared {
  readonly volume: Volume;
  readonly path: string;
  readonly readOnly: boolean;
  /** Set when its files follow API objects. */
  readonly files?: AtomicFolder;
  /** Set when the engine mounts it. */
  readonly imageId?: string;
}

export class PodVolumes {
  readonly #prepared = new Map<string, Prepared>();
  readonly #tokens: PodTokens;
  /**
   * The last write of each of /etc/hosts, /etc/hostname and /etc/resolv.conf: each file is written by one writer at a
   * time.
   */
  readonly #nameFiles = new Map<string, Promise<void>>();
  #pod: Pod;
  /** The tail of a queue: operations run one at a time, so that no two write to one folder. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** Functions that stop following the objects that the volumes show. */
  readonly #unfollow: (() => void)[] = [];
  #refreshing: Promise<void> | undefined;

  constructor(private readonly options: PodVolumesOptions) {
    this.#pod = options.pod;
    this.#tokens = new PodTokens(options);
  }

  /**
   * Sets up every volume that a container mounts. Tries all, then throws the `MountError` of the first that
   * failed. Volumes that are already set up stay, so it can be repeated until it succeeds.
   */
  setUp(): Promise<void> {
    return this.#inTurn(async () => {
      const top = join(this.options.folder, 'volumes');
      await mkdir(top, { recursive: true });
      // Containers may run as any user, and must reach their volumes.
      await chmod(top, 0o755);
      let failure: MountError | undefined;
      for (const volume of this.#mounted()) {
        const name = volume.name ?? '';
        if (this.#closed || this.#prepared.has(name)) continue;
        try {
          this.#prepared.set(name, await this.#prepare(volume));
          this.#follow(volume);
        } catch (error) {
          failure ??= asMountError(name, error);
        }
      }
      if (failure) throw failure;
    });
  }

  /** The mounts of a container, of the pod as it is now. Throws `MountError` and `ConfigError`. */
  async mounts(container: Container, pod = this.#pod): Promise<Mount[]> {
    const [device] = container.volumeDevices ?? [];
    if (device) throw new MountError(device.name ?? '', 'block volumes are not supported by this node');
    const mounts: Mount[] = [];
    for (const mount of container.volumeMounts ?? []) {
      const prepared = this.#prepared.get(mount.name ?? '');
      if (!prepared)
        throw new ConfigError(
          `cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(container.name)}`,
        );
      const { imageId: id } = prepared;
      const subPath = await this.#subPath(mount, container, pod);
      mounts.push({
        path: posix.resolve('/', mount.mountPath ?? ''),
        ...(id === undefined
          ? { source: await this.#source(prepared, mount, container, subPath) }
          : { source: '', image: { id, subPath } }),
        readOnly: prepared.readOnly || Boolean(mount.readOnly),
        propagation: mount.mountPropagation,
      });
    }
    await this.#addNameFiles(mounts);
    return mounts;
  }

  /** Called with a newer state of the pod: volumes that show labels or annotations are updated. */
  update(pod: Pod): void {
    const before = this.#pod.metadata;
    const { labels, annotations } = pod.metadata;
    if (isDeepStrictEqual([labels, annotations], [before.labels, before.annotations])) return;
    this.#pod = { ...this.#pod, metadata: { ...before, labels, annotations } };
    if ([...this.#prepared.values()].some(({ volume }) => showsLabels(volume))) void this.refresh();
  }

  /**
   * Updates the files of volumes from the objects they show, and renews tokens. A volume whose object was
   * deleted keeps its files. Never throws.
   */
  refresh(): Promise<void> {
    // A refresh that has not begun yet will see this change, too.
    this.#refreshing ??= this.#inTurn(async () => {
      this.#refreshing = undefined;
      const following = [...this.#prepared.values()].filter(({ files }) => files);
      try {
        if (following.some(({ volume }) => showsLabels(volume))) await this.#readPod();
      } catch (error) {
        this.options.onError(error as Error);
      }
      for (const { volume, files } of following) {
        if (this.#closed) return;
        try {
          await this.#writeFiles(volume, files!, 'cached');
        } catch (error) {
          this.options.onError(asMountError(volume.name ?? '', error));
        }
      }
    });
    return this.#refreshing;
  }

  /** Waits for operations under way, and forgets the tokens. The runtime removes the folder. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const unfollow of this.#unfollow) unfollow();
    await this.#last;
    this.#tokens.close();
  }

  #follow(volume: Volume): void {
    const { objects } = this.options;
    for (const shown of shownObjects(volume, this.#pod.metadata.namespace ?? ''))
      this.#unfollow.push(objects.follow(shown, () => void this.refresh()));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(() => (this.#closed ? undefined : work()));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** As in Kubernetes, a volume that no container mounts is not set up, so its errors do not block the pod. */
  #mounted(): Volume[] {
    const {
      volumes = [],
      initContainers = [],
      containers = [],
      ephemeralContainers = [],
    } = this.#pod.spec ?? {};
    const used = new Set(
      [...initContainers, ...containers, ...ephemeralContainers].flatMap(
        ({ volumeMounts = [], volumeDevices = [] }) =>
          [...volumeMounts, ...volumeDevices].map(({ name }) => name),
      ),
    );
    return volumes.filter(({ name }) => used.has(name));
  }

  async #prepare(volume: Volume): Promise<Prepared> {
    const { hostPath, emptyDir, persistentVolumeClaim, ephemeral, image } = volume;
    if (hostPath) return { volume, path: await prepareHostPath(hostPath), readOnly: false };
    if (persistentVolumeClaim || ephemeral)
      return { volume, ...(await prepareClaim(this.options.client, this.#pod, volume)) };
    const { imageFolder, imageToMount } = this.options;
    const { reference = '', pullPolicy } = image ?? {};
    if (image && imageFolder)
      return { volume, path: await imageFolder(reference, pullPolicy), readOnly: true };
    if (image && imageToMount)
      return { volume, path: '', imageId: await imageToMount(reference, pullPolicy), readOnly: true };
    if (image && this.options.imageProblem) throw new Error(this.options.imageProblem);
    const path = this.#place(volume);
    if (emptyDir) {
      if (emptyDir.medium && emptyDir.medium !== 'Memory')
        throw new Error(`medium ${emptyDir.medium} is not supported by this node`);
      await this.#makeEmpty(path);
      if (emptyDir.medium === 'Memory') await this.#toMemory(path, emptyDir.sizeLimit);
      return { volume, path, readOnly: false };
    }
    if (showsObjects(volume)) {
      const isPlain = showsOldFiles(volume, this.#pod);
      const files = new AtomicFolder({ path, now: this.options.now, group: this.#group(), isPlain });
      await this.#writeFiles(volume, files, 'fresh');
      return { volume, path, readOnly: true, files };
    }
    const kind = Object.keys(volume).find((key) => key !== 'name');
    throw new Error(`volumes of type ${kind} are not supported by this node`);
  }

  #place({ name = '' }: Volume): string {
    if (isLabel1123(name).length) throw new Error(`invalid volume name ${JSON.stringify(name)}`);
    return join(this.options.folder, 'volumes', name);
  }

  /** A folder that every user may write to. */
  async #makeEmpty(path: string): Promise<void> {
    try {
      await mkdir(path);
    } catch (error) {
      // Left by an earlier agent: keep it, with the pod's data.
      if ((error as NodeJS.ErrnoException).code === 'EEXIST' && (await lstat(path)).isDirectory()) return;
      throw error;
    }
    const group = this.#group();
    if (group !== undefined) await lchown(path, process.getuid!(), group);
    await chmod(path, this.#emptyMode());
  }

  #emptyMode(): number {
    return this.#group() === undefined ? 0o777 : 0o2777;
  }

  /** Mounts a tmpfs where possible (as root); otherwise the folder on disk has to do. */
  async #toMemory(path: string, sizeLimit: string | undefined): Promise<void> {
    const bytesMax = sizeLimit === undefined ? undefined : Math.ceil(toNumber(parseQuantity(sizeLimit)));
    // The kernel takes 0 for no limit, and so does Kubernetes.
    const mount = { mode: this.#emptyMode(), group: this.#group(), bytesMax: bytesMax || undefined };
    await this.options.mountMemory?.(path, mount);
  }

  #group(): number | undefined {
    return mayGiveAway ? this.#pod.spec?.securityContext?.fsGroup : undefined;
  }

  async #writeFiles(volume: Volume, files: AtomicFolder, freshness: Freshness): Promise<void> {
    const { node, hostIP, objects } = this.options;
    const podIP = this.options.podIP();
    const context = { pod: this.#pod, node, podIP, hostIP, objects, tokens: this.#tokens, freshness };
    await files.write(await volumeFiles(volume, context));
  }

  /** Reads the pod again, as labels and annotations may have changed; ignores a new pod of the same name. */
  async #readPod(): Promise<void> {
    const { namespace, name = '', uid } = this.#pod.metadata;
    const pod = await this.options.client.get(pods, namespace, name);
    if (pod.metadata.uid === uid) this.#pod = pod;
  }

  async #subPath(mount: VolumeMount, container: Container, pod: Pod): Promise<string | undefined> {
    const { subPathExpr } = mount;
    const subPath = subPathExpr ? await this.#expanded(subPathExpr, container, pod) : mount.subPath;
    if (subPath) checkSubPath(subPath);
    return subPath;
  }

  async #source(
    prepared: Prepared,
    mount: VolumeMount,
    container: Container,
    subPath: string | undefined,
  ): Promise<string> {
    if (!subPath) return prepared.path;
    try {
      const mayMake = !prepared.files && !prepared.volume.image;
      const place = await resolveSubPath(prepared.path, subPath, mayMake);
      // Mount the path through the `..data` link: the file it resolves to now is deleted at the next change.
      if (prepared.files) return join(prepared.path, subPath);
      const index = container.volumeMounts?.findIndex(({ mountPath }) => mountPath === mount.mountPath);
      const name = join(mount.name ?? '', container.name ?? '', String(index));
      return (await this.options.bindSubPath?.(prepared.path, place, name)) ?? place;
    } catch (error) {
      // Do not show the exact path: it reveals the node's file system to the owner of the pod.
      throw new ConfigError(
        `failed to prepare subPath for volumeMount ${JSON.stringify(mount.name)} of container ${JSON.stringify(container.name)}`,
        { cause: error },
      );
    }
  }

  async #expanded(text: string, container: Container, pod: Pod): Promise<string> {
    const { node, hostIP, objects } = this.options;
    const variables = await containerVariables({
      pod,
      container,
      podIP: this.options.podIP(),
      hostIP,
      node,
      services: this.options.services?.() ?? [],
      objects,
    });
    const lookUp = (name: string): string => {
      const value = variables.get(name);
      if (value === undefined) throw new ConfigError(`missing value for ${JSON.stringify(name)}`);
      return value;
    };
    try {
      return expand(text, lookUp, subPathCharsMax);
    } catch (error) {
      throw new ConfigError((error as Error).message, { cause: error });
    }
  }

  /** Adds /etc/hosts, /etc/hostname and /etc/resolv.conf, if the pod has its own host name or network. */
  async #addNameFiles(mounts: Mount[]): Promise<void> {
    const { podIP, resolvConf, hostname } = this.options;
    const names = await resolvConf?.();
    const add = async (path: string, file: string, text: () => string | Promise<string>): Promise<void> => {
      if (mounts.some((mount) => mount.path === path)) return;
      mounts.push({ path, source: await this.#writeFile(file, await text()), readOnly: false });
    };
    const sharesNetwork = names === undefined && hostname !== undefined;
    if (names !== undefined || sharesNetwork || this.#pod.spec?.hostAliases?.length)
      await add(hostsPath, 'etc-hosts', () => hostsFile(this.#pod, podIP(), sharesNetwork));
    if (names !== undefined) await add(resolvPath, 'etc-resolv', () => names);
    // Skip it where the machine has no such file: there is no place to mount over.
    if (hostname !== undefined && existsSync(hostnamePath))
      await add(hostnamePath, 'etc-hostname', () => `${hostname}\n`);
  }

  /**
   * Writes a file that all containers of the pod mount. A file with the same text is kept, because containers that
   * start together share it.
   */
  async #writeFile(name: string, text: string): Promise<string> {
    const path = join(this.options.folder, name);
    const before = this.#nameFiles.get(name) ?? Promise.resolve();
    const written = before.then(async () => {
      if ((await ownText(path)) !== text) await replaceFile(path, text, 0o644);
    });
    this.#nameFiles.set(
      name,
      written.catch(() => undefined),
    );
    await written;
    return path;
  }
}

/** The text of a file that is not a link; undefined when there is no such file. */
async function ownText(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  try {
    return await file?.readFile('utf8');
  } finally {
    await file?.close();
  }
}

function checkSubPath(subPath: string): void {
  if (subPath.startsWith('/'))
    throw new ConfigError(`error SubPath \`${subPath}\` must not be an absolute path`);
  const [problem] = isRelativePath(subPath);
  if (problem) throw new ConfigError(`unable to provision SubPath \`${subPath}\`: ${problem}`);
  if (subPath.length > subPathCharsMax || subPath.includes('\0'))
    throw new ConfigError('a SubPath must not be longer than 4096 characters, nor contain NUL');
}

function asMountError(volume: string, error: unknown): MountError {
  if (error instanceof MountError) return error;
  return new MountError(volume, (error as Error).message, { cause: error });
}
