/**
 * A pod worker: reconciles one pod with its object in the API. It never blocks: every event (the pod has changed, a
 * container has ended, a timer has fired) makes it look at the whole state again and decide the next step:
 *
 *   state       the pod                                                        exits
 *   new         was not admitted by this node yet                              admitted ▶ unplaced, to end ▶ over
 *   unplaced    is admitted, but has no folder, network and volumes            after back-off ▶ preparing, to end ▶ over
 *   preparing   gets its folder, network and volumes                           done ▶ placed, failed or to end ▶ unplaced
 *   placed      runs its init containers one by one, then the others           nothing runs, nothing will ▶ over
 *   over        runs nothing any more; continued by `pod-departure.ts`          –
 *   closed      is left as it is: close() leads here from every state          –
 *
 * A pod is to end when it is deleted, exceeds its deadline, is refused by the node, or got a final phase from another
 * writer. Its running containers are stopped first, without a change of state.
 *
 * The pod's status in the API is the only persistent state: a new worker of a pod that has run before continues from it.
 */

import { setMaxListeners } from 'node:events';
import type { Container, ContainerStatus, Pod, PodStatus } from '../../api/generated/types.ts';
import { isFinished } from '../../api/rules/pod/pod-facts.ts';
import { formatTime, timeToMs } from '../../api/values/time.ts';
import type { Client } from '../../client/client.ts';
import type { Timers } from '../../timers.ts';
import type { PodPlace, Runtime } from '../runtime/runtime.ts';
import { BackOff, type BackOffTimes } from './backoff.ts';
import type { ContainerContext, ContainerRole } from './container-context.ts';
import { PodAllocation } from './pod-allocation.ts';
import { PodContainer } from './pod-container.ts';
import { PodDeparture } from './pod-departure.ts';
import type { PodSetup } from './pod-setup.ts';
import { hasBegun, isSidecar, podStatus, restartsAfter } from './pod-status.ts';
import type { StatusWriter } from './status-writer.ts';
import { restMsOf, Wakeups } from './wakeups.ts';

/** Grace period of a pod that was removed from the API without waiting for its node. */
const goneGraceMs = 1_000;
/** Minimum time for a sidecar to end, even when the containers have used up the grace period. */
const sidecarWindowMs = 2_000;
/** Containers that are started, or stopped, in one look; the others wait for the next. */
const startsMax = 1_000;
/** Retry interval for a resize that was deferred because other pods hold the resources. */
const deferredMs = 5_000;

export interface PodRefusal {
  readonly reason: string;
  readonly message: string;
}

export interface WorkerOptions {
  readonly client: Client;
  readonly runtime: Runtime;
  readonly writer: StatusWriter;
  readonly setup: (pod: Pod) => PodSetup;
  readonly hostIP: string;
  readonly backOff: BackOffTimes;
  readonly secondMs: number;
  readonly now: () => number;
  readonly timers: Timers;
  /** Returns why the node refuses a new pod, if it does. */
  readonly admit: (pod: Pod) => PodRefusal | undefined;
  /** Returns why the node cannot grant a resize, if it cannot: `Infeasible` or `Deferred`. */
  readonly resizable: (pod: Pod) => PodRefusal | undefined;
  readonly tell: (
    pod: Pod,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    fieldPath?: string,
  ) => void;
  /** Called when the pod is removed from the runtime. */
  readonly removed: (worker: PodWorker) => void;
  readonly onError: (error: Error) => void;
}

/** Why the node itself ends a pod. For a refused pod, no container statuses are shown. */
interface NodeVerdict extends PodRefusal {
  readonly refused: boolean;
}

interface GracePeriod {
  readonly sinceMs: number;
  graceMs: number;
}

type State =
  | { readonly at: 'unplaced'; readonly notBeforeMs: number }
  | { readonly at: 'new' | 'preparing' | 'placed' | 'over' | 'closed' };

export class PodWorker {
  readonly uid: string;
  readonly #end = new AbortController();
  readonly #init: readonly PodContainer[];
  readonly #main: readonly PodContainer[];
  readonly #ephemeral: PodContainer[] = [];
  /** All of them, in this order. A pod may have thousands, and each look asks for each of them by its name. */
  readonly #containers = new Map<string, PodContainer>();
  readonly #setup: PodSetup;
  readonly #allocation: PodAllocation;
  readonly #context: ContainerContext;
  readonly #prepares: BackOff;
  readonly #startedAtMs: number;
  readonly #wakeups: Wakeups;
  readonly #departure: PodDeparture;
  #state: State;
  #pod: Pod;
  /** Whether the pod no longer exists in the API. */
  #gone = false;
  #status: PodStatus;
  /** Whether containers of an earlier agent may still run; that is found out once the pod has its place. */
  #awaitsAdoption: boolean;
  /** The pod's place; known before the pod is placed, while volumes may still be missing. */
  #place: PodPlace | undefined;
  #verdict: NodeVerdict | undefined;
  #ending: GracePeriod | undefined;
  #goesOn = false;

  constructor(
    pod: Pod,
    private readonly options: WorkerOptions,
  ) {
    const { backOff } = options;
    this.uid = pod.metadata.uid!;
    // Every session of the pod adds a listener.
    setMaxListeners(0, this.#end.signal);
    this.#pod = pod;
    this.#status = pod.status ?? {};
    this.#startedAtMs = pod.status?.startTime ? timeToMs(pod.status.startTime) : options.now();
    // A pod with a start time was admitted by this node before, and is not admitted again.
    if (isFinished(pod.status?.phase)) this.#state = { at: 'over' };
    else if (pod.status?.startTime !== undefined) this.#state = { at: 'unplaced', notBeforeMs: 0 };
    else this.#state = { at: 'new' };
    this.#awaitsAdoption = this.#is('unplaced') && options.runtime.adopt !== undefined;
    this.#prepares = new BackOff({ ...backOff, firstMs: backOff.firstMs / 20, maxMs: backOff.firstMs * 12 });
    this.#setup = options.setup(pod);
    const { initContainers = [], containers = [] } = pod.spec ?? {};
    this.#wakeups = new Wakeups(() => this.#lookAgain(), options.now, options.timers, restMsOf(pod));
    this.#departure = new PodDeparture({
      ...options,
      setup: this.#setup,
      pod: () => this.#pod,
      gone: () => this.#gone,
      again: () => this.#wakeups.in(backOff.firstMs / 10),
      removed: () => options.removed(this),
    });
    this.#context = this.#containerContext();
    this.#allocation = new PodAllocation(options.resizable, (name) => this.containerOf(name));
    const waiting = initContainers.length ? 'PodInitializing' : 'ContainerCreating';
    const { initContainerStatuses, containerStatuses } = pod.status ?? {};
    this.#init = this.#take('init', initContainers, waiting, initContainerStatuses);
    this.#main = this.#take('main', containers, waiting, containerStatuses);
    this.#takeEphemeral();
    this.changed();
  }

  /** The pod with its newest status. */
  get pod(): Pod {
    return { ...this.#pod, status: this.#status };
  }

  /** The pod with its allocated resources, which may differ from the requested ones. */
  get allocated(): Pod {
    return this.#allocation.of(this.pod);
  }

  /** Aborted when nothing of the pod runs any more and nothing will. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** The runtime that runs it. */
  get runtime(): Runtime {
    return this.options.runtime;
  }

  /** Whether it still occupies its ports and resources. */
  get holds(): boolean {
    return !this.#is('over');
  }

  /** The resourceVersion of the pod that the worker has seen. */
  get version(): string | undefined {
    return this.#pod.metadata.resourceVersion;
  }

  /** Whether it works on the pod now, rather than waiting for a change or a timer. */
  get busy(): boolean {
    return this.#is('preparing') || this.#departure.busy || this.#all().some(({ changing }) => changing);
  }

  containerOf(name: string): PodContainer | undefined {
    return this.#containers.get(name);
  }

  statusOf(name: string): ContainerStatus | undefined {
    return this.#verdict?.refused ? undefined : this.containerOf(name)?.status;
  }

  /** Takes a newer state of the pod from the API. */
  update(pod: Pod): void {
    if (!this.#is('closed') && this.#adopt(pod)) this.changed();
  }

  /** Called when the pod no longer exists in the API. */
  forsake(): void {
    this.#gone = true;
    this.changed();
  }

  /** Updates volumes from the API objects they show. */
  async refresh(): Promise<void> {
    if (this.#is('placed')) await this.#setup.refresh();
  }

  /** Stops working without touching the pod or its containers, which the runtime ends. */
  async close(): Promise<void> {
    this.#state = { at: 'closed' };
    this.#wakeups.close();
    for (const container of this.#all()) container.close();
    this.#end.abort();
    await this.#departure.close();
  }

  /** Schedules another look in this event loop tick. */
  changed(): void {
    this.#wakeups.soon();
  }

  #is(at: State['at']): boolean {
    return this.#state.at === at;
  }

  #lookAgain(): void {
    try {
      this.#goesOn = false;
      this.#look();
      if (this.#goesOn) return;
      this.#publish();
      if (!this.#is('over')) return;
      this.#end.abort();
      this.#departure.goOn();
    } catch (error) {
      this.options.onError(error as Error);
    }
  }

  /** Takes the newer pod; returns whether something has changed. */
  #adopt(pod: Pod): boolean {
    const known = Number(this.#pod.metadata.resourceVersion);
    const version = Number(pod.metadata.resourceVersion);
    if (version < known) return false;
    this.#pod = pod;
    // The answer to its own write, now as the feed of pods holds it: one copy is enough.
    if (version === known) return false;
    this.#setup.update(pod);
    this.#allocation.take(pod);
    this.#takeEphemeral();
    return true;
  }

  #takeEphemeral(): void {
    const { spec: { ephemeralContainers = [] } = {}, status } = this.#pod;
    const added = ephemeralContainers.filter(({ name }) => !this.#containers.has(name!));
    const statuses = status?.ephemeralContainerStatuses;
    this.#ephemeral.push(...this.#take('ephemeral', added, 'ContainerCreating', statuses));
  }

  #take(
    role: ContainerRole,
    specs: readonly Container[],
    waiting: string,
    statuses: readonly ContainerStatus[] = [],
  ): PodContainer[] {
    const before = new Map(statuses.map((status) => [status.name, status]));
    const taken = specs.map((spec) => this.#container(role, spec, waiting, before.get(spec.name)));
    for (const container of taken) this.#containers.set(container.name, container);
    return taken;
  }

  #container(
    role: ContainerRole,
    spec: Container,
    waiting: string,
    before: ContainerStatus | undefined,
  ): PodContainer {
    // A pending resize may be possible now, under this agent.
    const pending = this.#pod.status?.conditions?.some(({ type }) => type === 'PodResizePending');
    const { resources } = (pending && before) || spec;
    return new PodContainer(this.#context, role, { ...spec, resources }, waiting, before);
  }

  #all(): PodContainer[] {
    return [...this.#containers.values()];
  }

  #look(): void {
    if (this.#is('over')) return;
    if (this.#is('new') && !this.#isEnding()) this.#admit();
    this.#watchDeadline();
    if (this.#isEnding() && !this.#awaitsAdoption) return this.#endAll();
    if (this.#allocation.give(this.#pod)) this.#wakeups.in(deferredMs);
    if (!this.#is('placed')) return this.#prepare();
    for (const container of this.#ephemeral) if (!container.resting) container.run();
    const initialized = this.#initialize();
    if (initialized === 'failed') return this.#finish();
    if (initialized === 'done') this.#keepContainers();
  }

  /**
   * Whether the pod is to end. A final phase not written by this agent was written by a controller that gave
   * the pod up.
   */
  #isEnding(): boolean {
    const { metadata, status } = this.#pod;
    return (
      this.#gone ||
      this.#verdict !== undefined ||
      metadata.deletionTimestamp !== undefined ||
      isFinished(status?.phase)
    );
  }

  #admit(): void {
    this.#state = { at: 'unplaced', notBeforeMs: 0 };
    const refusal = this.options.admit(this.#pod);
    if (!refusal) return;
    this.#verdict = { ...refusal, message: `Pod was rejected: ${refusal.message}`, refused: true };
    this.#tell('Warning', refusal.reason, refusal.message);
  }

  #watchDeadline(): void {
    const seconds = this.#pod.spec?.activeDeadlineSeconds;
    if (seconds === undefined || this.#verdict) return;
    const leftMs = this.#startedAtMs + seconds * this.options.secondMs - this.options.now();
    if (leftMs > 0) return this.#wakeups.in(leftMs);
    const message = 'Pod was active on the node longer than the specified deadline';
    this.#verdict = { reason: 'DeadlineExceeded', message, refused: false };
    this.#tell('Normal', 'DeadlineExceeded', message);
  }

  #prepare(): void {
    if (this.#state.at !== 'unplaced') return;
    const waitMs = this.#state.notBeforeMs - this.options.now();
    if (waitMs > 0) return this.#wakeups.in(waitMs);
    this.#state = { at: 'preparing' };
    this.#makePlace().then(
      (made) => this.#prepared(made ? { at: 'placed' } : { at: 'unplaced', notBeforeMs: 0 }),
      (error: Error) => {
        this.#prepares.grow();
        this.#tell('Warning', this.#place ? 'FailedMount' : 'FailedCreatePodSandBox', error.message);
        this.#prepared({ at: 'unplaced', notBeforeMs: this.options.now() + this.#prepares.waitMs });
      },
    );
  }

  /** Returns false when the pod is to end, so no volumes were set up. */
  async #makePlace(): Promise<boolean> {
    this.#place = await this.options.runtime.preparePod(this.#pod);
    this.#awaitsAdoption = false;
    for (const container of this.#all()) container.adopt();
    if (this.#isEnding() || this.#is('closed')) return false;
    await this.#setup.prepare(this.#place);
    return true;
  }

  #prepared(state: State): void {
    if (this.#is('preparing')) this.#state = state;
    this.changed();
  }

  /** Runs the init containers one after the other; sidecars only have to start, and are restarted when they end. */
  #initialize(): 'done' | 'busy' | 'failed' {
    const begun = hasBegun(this.#main.map(({ status }) => status));
    const finished = begun && this.#main.every((container) => this.#isDone(container));
    for (const container of this.#init) {
      const { state } = container.status;
      if (isSidecar(container.spec)) {
        if (!finished) container.run();
        if (!container.status.started && !begun) return 'busy';
      } else if (!begun && !(state?.terminated && !state.terminated.exitCode)) {
        const failed = state?.terminated && this.#pod.spec?.restartPolicy === 'Never';
        if (failed) return 'failed';
        container.run();
        return 'busy';
      }
    }
    return 'done';
  }

  #keepContainers(): void {
    let starts = 0;
    for (const container of this.#main) {
      if (container.active || this.#isDone(container)) continue;
      container.run();
      if (container.active && ++starts === startsMax) return this.#goOn();
    }
    if (this.#main.every((container) => this.#isDone(container))) this.#finish();
  }

  /** Whether a container has ended for good. */
  #isDone(container: PodContainer): boolean {
    if (!container.resting) return false;
    return !restartsAfter(this.#pod.spec ?? {}, container.spec, container.ended!.exitCode ?? 0);
  }

  /** Called when no container will run again: stops what still runs, such as sidecars. */
  #finish(): void {
    const graceMs = (this.#pod.spec?.terminationGracePeriodSeconds ?? 30) * this.options.secondMs;
    this.#ending ??= { sinceMs: this.options.now(), graceMs };
    this.#stopInOrder(this.#ending);
  }

  #endAll(): void {
    const { spec, metadata } = this.#pod;
    const ownMs = (spec?.terminationGracePeriodSeconds ?? 30) * this.options.secondMs;
    const deletion =
      metadata.deletionTimestamp === undefined ? undefined : metadata.deletionGracePeriodSeconds;
    const askedMs = deletion === undefined ? ownMs : deletion * this.options.secondMs;
    const nowMs = this.options.now();
    // Even with a grace period of 0, send the stop signal before SIGKILL.
    const leastMs = Math.max(askedMs, Math.min(goneGraceMs, this.options.secondMs));
    this.#ending ??= { sinceMs: nowMs, graceMs: leastMs };
    // A pod that is gone from the API gets only `goneGraceMs` more.
    const graceMs = this.#gone ? nowMs - this.#ending.sinceMs + goneGraceMs : leastMs;
    this.#ending.graceMs = Math.min(this.#ending.graceMs, graceMs);
    if (!this.#is('preparing')) this.#stopInOrder(this.#ending);
  }

  /** Goes on in another turn, before the status is shown, which takes as long as all looks until then. */
  #goOn(): void {
    this.#goesOn = true;
    this.#wakeups.in(1);
  }

  /** Stops all containers together, then the sidecars in reverse order. */
  #stopInOrder(ending: GracePeriod): void {
    const leftMs = Math.max(0, ending.sinceMs + ending.graceMs - this.options.now());
    const last = new Set(this.#init.filter(({ spec }) => isSidecar(spec)));
    const first = this.#all().filter((container) => container.active && !last.has(container));
    let stops = 0;
    for (const container of first) {
      if (!container.stopping && ++stops > startsMax) return this.#goOn();
      container.stop(leftMs);
    }
    if (first.length) return;
    const next = [...last].findLast(({ active }) => active);
    if (next) next.stop(Math.max(leftMs, Math.min(sidecarWindowMs, ending.graceMs)));
    else this.#state = { at: 'over' };
  }

  #publish(): void {
    const { runtime, writer, hostIP, now } = this.options;
    if (this.#gone || this.#departure.deleted) return;
    const statuses = (list: readonly PodContainer[]): ContainerStatus[] =>
      this.#verdict?.refused ? [] : list.map(({ status }) => status);
    this.#status = podStatus({
      pod: this.#pod,
      last: this.#status,
      now: formatTime(now()),
      hostIP,
      podIP: this.#place
        ? this.#pod.spec?.hostNetwork && !runtime.simulated
          ? hostIP
          : this.#place.ip
        : undefined,
      startTime: formatTime(this.#startedAtMs),
      placed: this.#is('placed'),
      init: statuses(this.#init),
      containers: statuses(this.#main),
      ephemeral: statuses(this.#ephemeral),
      over: this.#is('over'),
      verdict: this.#verdict,
      resize: this.#allocation.state(this.#pod),
    });
    // The response may contain changes by other writers.
    writer.set(this.#pod, this.#status, (written) => this.update(written));
  }

  #tell(type: 'Normal' | 'Warning', reason: string, message: string, fieldPath?: string): void {
    this.options.tell(this.#pod, type, reason, message, fieldPath);
  }

  #containerContext(): ContainerContext {
    const { runtime, backOff, secondMs, now, timers, onError } = this.options;
    return {
      runtime,
      setup: this.#setup,
      pod: () => this.#pod,
      place: () => this.#place!,
      backOff,
      secondMs,
      now,
      timers,
      changed: () => this.changed(),
      wakeIn: (ms) => this.#wakeups.in(ms),
      tell: (type, reason, message, fieldPath) => this.#tell(type, reason, message, fieldPath),
      onError,
    };
  }
}
