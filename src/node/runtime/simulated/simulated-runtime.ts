/**
 * The simulated runtime: no processes are started. Containers count as running at once. With a restartPolicy that lets
 * the pod end they succeed at once, otherwise they run until they are stopped. Annotations of the pod change that:
 *
 *   wherry.dev/simulated-seconds: "5"      containers end after this time
 *   wherry.dev/simulated-exit-code: "1"    their exit code
 *   wherry.dev/simulated-milli-cpu: "250"  the CPU usage each of them reports
 */
import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Container, Pod } from '../../../api/generated/types.ts';
import type { Session, SessionResult } from '../../../streams/session/session.ts';
import { systemTimers, type Timer, type Timers } from '../../../timers.ts';
import type {
  AdoptedContainer,
  ContainerExit,
  ContainerLaunch,
  ContainerLog,
  ContainerUsage,
  ImageCommand,
  ImageRequest,
  PodPlace,
  RunningContainer,
  Runtime,
} from '../runtime.ts';
import type { PodLives } from './pod-lives.ts';

const annotation = (pod: Pod, name: string): number | undefined => {
  const text = pod.metadata.annotations?.[`wherry.dev/simulated-${name}`];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
};

const signalNumbers: Partial<Record<NodeJS.Signals, number>> = {
  SIGTERM: 15,
  SIGKILL: 9,
  SIGINT: 2,
  SIGHUP: 1,
};
/** Memory that a simulated container reports. */
const rssBytes = 16 * 1024 * 1024;

const room = 2 ** 23 - 2;

/** Addresses for simulated pods, shared by all simulated nodes of a cluster: 10.128.0.1 to 10.255.255.254. */
export class SimulatedAddresses {
  readonly #taken = new Set<number>();
  #next = 0;

  /** Takes an address. @param wished taken if it is free */
  take(wished?: string): { ip: string; number: number } {
    if (this.#taken.size >= room) throw new Error('no address is left for simulated pods');
    const number = (wished && this.#freeNumber(wished)) || this.#nextNumber();
    this.#taken.add(number);
    return { ip: `10.${128 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`, number };
  }

  #nextNumber(): number {
    do this.#next = (this.#next % room) + 1;
    while (this.#taken.has(this.#next));
    return this.#next;
  }

  /** The number of an address; 0 when it is not in the range, or not free. */
  #freeNumber(ip: string): number {
    const [first, second = 0, third = 0, fourth = 0] = ip.split('.').map(Number);
    const number = ((second - 128) << 16) + (third << 8) + fourth;
    return first === 10 && number > 0 && number <= room && !this.#taken.has(number) ? number : 0;
  }

  giveBack(number: number): void {
    this.#taken.delete(number);
  }
}

interface SimulatedPod {
  /** Kept only to resume its containers: a cluster may have very many pods. */
  readonly pod: Pod | undefined;
  readonly place: PodPlace;
  readonly number: number;
  readonly containers: Set<SimulatedContainer>;
}

export class SimulatedRuntime implements Runtime {
  readonly name = 'simulated';
  readonly version = '1.0.0';
  readonly simulated = true;
  readonly system = 'linux';
  readonly #pods = new Map<string, SimulatedPod>();
  readonly adopt?: Runtime['adopt'];

  /**
   * @param resumes whether containers that run according to their pods' statuses go on: those of a copied cluster do
   */
  constructor(
    private readonly addresses: SimulatedAddresses,
    private readonly now: () => number,
    private readonly timers: Timers = systemTimers,
    resumes = false,
    private readonly lives?: PodLives,
  ) {
    if (resumes) this.adopt = (uid, container) => this.#resumed(uid, container);
  }

  async resolveImage({ pod }: ImageRequest): Promise<ImageCommand> {
    await this.lives?.waiting(pod.metadata.uid!);
    return { entrypoint: ['simulated'], args: [] };
  }

  isHeld(uid: string): boolean {
    return this.lives?.waiting(uid) !== undefined;
  }

  async preparePod(pod: Pod): Promise<PodPlace> {
    const known = this.#pods.get(pod.metadata.uid!);
    if (known) return known.place;
    const { ip, number } = this.addresses.take(this.adopt && pod.status?.podIP);
    const place = { folder: '', ip };
    const kept = this.adopt && pod;
    this.#pods.set(pod.metadata.uid!, { pod: kept, place, number, containers: new Set() });
    return place;
  }

  async start(launch: ContainerLaunch): Promise<RunningContainer> {
    return this.#run(launch, { id: randomUUID(), startedAt: new Date(this.now()) });
  }

  #run(launch: Launched, begun: Begun): SimulatedContainer {
    const pod = this.#pods.get(launch.pod.metadata.uid!);
    const uid = launch.pod.metadata.uid!;
    const end = (code: number): void => container.end(code);
    const container = new SimulatedContainer(launch, begun, this.now, this.timers, () => {
      pod?.containers.delete(container);
      this.lives?.ended(uid, end);
    });
    pod?.containers.add(container);
    this.lives?.running(uid, end);
    return container;
  }

  /** The container with the id, start and attempt of its status; undefined when it does not run. */
  #resumed(uid: string, name: string): AdoptedContainer | undefined {
    const { pod } = this.#pods.get(uid) ?? {};
    const { containers = [], initContainers = [] } = pod?.spec ?? {};
    const container = [...containers, ...initContainers].find((one) => one.name === name);
    const { containerStatuses = [], initContainerStatuses = [] } = pod?.status ?? {};
    const status = [...containerStatuses, ...initContainerStatuses].find((one) => one.name === name);
    const startedAt = status?.state?.running?.startedAt;
    const id = status?.containerID?.split('://')[1];
    if (!pod || !container || !startedAt || !id) return undefined;
    const { restartCount: attempt = 0, image = '', imageID: shownImageId = '' } = status!;
    const resumed = this.#run({ pod, container }, { id, startedAt: new Date(startedAt) });
    return Object.assign(resumed, { attempt, image, shownImageId });
  }

  async resize(): Promise<void> {
    // Simulated containers have no limits.
  }

  async dial(): Promise<Duplex> {
    throw new Error('connect: connection refused: a simulated pod has no ports');
  }

  reach(): Promise<Duplex> {
    return this.dial();
  }

  log(): ContainerLog {
    return simulatedLog;
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    const nowMs = this.now();
    return [...this.#pods.values()].flatMap(({ containers }) =>
      [...containers].map((container) => container.usage(nowMs)),
    );
  }

  async removePod(uid: string): Promise<void> {
    const pod = this.#pods.get(uid);
    if (!pod) return;
    this.#pods.delete(uid);
    for (const container of pod.containers) container.kill('SIGKILL');
    this.addresses.giveBack(pod.number);
  }

  async recover(): Promise<void> {
    // Nothing to do: an earlier agent leaves nothing of a simulated pod.
  }

  async close(): Promise<void> {
    for (const uid of [...this.#pods.keys()]) await this.removePod(uid);
  }
}

type Launched = Pick<ContainerLaunch, 'pod' | 'container'>;

interface Begun {
  readonly id: string;
  readonly startedAt: Date;
}

class SimulatedContainer implements RunningContainer {
  readonly id: string;
  readonly startedAt: Date;
  readonly exited: Promise<ContainerExit>;
  readonly #uid: string;
  readonly #name: string;
  readonly #milliCpu: number;
  #end: (exit: ContainerExit) => void = () => undefined;
  #timer: Timer | undefined;

  /** Nothing here holds the pod, whose state of this moment would stay in memory as long as the container runs. */
  constructor(
    { pod, container }: Launched,
    { id, startedAt }: Begun,
    private readonly now: () => number,
    timers: Timers,
    gone: () => void,
  ) {
    this.id = id;
    this.startedAt = startedAt;
    this.#uid = pod.metadata.uid!;
    this.#name = container.name!;
    this.#milliCpu = annotation(pod, 'milli-cpu') ?? 0;
    this.exited = new Promise((resolve) => {
      this.#end = (exit) => {
        timers.clear(this.#timer);
        gone();
        resolve(exit);
      };
    });
    const runMs = runMsOf(pod, container);
    const exitCode = annotation(pod, 'exit-code') ?? 0;
    if (runMs !== undefined)
      this.#timer = timers.set(() => this.#exit(exitCode), startedAt.getTime() + runMs - now());
    this.#timer?.unref();
  }

  /** Ends it by itself, as a lifecycle says. */
  end(exitCode: number): void {
    this.#exit(exitCode);
  }

  #exit(exitCode: number, signal?: number): void {
    this.#end({
      exitCode,
      ...(signal === undefined ? {} : { signal }),
      reason: exitCode === 0 ? 'Completed' : 'Error',
      finishedAt: new Date(this.now()),
    });
  }

  kill(signal: NodeJS.Signals): void {
    // It ends on SIGTERM with success.
    if (signal === 'SIGTERM') this.#exit(0);
    else this.#exit(128 + (signalNumbers[signal] ?? 9), signalNumbers[signal] ?? 9);
  }

  async exec(): Promise<SessionResult> {
    return { kind: 'failure', message: 'this pod is simulated: no command can be run in it' };
  }

  async attach(session: Session): Promise<SessionResult> {
    await new Promise<void>((resolve) => {
      session.gone.addEventListener('abort', () => resolve(), { once: true });
      void this.exited.then(() => resolve());
    });
    return { kind: 'success' };
  }

  usage(nowMs: number): ContainerUsage {
    return {
      uid: this.#uid,
      container: this.#name,
      startedAt: this.startedAt,
      cpuNanoseconds: (nowMs - this.startedAt.getTime()) * this.#milliCpu * 1000,
      rssBytes,
      pageFaults: 0,
      majorPageFaults: 0,
      logBytes: 0,
    };
  }
}

/** How long a container runs; undefined: until it is stopped. */
function runMsOf(pod: Pod, container: Container): number | undefined {
  const seconds = annotation(pod, 'seconds');
  if (seconds !== undefined) return seconds * 1000;
  const initial = pod.spec?.initContainers?.some(({ name }) => name === container.name);
  const ends = initial ? container.restartPolicy !== 'Always' : pod.spec?.restartPolicy !== 'Always';
  return ends || annotation(pod, 'exit-code') !== undefined ? 0 : undefined;
}

/** Simulated containers have no output. */
const simulatedLog: ContainerLog = {
  async *read() {
    // No lines.
  },
};
