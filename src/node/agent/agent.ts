/**
 * The node agent: registers this machine (or a simulated one) as a node, runs the pods bound to it through a
 * runtime, reports their status to the API, and serves the kubelet API.
 *
 * It owns its runtime: `close()` ends the containers. Pods stay in the API as they are; the next agent of the
 * node continues from there.
 */
import type { Duplex } from 'node:stream';
import type { Pod, Service, Taint } from '../../api/generated/types.ts';
import { runtimeLabels } from '../../api/rules/shared/node-runtimes.ts';
import type { Client } from '../../client/client.ts';
import { eventSink } from '../../client/event-sink.ts';
import { EventRecorder, type RecorderOptions } from '../../client/events.ts';
import { Informer } from '../../client/informer.ts';
import { services } from '../../client/resources.ts';
import { wallClock } from '../../clock.ts';
import { composedKey } from '../../composed-key.ts';
import { systemTimers, type Timers } from '../../timers.ts';
import { ConfigObjects } from '../environment/config-objects.ts';
import type { LogFolder } from '../logs/log-folder.ts';
import { goOs } from '../machine/machine.ts';
import { type BackOffTimes, defaultBackOff } from '../pods/backoff.ts';
import { type NetworkAdvice, NodeSetup } from '../pods/node-setup.ts';
import { type Held, refusalOf, resizeRefusalOf } from '../pods/pod-admission.ts';
import { emptySetup, type PodSetup } from '../pods/pod-setup.ts';
import { PodWorker } from '../pods/pod-worker.ts';
import { StatusWriter } from '../pods/status-writer.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { onlyRuntime, type Runtimes } from '../runtime/runtime-choice.ts';
import type { NodeVolumes } from '../volumes/local-volumes.ts';
import { type KubeletListening, KubeletServer } from './kubelet-server.ts';
import { type KubeletHost, sessionPace } from './kubelet-sessions.ts';
import { defaultHeartbeat, type HeartbeatTimes, NodeRegistration } from './node-registration.ts';
import { type NodeVersion, ownVersion } from './node-version.ts';
import { NodePods, type PodFeed, type PodFollowing } from './pod-feed.ts';
import { makeRuntimeClasses } from './runtime-classes.ts';
import { NodeStats } from './stats.ts';

const defaultMaxPods = 110;
/** The port where the API server expects a kubelet when the Node object names none. */
const defaultKubeletPort = 10_250;
/** Interval for refreshing the volumes that show API objects. */
const refreshMs = 60_000;
const flushMaxMs = 2_000;

export interface AgentOptions {
  readonly nodeName: string;
  /** Not closed with the agent: it belongs to the caller. */
  readonly client: Client;
  /** The runtime that the node names as its own. */
  readonly runtime: Runtime;
  /** All runtimes of the node, with `runtime` among them. Default: that one alone. */
  readonly runtimes?: Runtimes;
  /** The agent's folder on disk; the file system it is on counts as the node's disk. */
  readonly folder: string;
  /** The folder that `/logs/` of the kubelet API serves; absent: it serves none. */
  readonly logFolder?: LogFolder;
  /** Makes folders for claims; absent: this node makes none. */
  readonly volumes?: NodeVolumes;
  /** The node's address, which pods see as their host IP. */
  readonly address: string;
  /** What the node's network contributes to its pods. */
  readonly network?: NetworkAdvice;
  /** Reported as an address of the node as well, if it resolves to `address`. */
  readonly hostname?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** What the node says of its version. Default: that of this release. */
  readonly version?: NodeVersion | undefined;
  /** Further features that the node declares in its status. */
  readonly features?: readonly string[];
  /** Overrides of the machine's own capacity. */
  readonly capacity?: Readonly<Record<string, string>>;
  /** Taints of a node that is made. */
  readonly taints?: readonly Taint[];
  /** Default 110. */
  readonly maxPods?: number;
  /** Default: a watch of its own. Agents of one process share a `SharedPods`. */
  readonly podFeed?: PodFeed;
  /** Default: no listener; `connect()` is the only way in. */
  readonly kubelet?: KubeletListening;
  readonly heartbeat?: Partial<HeartbeatTimes>;
  /** Back-off for container restarts and image pulls. */
  readonly backOff?: Partial<BackOffTimes>;
  /**
   * Length in milliseconds of one second of probes, hooks, grace periods and deadlines. Default 1000; tests
   * use less.
   */
  readonly secondMs?: number;
  readonly refreshMs?: number;
  /** Whether the client may watch config maps and secrets, so that volumes change with them at once. Default false. */
  readonly followsObjects?: boolean;
  readonly now?: () => number;
  /** Timers on the same clock. */
  readonly timers?: Timers;
  /** Called with every event that the agent records. */
  readonly onEvent?: RecorderOptions['onRecorded'];
  readonly onError?: (error: Error) => void;
}

export class Agent {
  readonly #workers = new Map<string, PodWorker>();
  /** The newest pod of each `namespace/name`. */
  readonly #byName = new Map<string, PodWorker>();
  /** Pods whose runtime is being chosen, with their newest state; undefined when the pod is gone meanwhile. */
  readonly #choosing = new Map<string, Pod | undefined>();
  readonly #runtimes: Runtimes;
  readonly #recorder: EventRecorder;
  readonly #writer: StatusWriter;
  readonly #stats: NodeStats;
  readonly #kubelet: KubeletServer;
  readonly #objects: ConfigObjects;
  readonly #services: Informer<Service>;
  readonly #now: () => number;
  readonly #onError: (error: Error) => void;
  #registration: NodeRegistration | undefined;
  #following: PodFollowing | undefined;
  #refreshTimer: NodeJS.Timeout | undefined;
  #refreshing: Promise<void> = Promise.resolve();
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(private readonly options: AgentOptions) {
    const { nodeName, client, runtime, folder } = options;
    const report = options.onError ?? (() => undefined);
    // Errors while closing are expected: do not report them.
    const onError = (error: Error): void => {
      if (!this.#closed) report(error);
    };
    const now = options.now ?? wallClock;
    this.#now = now;
    this.#runtimes = options.runtimes ?? onlyRuntime(runtime);
    this.#onError = onError;
    this.#recorder = new EventRecorder(eventSink(client), {
      component: 'kubelet',
      host: nodeName,
      now,
      onRecorded: options.onEvent,
      onError,
    });
    this.#writer = new StatusWriter({ client, onError });
    this.#objects = new ConfigObjects(client, { now, follows: options.followsObjects, onError });
    this.#services = new Informer(client, services, { changed: () => undefined, onError });
    this.#stats = new NodeStats({
      nodeName,
      folder,
      simulated: runtime.simulated,
      usage: () => this.#runtimes.usage(),
      now,
      pods: () => [...this.#workers.values()].map(({ pod }) => pod),
    });
    this.#kubelet = new KubeletServer(this.#host(), onError);
  }

  /** Resolves when the node is registered and the pods bound to it have workers. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  /**
   * Whether it has work under way, or has not seen a change of its pods yet.
   * @param bound versions of the pods that are bound to this node, by uid
   */
  isBusy(bound: ReadonlyMap<string, string>): boolean {
    if (this.#closed) return false;
    if (!this.#writer.idle || !this.#recorder.idle || this.#workers.size !== bound.size) return true;
    for (const [uid, version] of bound) {
      const worker = this.#workers.get(uid);
      if (!worker || worker.busy || worker.version !== version) return true;
    }
    return false;
  }

  /** Kills a running container of a pod; false when no container runs. */
  killContainer(namespace: string, pod: string, container: string | undefined): boolean {
    const worker = this.#byName.get(composedKey(namespace, pod));
    const name = container ?? worker?.pod.spec?.containers?.[0]?.name;
    const running = name === undefined ? undefined : worker?.containerOf(name)?.running;
    running?.kill('SIGKILL');
    return running !== undefined;
  }

  /** How many pods run as processes, which end with the agent. */
  get processPods(): number {
    const own = [...this.#workers.values()].filter(({ runtime }) => runtime.name === 'process');
    return own.filter((worker) =>
      worker.pod.spec?.containers?.some(({ name = '' }) => worker.containerOf(name)?.running),
    ).length;
  }

  /** The containers that run, of all its pods. */
  runningContainers(): { namespace: string; name: string; container: string }[] {
    return [...this.#workers.values()].flatMap((worker) => {
      const { metadata, spec } = worker.pod;
      const { namespace = '', name = '' } = metadata;
      return (spec?.containers ?? [])
        .map((one) => ({ namespace, name, container: one.name ?? '' }))
        .filter(({ container }) => worker.containerOf(container)?.running);
    });
  }

  /** Called when the certificate of the kubelet API was renewed. */
  useServingCertificate(tls: KubeletListening['tls']): void {
    this.#kubelet.useCertificate(tls);
  }

  /** An in-memory connection to the kubelet API. */
  connect(): Duplex {
    return this.#kubelet.connect();
  }

  /**
   * Ends the containers and releases everything. With `silently` nothing is written to the API, as if the machine
   * had lost power. Safe to call twice.
   */
  close({ silently = false } = {}): Promise<void> {
    this.#closing ??= this.#close(silently);
    return this.#closing;
  }

  async #start(): Promise<void> {
    const { nodeName, runtime, client, podFeed, kubelet } = this.options;
    const port = kubelet ? await this.#kubelet.listen(kubelet) : defaultKubeletPort;
    const feed = podFeed ?? new NodePods(client, this.#onError);
    const bound = new Map<string, Pod>();
    let taking = false;
    this.#following = feed.follow(nodeName, (pod, previous) => {
      if (taking) this.#take(pod, previous);
      else if (pod) bound.set(pod.metadata.uid!, pod);
      else bound.delete(previous!.metadata.uid!);
    });
    await this.#following.synced;
    if (this.#closed) return;
    await this.#runtimes.recover(new Set(bound.keys()));
    const names = this.options.runtimes ? await this.options.runtimes.available() : [];
    this.#registration = this.#registering(port, runtimeLabels(names), await this.#runtimes.shown());
    if (!runtime.simulated) {
      this.#tellNode('Starting', 'Starting kubelet.');
      await this.#services.start();
    }
    const makeClasses = (): Promise<void> => makeRuntimeClasses(client, names);
    // Created before the node is ready, so that its pods can name them; repeated if the server does not answer yet.
    const early = await makeClasses().then(
      () => true,
      () => false,
    );
    await this.#registration.start();
    if (!early && !this.#closed) await makeClasses().catch(this.#onError);
    if (this.#closed) return;
    taking = true;
    for (const pod of bound.values()) this.#take(pod, undefined);
    if (!runtime.simulated)
      this.#refreshTimer = setInterval(() => {
        this.#refreshing = this.#refreshing.then(() => this.#refresh());
      }, this.options.refreshMs ?? refreshMs);
  }

  async #close(silently: boolean): Promise<void> {
    this.#closed = true;
    clearInterval(this.#refreshTimer);
    this.#following?.close();
    this.#services.close();
    const workers = [...this.#workers.values()];
    await Promise.allSettled(workers.map((worker) => worker.close()));
    // Close both together: exec and attach sessions end with their container, and send its exit status to the client.
    await Promise.all([this.#kubelet.close(), this.#runtimes.close()]);
    const flushed = Promise.all([this.#writer.close(), this.#recorder.flushed()]);
    await Promise.all([this.#registration?.close(silently), within(flushed, flushMaxMs), this.#refreshing]);
    this.#objects.close();
    // A start still under way fails now because of the close; ignore its error.
    await this.#starting?.catch(() => undefined);
  }

  #take(pod: Pod | undefined, previous: Pod | undefined): void {
    if (this.#closed) return;
    const uid = (pod ?? previous)!.metadata.uid!;
    if (this.#choosing.has(uid)) return void this.#choosing.set(uid, pod);
    const known = this.#workers.get(uid);
    if (!pod) return known?.forsake();
    if (known) return known.update(pod);
    const runtime = this.#runtimes.of(pod);
    if (!(runtime instanceof Promise)) return this.#keep(pod, runtime);
    this.#choosing.set(uid, pod);
    runtime
      .then((chosen) => {
        const newest = this.#choosing.get(uid);
        this.#keep(newest ?? pod, chosen);
        if (!newest) this.#workers.get(uid)?.forsake();
      }, this.#onError)
      .finally(() => this.#choosing.delete(uid));
  }

  #keep(pod: Pod, runtime: Runtime): void {
    if (this.#closed) return;
    const { uid, namespace, name } = pod.metadata;
    const worker = this.#work(pod, runtime);
    this.#workers.set(uid!, worker);
    this.#byName.set(composedKey(namespace ?? '', name ?? ''), worker);
  }

  #work(pod: Pod, runtime: Runtime): PodWorker {
    const { client, address, backOff, secondMs = 1_000, timers = systemTimers } = this.options;
    const onError = this.#onError;
    return new PodWorker(pod, {
      client,
      runtime,
      writer: this.#writer,
      setup: (pod) => this.#setup(pod, runtime),
      hostIP: address,
      backOff: { ...defaultBackOff, ...backOff },
      secondMs,
      now: this.#now,
      timers,
      admit: (pod) =>
        refusalOf(pod, this.#heldBeside(pod), this.#registration!.allocatable, runtime.system ?? goOs()),
      resizable: (pod) => resizeRefusalOf(pod, this.#heldBeside(pod), this.#registration!.allocatable),
      tell: (pod, type, reason, message, fieldPath) => {
        if (runtime.simulated) return;
        const subject = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
        if (type === 'Normal') this.#recorder.normal(subject, reason, message, fieldPath);
        else this.#recorder.warning(subject, reason, message, fieldPath);
      },
      removed: (worker) => this.#forget(worker),
      onError,
    });
  }

  #setup(pod: Pod, runtime: Runtime): PodSetup {
    const { client, address, network } = this.options;
    if (runtime.simulated) return emptySetup;
    const subject = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata };
    return new NodeSetup(pod, {
      client,
      objects: this.#objects,
      node: () => this.#registration!.node,
      services: () => [...this.#services.all()],
      hostIP: address,
      network,
      warn: (reason, message) => this.#recorder.warning(subject, reason, message),
      now: this.#now,
      onError: this.#onError,
    });
  }

  /** What the other pods of this node have allocated. */
  #heldBeside({ metadata }: Pod): Held {
    const held = [...this.#workers.values()].filter(({ uid, holds }) => holds && uid !== metadata.uid);
    return { count: held.length, pods: () => held.map((worker) => worker.allocated) };
  }

  #forget(worker: PodWorker): void {
    const { namespace, name } = worker.pod.metadata;
    const key = composedKey(namespace ?? '', name ?? '');
    this.#workers.delete(worker.uid);
    if (this.#byName.get(key) === worker) this.#byName.delete(key);
  }

  async #refresh(): Promise<void> {
    for (const worker of this.#workers.values()) {
      if (this.#closed) return;
      await worker.refresh().catch(this.#onError);
    }
  }

  #registering(
    kubeletPort: number,
    further: Readonly<Record<string, string>>,
    runtimeVersion: string,
  ): NodeRegistration {
    const {
      nodeName,
      client,
      folder,
      address,
      hostname,
      labels = {},
      version = ownVersion,
      features = [],
      capacity = {},
      taints = [],
    } = this.options;
    const { runtime, heartbeat, maxPods = defaultMaxPods, timers = systemTimers } = this.options;
    return new NodeRegistration({
      nodeName,
      client,
      folder,
      address,
      hostname,
      labels: { ...labels, ...further },
      version,
      features,
      capacity,
      taints,
      maxPods,
      kubeletPort,
      runtimeVersion,
      simulated: runtime.simulated,
      heartbeat: { ...defaultHeartbeat, ...heartbeat },
      now: this.#now,
      timers,
      tell: (reason) => this.#tellNode(reason, `Node ${nodeName} status is now: ${reason}`),
      onError: this.#onError,
    });
  }

  #tellNode(reason: string, message: string): void {
    const { nodeName, runtime } = this.options;
    if (runtime.simulated) return;
    // As kubelets do, use the node's name as uid in events: they emit events before they know the uid.
    const subject = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, uid: nodeName } };
    this.#recorder.normal(subject, reason, message);
  }

  #host(): KubeletHost {
    return {
      logFolder: this.options.logFolder,
      stats: this.#stats,
      volumes: this.options.volumes,
      sessions: { count: 0, pace: sessionPace() },
      now: this.#now,
      node: () => this.#registration?.node ?? { metadata: { name: this.options.nodeName } },
      workers: () => this.#workers.values(),
      find: (namespace, name) => this.#byName.get(composedKey(namespace, name)),
    };
  }
}

/** Waits for `work`, for `ms` at most. */
async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
