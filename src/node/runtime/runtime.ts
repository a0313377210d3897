/**
 * A runtime runs the containers of a node's pods. The agent decides what runs and when; a runtime does it and
 * reports the outcome. Several work side by side on one node: processes of this machine, containers of a container
 * engine, and simulated containers. `runtime-choice.ts` says which one runs a pod.
 */
import type { Duplex } from 'node:stream';
import type { Container, Pod } from '../../api/generated/types.ts';
import type { Session, SessionResult } from '../../streams/session/session.ts';

export interface Runtime {
  /** `process`, `docker` and so on: the scheme of container ids. */
  readonly name: string;
  readonly version: string;
  /** Whether containers are simulated: then no events are emitted about them. */
  readonly simulated: boolean;
  /** The operating system that containers see, as Go names it; absent: that of the machine. */
  readonly system?: string;
  /** The image of a container, pulled if its policy says so; throws `ImageError` when it cannot be used. */
  resolveImage(request: ImageRequest): Promise<ImageCommand>;
  /** Whether containers of a pod wait for a moment to start, which `resolveImage` awaits: nothing is under way then. */
  isHeld?(uid: string): boolean;
  /** Creates a pod's folder and network. Idempotent. */
  preparePod(pod: Pod): Promise<PodPlace>;
  /**
   * For runtimes whose containers outlive the agent: the newest run of a container of a prepared pod that an earlier
   * agent has started, running or ended; or undefined.
   */
  adopt?(uid: string, container: string): AdoptedContainer | undefined;
  /** Starts a container; throws `StartFailure` when that is not possible. */
  start(launch: ContainerLaunch): Promise<RunningContainer>;
  /** Applies the limits in the spec to a running container; throws when that is not possible. */
  resize(uid: string, container: Container): Promise<void>;
  /** A connection to a port of the pod, at the pod's own loopback address: for port-forward. */
  dial(uid: string, port: number): Promise<Duplex>;
  /** A connection to a port of the pod, at the pod's address: for probes and proxies. The error names that address. */
  reach(uid: string, port: number): Promise<Duplex>;
  /** The log of one run of a container (`attempt` counts from 0), undefined when it is no longer kept. */
  log(uid: string, container: string, attempt: number): ContainerLog | undefined;
  /** What every running container uses, by pod uid and container name. */
  usage(): Promise<readonly ContainerUsage[]>;
  /** Ends whatever is left of a pod, and removes its folder, logs and network. */
  removePod(uid: string): Promise<void>;
  /**
   * Called once, before anything else, with the uids of the pods bound to this node: ends what an earlier agent has left
   * running, unless it can be adopted, and removes folders and networks of pods that no longer exist.
   */
  recover(bound: ReadonlySet<string>): Promise<void>;
  /** Releases everything. Kills all containers, except those that the next agent can adopt. */
  close(): Promise<void>;
}

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  /** Emits an event about the container. */
  readonly tell: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
}

/** What a waiting container shows as its reason. */
export type ImageProblem =
  | 'ErrImagePull'
  | 'ErrImageNeverPull'
  | 'ImageInspectError'
  | 'InvalidImageName'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

/** An image that cannot be run here; the message says what to do. */
export class ImageError extends Error {
  constructor(
    message: string,
    readonly reason: ImageProblem = 'ErrImagePull',
  ) {
    super(message);
  }
}

/** A container that could not be started: `reason` is what its status shows. */
export class StartFailure extends Error {
  constructor(
    readonly reason:
      | 'ContainerCannotRun'
      | 'CreateContainerConfigError'
      | 'CreateContainerError'
      | 'RunContainerError',
    message: string,
    readonly exitCode = 128,
  ) {
    super(message);
  }
}

export interface ImageCommand {
  readonly entrypoint: readonly string[];
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workingDir?: string;
  /** Where the files of the image are on this machine, for volumes. */
  readonly files?: string;
  /** The user that runs it, for containers that name no other: `1000`, `1000:1000`, `web`. */
  readonly user?: string;
  /** Files and folders of this machine that it has, by their absolute paths in the container. */
  readonly paths?: Readonly<Record<string, string>>;
  /** Set when the container has the files of the image as its root, and nothing of this machine. */
  readonly engine?: EngineImage;
}

/** An image in the store of a container engine. */
interface EngineImage {
  /** Names exactly this image, even when its tag moves. */
  readonly id: string;
  /** As the status of a container shows it: with the digest that the registry knows it by, if it has one. */
  readonly shownId: string;
  /** The user that the image names: `1000`, `1000:1000`, `web`; empty for root. */
  readonly user: string;
  /** Text of the event that says where the image comes from. */
  readonly pulled: string;
}

export interface PodPlace {
  /** The private folder of the pod. */
  readonly folder: string;
  readonly ip: string;
  /** The pod's host name, if it differs from the machine's. */
  readonly hostname?: string;
  /** Mounts a tmpfs at a folder; absent where that is not possible. */
  readonly mountMemory?: (path: string, mount: MemoryMount) => Promise<void>;
  /**
   * Mounts a sub path of a volume where no container can change the path to it; returns the mount point. Absent where
   * containers get the sub path directly. `name` distinguishes the mounts of a pod.
   */
  readonly bindSubPath?: (volume: string, place: string, name: string) => Promise<string>;
  /** The folder with the files of an image; throws `ImageError`. Absent where images have no files. */
  readonly imageFolder?: (image: string, pullPolicy?: string) => Promise<string>;
  /** Why images cannot be mounted, where they cannot. */
  readonly imageProblem?: string | undefined;
  /** The id of an image that the engine mounts itself; throws `ImageError`. Absent where it does not. */
  readonly imageToMount?: (image: string, pullPolicy?: string) => Promise<string>;
}

export interface MemoryMount {
  readonly mode: number;
  readonly group?: number | undefined;
  /** Default: half of the machine's memory. */
  readonly bytesMax?: number | undefined;
}

export interface Mount {
  /** The absolute path inside the container. */
  readonly path: string;
  /** The file or folder on this machine; empty for an image. */
  readonly source: string;
  /** The image whose files are mounted, and where in them; only with `imageToMount`. */
  readonly image?: { readonly id: string; readonly subPath: string | undefined } | undefined;
  readonly readOnly: boolean;
  /** `HostToContainer` or `Bidirectional`; absent: mounts made later below it are not passed on. */
  readonly propagation?: string | undefined;
}

export interface ContainerLaunch {
  readonly pod: Pod;
  readonly container: Container;
  readonly place: PodPlace;
  /** Undefined for a container that needs nothing of its image. */
  readonly image?: ImageCommand | undefined;
  /** How often the container has been started before. */
  readonly attempt: number;
  /** The whole command line, variables expanded. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string | undefined;
  readonly mounts: readonly Mount[];
}

export interface ContainerExit {
  readonly exitCode: number;
  readonly signal?: number;
  /** `Completed`, `Error`, `OOMKilled`. */
  readonly reason: string;
  /** From the termination message file, or the end of the log where the policy says so. */
  readonly message?: string;
  readonly finishedAt: Date;
}

export interface RunningContainer {
  /** Without the scheme. */
  readonly id: string;
  readonly startedAt: Date;
  /** Resolves when the process has ended and its output is in the log. */
  readonly exited: Promise<ContainerExit>;
  /** Signals every process of the container. */
  kill(signal: 'SIGTERM' | 'SIGKILL' | NodeJS.Signals): void;
  /**
   * Runs a command beside the main process, as the same user, with its environment, folder and limits. When
   * the client disconnects, the command loses its pipes or its terminal but is not killed, unless
   * `killWhenGone` is set.
   */
  exec(command: readonly string[], session: Session, options?: ExecOptions): Promise<SessionResult>;
  /** Attaches to the main process until it ends or the client leaves. */
  attach(session: Session): Promise<SessionResult>;
}

/** A container that an earlier agent has started. If it has ended meanwhile, `exited` says how. */
export interface AdoptedContainer extends RunningContainer {
  readonly attempt: number;
  /** The image it was made from, as its pod named it then. */
  readonly image: string;
  readonly shownImageId: string;
}

export interface ExecOptions {
  /** For commands of the agent itself, such as probes: kill them when their result is no longer needed. */
  readonly killWhenGone?: boolean;
}

export interface LogQuery {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly sinceMs?: number;
  readonly limitBytes?: number;
}

/** The log of one run of a container. */
export interface ContainerLog {
  /** Pieces of text in the client's format. With `follow` it ends with the container, or on abort. */
  read(query: LogQuery, gone: AbortSignal): AsyncIterable<Buffer>;
}

export interface ContainerUsage {
  readonly uid: string;
  readonly container: string;
  readonly startedAt: Date;
  /** CPU time used since its start. */
  readonly cpuNanoseconds: number;
  readonly rssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly logBytes: number;
}
