/**
 * The volumes of a pod: set up before its containers start, looked after while they run, and handed to each container
 * as mounts. What is the pod's own lies in its folder and goes with it.
 */
import { existsSync } from 'node:fs';
import { chmod, lchown, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Container, Node, Pod, Service, Volume, VolumeMount } from '../../api/generated/types.ts';
import { isLabel1123, isRelativePath } from '../../api/names.ts';
import { parseQuantity, toNumber } from '../../api/quantity.ts';
import type { Client } from '../../client/client.ts';
import { pods } from '../../client/resources.ts';
import type { ConfigObjects, Freshness } from '../agent/configobjects.ts';
import { PodTokens } from '../agent/podtokens.ts';
import { hostsFile } from '../network/hostsfile.ts';
import { expand } from '../pods/expansion.ts';
import { ConfigError, containerVariables } from '../pods/podenvironment.ts';
import type { Mount, PodPlace } from '../runtime/runtime.ts';
import { AtomicFolder } from './atomicfolder.ts';
import { prepareClaim } from './claimvolume.ts';
import { prepareHostPath } from './hostpath.ts';
import { resolveSubPath } from './subpath.ts';
import { mayGiveAway, showsLabels, showsObjects, volumeFiles } from './volumefiles.ts';

const subPathCharsMax = 4096;
const hostsPath = '/etc/hosts';
const resolvPath = '/etc/resolv.conf';
const hostnamePath = '/etc/hostname';

/** A volume that cannot be set up, or not yet. */
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
  /** Told of what goes wrong while volumes are looked after; a `MountError` where one volume is concerned. */
  readonly onError: (error: Error) => void;
  /** For sub paths that refer to service variables. */
  services?(): readonly Service[];
  /** The resolv.conf of the pod, where it is not the machine's own. */
  resolvConf?(): Promise<string | undefined>;
  /** What the pod's machine is called, where that is not the name of this machine. */
  readonly hostname?: string | undefined;
  /** Makes a folder a file system in memory; absent where that is not possible. */
  readonly mountMemory?: PodPlace['mountMemory'];
}

interface Prepared {
  readonly volume: Volume;
  readonly path: string;
  readonly readOnly: boolean;
  /** Where its files follow objects of the API. */
  readonly files?: AtomicFolder;
}

export class PodVolumes {
  readonly #prepared = new Map<string, Prepared>();
  readonly #tokens: PodTokens;
  #pod: Pod;
  /** The end of what was asked for so far: one thing at a time, so that no two write to one folder. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(private readonly options: PodVolumesOptions) {
    this.#pod = options.pod;
    this.#tokens = new PodTokens(options);
  }

  /**
   * Sets up every volume that a container mounts. Throws the `MountError` of the first that fails, after trying all;
   * those that are there already stay, so it can be called until it succeeds.
   */
  setUp(): Promise<void> {
    return this.#inTurn(async () => {
      const top = join(this.options.folder, 'volumes');
      await mkdir(top, { recursive: true });
      // The container's user, whichever it is, has to reach its volumes.
      await chmod(top, 0o755);
      let failure: MountError | undefined;
      for (const volume of this.#mounted()) {
        const name = volume.name ?? '';
        if (this.#closed || this.#prepared.has(name)) continue;
        try {
          this.#prepared.set(name, await this.#prepare(volume));
        } catch (error) {
          failure ??= asMountError(name, error);
        }
      }
      if (failure) throw failure;
    });
  }

  /** What a container gets to see of the volumes. Throws `MountError` and `ConfigError`. */
  async mounts(container: Container): Promise<Mount[]> {
    const [device] = container.volumeDevices ?? [];
    if (device) throw new MountError(device.name ?? '', 'block volumes are not supported by this node');
    const mounts: Mount[] = [];
    for (const mount of container.volumeMounts ?? []) {
      const prepared = this.#prepared.get(mount.name ?? '');
      if (!prepared)
        throw new ConfigError(
          `cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(container.name)}`,
        );
      mounts.push({
        path: posix.resolve('/', mount.mountPath ?? ''),
        source: await this.#source(prepared, mount, container),
        readOnly: prepared.readOnly || Boolean(mount.readOnly),
      });
    }
    await this.#addNameFiles(mounts);
    return mounts;
  }

  /**
   * Brings the files of volumes in line with the objects they show, and renews tokens. A volume whose object is gone
   * keeps what it has. Never throws.
   */
  refresh(): Promise<void> {
    return this.#inTurn(async () => {
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
  }

  /** Waits for what is under way, and forgets the tokens. The folder is the runtime's to remove. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
    this.#tokens.close();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(() => (this.#closed ? undefined : work()));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** As in Kubernetes a volume nobody mounts is not set up, and so is in nobody's way. */
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
    const { hostPath, emptyDir, persistentVolumeClaim, ephemeral } = volume;
    if (hostPath) return { volume, path: await prepareHostPath(hostPath), readOnly: false };
    if (persistentVolumeClaim || ephemeral)
      return { volume, ...(await prepareClaim(this.options.client, this.#pod, volume)) };
    const path = this.#place(volume);
    if (emptyDir) {
      if (emptyDir.medium && emptyDir.medium !== 'Memory')
        throw new Error(`medium ${emptyDir.medium} is not supported by this node`);
      await this.#makeEmpty(path);
      if (emptyDir.medium === 'Memory') await this.#toMemory(path, emptyDir.sizeLimit);
      return { volume, path, readOnly: false };
    }
    if (showsObjects(volume)) {
      const files = new AtomicFolder({ path, now: this.options.now, group: this.#group() });
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

  /** A folder for anyone to write to. */
  async #makeEmpty(path: string): Promise<void> {
    try {
      await mkdir(path);
    } catch (error) {
      // Left by an earlier agent: what is in it is the pod's.
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

  /** Only root can mount another file system; for others the folder has to do. */
  async #toMemory(path: string, sizeLimit: string | undefined): Promise<void> {
    const bytesMax = sizeLimit === undefined ? undefined : Math.ceil(toNumber(parseQuantity(sizeLimit)));
    // 0 would be no limit at all to the kernel, and is none to Kubernetes.
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

  /** Labels and annotations may have changed. A pod of the same name is another pod. */
  async #readPod(): Promise<void> {
    const { namespace, name = '', uid } = this.#pod.metadata;
    const pod = await this.options.client.get(pods, namespace, name);
    if (pod.metadata.uid === uid) this.#pod = pod;
  }

  async #source(prepared: Prepared, mount: VolumeMount, container: Container): Promise<string> {
    const subPath = mount.subPathExpr ? await this.#expanded(mount.subPathExpr, container) : mount.subPath;
    if (!subPath) return prepared.path;
    checkSubPath(subPath);
    try {
      const place = await resolveSubPath(prepared.path, subPath, !prepared.files);
      // The place of a file that follows an object is gone with the next change; the way through the links stays.
      return prepared.files ? join(prepared.path, subPath) : place;
    } catch (error) {
      // What exactly is in the way is the node's business, and not for the owner of the pod.
      throw new ConfigError(
        `failed to prepare subPath for volumeMount ${JSON.stringify(mount.name)} of container ${JSON.stringify(container.name)}`,
        { cause: error },
      );
    }
  }

  async #expanded(text: string, container: Container): Promise<string> {
    const { node, hostIP, objects } = this.options;
    const variables = await containerVariables({
      pod: this.#pod,
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

  /** Names of its own, or a network of its own, are what a pod cannot get from the machine's files. */
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
    // Where the machine has no such file, making a place for it would cost more than anybody gains.
    if (hostname !== undefined && existsSync(hostnamePath))
      await add(hostnamePath, 'etc-hostname', () => `${hostname}\n`);
  }

  /** Beside the old file and then in its place, so that nothing is written through a link. */
  async #writeFile(name: string, text: string): Promise<string> {
    const path = join(this.options.folder, name);
    const next = `${path}.next`;
    await rm(next, { force: true });
    const file = await open(next, 'wx', 0o644);
    try {
      await file.writeFile(text);
      await file.chmod(0o644);
    } finally {
      await file.close();
    }
    await rename(next, path);
    return path;
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
