/**
 * One container of a pod, over all its runs. The pod worker starts and stops it; it handles images, hooks, probes and
 * back-off, and shows its state in `status`.
 *
 *   waiting ──run()──▶ starting ──▶ running ──stop() or its own end──▶ ended
 *      ▲                  │                                              │
 *      └── back-off ◀─────┴── no image, no config, no start              └──run()──▶ starting, or waiting (back-off)
 */
import type { Container, ContainerStateTerminated, ContainerStatus } from '../../api/generated/types.ts';
import { formatTime } from '../../api/values/time.ts';
import {
  type ContainerExit,
  type ImageCommand,
  type RunningContainer,
  StartFailure,
} from '../runtime/runtime.ts';
import { BackOff, goDuration } from './backoff.ts';
import type { ContainerContext, ContainerRole } from './container-context.ts';
import { ContainerResize } from './container-resize.ts';
import { adoptedStatus, endedState, newStatus, restoredStatus, timeOf } from './container-state.ts';
import { ContainerStop, type StopReason } from './container-stop.ts';
import { runHook } from './hook.ts';
import { imageComplaint, isPullProblem } from './image-problems.ts';
import type { LaunchParts } from './pod-setup.ts';
import { isSidecar } from './pod-status.ts';
import type { ProbeTarget } from './probe.ts';
import { Prober } from './prober.ts';

/** Limit for postStart hooks, which have no time-out in Kubernetes. */
const postStartMaxMs = 10 * 60_000;

export class PodContainer {
  #status: ContainerStatus;
  #running: RunningContainer | undefined;
  #starting = false;
  #stopping: ContainerStop | undefined;
  #prober: Prober | undefined;
  #image = '';
  readonly #resize: ContainerResize;
  #notBeforeMs = 0;
  /** Until then a failed pull is shown as `ErrImagePull`, afterwards as `ImagePullBackOff`. */
  #pullShownUntilMs = 0;
  #closed = false;
  readonly #restarts: BackOff;
  readonly #pulls: BackOff;
  readonly #repairs: BackOff;

  constructor(
    private readonly context: ContainerContext,
    readonly role: ContainerRole,
    private container: Container,
    waitingReason: string,
    before: ContainerStatus | undefined,
  ) {
    const { backOff } = context;
    this.#resize = new ContainerResize(context.runtime, context.now);
    this.#restarts = new BackOff(backOff);
    this.#pulls = new BackOff(backOff);
    this.#repairs = new BackOff({ ...backOff, firstMs: backOff.firstMs / 10, maxMs: backOff.firstMs });
    // Containers that outlive the agent keep their status until the runtime is asked for them.
    const restored = before && (context.runtime.adopt ? before : restoredStatus(before, context.now()));
    this.#status = restored ?? newStatus(container, waitingReason);
  }

  get name(): string {
    return this.container.name!;
  }

  get spec(): Container {
    return this.container;
  }

  get status(): ContainerStatus {
    return this.#status;
  }

  /** Whether a run is under way or about to start. */
  get active(): boolean {
    return this.#starting || this.#running !== undefined;
  }

  /** Whether it is being started or stopped. */
  get changing(): boolean {
    const { runtime, pod } = this.context;
    const isStarting = this.#starting && !runtime.isHeld?.(pod().metadata.uid!);
    return isStarting || (this.#stopping !== undefined && this.#running !== undefined);
  }

  /** The running container, for exec, attach and logs. */
  get running(): RunningContainer | undefined {
    return this.#status.state?.running ? this.#running : undefined;
  }

  /** How the last run ended; undefined while one is under way. */
  get ended(): ContainerStateTerminated | undefined {
    return this.#status.state?.terminated ?? this.#status.lastState?.terminated;
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Whether it has ended and no restart is due. */
  get resting(): boolean {
    return !this.active && this.#status.state?.terminated !== undefined;
  }

  /** Takes a changed spec. A changed image restarts the container. */
  update(container: Container): void {
    const before = this.container;
    this.container = container;
    if (before.image === container.image) return this.resize();
    this.#pulls.reset();
    if (!this.active && !this.resting) this.#notBeforeMs = 0;
    if (this.active && this.#image !== container.image) this.#replace();
  }

  /** Restarts it with the image in the spec. */
  #replace(): void {
    this.stop(this.graceMs(), {
      message: `Container ${this.name} definition changed, will be restarted`,
      restart: true,
    });
  }

  /** Undefined when the process has the allocated resources; else the reason if resizing has failed. */
  get resizing(): { problem: string | undefined } | undefined {
    return this.#running && this.#resize.open(this.container);
  }

  /** Resizes the process to the resources in the spec, in place or by a restart. */
  resize(): void {
    const { container, context } = this;
    if (!this.resizing || this.#stopping || this.#closed) return;
    if (this.#resize.takesRestart(container))
      return this.stop(this.graceMs(), {
        message: `Container ${this.name} resize requires restart`,
        restart: true,
        atOnce: true,
      });
    const waitMs = this.#resize.attempt(context.pod().metadata.uid!, container, () => {
      if (this.#status.state?.running) this.#set(this.#resize.shown(this.container));
      this.#changed();
    });
    if (waitMs > 0) context.wakeIn(waitMs);
  }

  /** Starts the container, now or after its back-off. */
  run(): void {
    if (this.active || this.#closed) return;
    const waitMs = this.#notBeforeMs - this.context.now();
    if (waitMs > 0) return this.#showWait(waitMs);
    this.#starting = true;
    this.#begin()
      .catch((error: Error) => this.#notStarted(error))
      .finally(() => {
        this.#starting = false;
        // The container was stopped before it was started.
        if (!this.#running) {
          this.#stopping?.close();
          this.#stopping = undefined;
        }
        this.#changed();
      });
  }

  /** Continues the run that an earlier agent started, if there is one. Called once, when the pod has its place. */
  adopt(): void {
    const { runtime, pod, now } = this.context;
    if (!runtime.adopt || this.active || this.#closed) return;
    const found = runtime.adopt(pod().metadata.uid!, this.name);
    const { state, lastState, restartCount = 0 } = this.#status;
    const ended = state?.terminated ?? lastState?.terminated;
    if (!found || ended?.containerID === this.#id(found) || found.attempt < restartCount) {
      this.#status = restoredStatus(this.#status, now());
      return;
    }
    this.#running = found;
    this.#image = found.image;
    this.#resize.began(this.container.resources);
    this.#status = adoptedStatus(this.#status, this.container, found, this.#id(found));
    this.#watchEnd(found);
    if (!this.#stopping) this.#probe(found, this.#status.started === true);
    if (found.image !== this.container.image) this.#replace();
  }

  /** Stops the run within a grace period. A later call with less time shortens it. */
  stop(graceMs: number, reason: StopReason = {}): void {
    if (!this.active) return;
    if (this.#stopping) return this.#stopping.hurry(graceMs);
    const { secondMs, now, timers } = this.context;
    this.#stopping = new ContainerStop({
      reason,
      graceMs,
      secondMs,
      now,
      timers,
      hookFailed: () => this.#tell('Warning', 'FailedPreStopHook', 'PreStopHook failed'),
    });
    if (this.#running) this.#end(this.#running, this.#stopping).catch(this.context.onError);
  }

  /** Clears timers; the runtime ends what still runs. */
  close(): void {
    this.#closed = true;
    this.#prober?.close();
    this.#stopping?.close();
  }

  /** The grace period for stopping this container. */
  graceMs(): number {
    return (this.context.pod().spec?.terminationGracePeriodSeconds ?? 30) * this.context.secondMs;
  }

  async #begin(): Promise<void> {
    const { runtime, setup } = this.context;
    const { container } = this;
    let image: ImageCommand;
    try {
      image = await runtime.resolveImage({
        pod: this.context.pod(),
        container,
        tell: (type, reason, message) => this.#tell(type, reason, message),
      });
    } catch (error) {
      return this.#noImage(error as Error);
    }
    if (this.#stopping || this.#closed) return;
    let parts: LaunchParts;
    try {
      parts = await setup.parts(this.context.pod(), container, image);
    } catch (error) {
      return this.#noConfig('CreateContainerConfigError', error as Error);
    }
    if (this.#stopping || this.#closed) return;
    this.#pulls.reset();
    this.#tell(
      'Normal',
      'Pulled',
      image.engine?.pulled ??
        `Container image "${container.image}" already present on machine and can be accessed by the pod`,
    );
    const ended = this.ended;
    const attempt = this.#status.restartCount! + (ended ? 1 : 0);
    const place = this.context.place();
    const launch = { pod: this.context.pod(), container, place, image, attempt, ...parts };
    const running = await runtime.start(launch);
    this.#repairs.reset();
    this.#running = running;
    this.#image = container.image ?? '';
    this.#resize.began(container.resources);
    if (ended) this.#restarts.grow();
    const containerID = this.#id(running);
    this.#set({
      // Not shown as running until its postStart hook is done.
      state: { waiting: { reason: 'ContainerCreating' } },
      restartCount: attempt,
      image: container.image,
      imageID: image.engine?.shownId ?? container.image,
      containerID,
      ...(ended ? { lastState: { terminated: ended } } : {}),
    });
    this.#watchEnd(running);
    this.#tell('Normal', 'Created', 'Container created');
    this.#tell('Normal', 'Started', 'Container started');
    if (this.#stopping) return this.#end(running, this.#stopping);
    if (!(await this.#postStart(running))) return;
    // It may have ended during the hook.
    if (this.#running === running) this.#showRunning(running);
  }

  #watchEnd(running: RunningContainer): void {
    void running.exited.then(
      (exit) => this.#exited(running, exit),
      (error: Error) => this.context.onError(error),
    );
  }

  /** Runs the postStart hook; returns whether it succeeded. */
  async #postStart(running: RunningContainer): Promise<boolean> {
    const hook = this.container.lifecycle?.postStart;
    if (!hook || this.context.runtime.simulated) return true;
    // Abort the hook when the container ends.
    const gone = new AbortController();
    const abort = (): void => gone.abort();
    running.exited.then(abort, abort);
    const problem = await runHook(hook, this.#target(running), {
      timeoutMs: postStartMaxMs,
      secondMs: this.context.secondMs,
      gone: gone.signal,
    });
    if (problem === undefined || this.#closed) return !this.#closed;
    if (this.#running !== running) return false;
    this.#tell('Warning', 'FailedPostStartHook', 'PostStartHook failed');
    this.stop(this.graceMs(), { message: 'FailedPostStartHook' });
    return false;
  }

  #showRunning(running: RunningContainer): void {
    const { container } = this;
    const [lasts, probed] = [this.#lasts, this.#isProbed];
    const started = !(probed && container.startupProbe);
    this.#set({
      state: { running: { startedAt: timeOf(running.startedAt) } },
      started,
      ready: lasts && started && !(probed && container.readinessProbe),
      ...this.#resize.shown(container),
    });
    this.#probe(running, false);
  }

  /** Whether it is to run as long as the pod: not an init container, unless it is a sidecar. */
  get #lasts(): boolean {
    return this.role === 'main' || (this.role === 'init' && isSidecar(this.container));
  }

  get #isProbed(): boolean {
    return this.#lasts && !this.context.runtime.simulated;
  }

  #probe(running: RunningContainer, started: boolean): void {
    const { container } = this;
    const { startupProbe, livenessProbe, readinessProbe } = container;
    if (!this.#isProbed || this.#stopping || !(startupProbe || livenessProbe || readinessProbe)) return;
    this.#prober = new Prober({
      target: this.#target(running),
      hasStarted: started,
      secondMs: this.context.secondMs,
      now: this.context.now,
      timers: this.context.timers,
      started: () => this.#judged({ started: true, ready: !readinessProbe }),
      ready: (ready) => this.#judged({ ready }),
      sick: (kind, probe) => {
        const policy = container.restartPolicy ?? this.context.pod().spec?.restartPolicy;
        const seconds = probe.terminationGracePeriodSeconds;
        this.stop(seconds === undefined ? this.graceMs() : seconds * this.context.secondMs, {
          message: `Container ${this.name} failed ${kind.toLowerCase()} probe, will be restarted`,
          restart: policy !== 'Never',
        });
      },
      unhealthy: (message) => this.#tell('Warning', 'Unhealthy', message),
    });
  }

  #judged(change: Partial<ContainerStatus>): void {
    this.#set(change);
    this.#changed();
  }

  async #end(running: RunningContainer, stopping: ContainerStop): Promise<void> {
    this.#prober?.close();
    this.#tell('Normal', 'Killing', stopping.reason.message ?? `Stopping container ${this.name}`);
    const hooked = this.#status.state?.running && !this.context.runtime.simulated;
    await stopping.end(this.#target(running), hooked ? this.container.lifecycle?.preStop : undefined);
  }

  #exited(running: RunningContainer, exit: ContainerExit): void {
    if (this.#closed || this.#running !== running) return;
    this.#prober?.close();
    this.#prober = undefined;
    this.#stopping?.close();
    const { restart, atOnce } = this.#stopping?.reason ?? {};
    this.#stopping = undefined;
    this.#running = undefined;
    const terminated = endedState(running, exit, this.#id(running));
    this.#restarts.lasted(exit.finishedAt.getTime() - running.startedAt.getTime());
    this.#notBeforeMs = exit.finishedAt.getTime() + this.#restarts.waitMs;
    if (restart) {
      // Directly to waiting: a container with `restartPolicy: Never` must not be seen as ended here, or the
      // pod would end.
      if (atOnce || this.#image !== this.container.image) this.#notBeforeMs = 0;
      this.#wait('ContainerCreating', undefined, terminated);
    } else this.#showEnded(terminated);
    this.#changed();
  }

  #showEnded(terminated: ContainerStateTerminated): void {
    const completed = this.role === 'init' && !isSidecar(this.container) && terminated.exitCode === 0;
    this.#set({ state: { terminated }, ready: completed, started: false });
  }

  #noImage(error: Error): void {
    const { image } = this.container;
    const { reason, events } = imageComplaint(image, error);
    for (const [about, message] of events) this.#tell('Warning', about, message);
    this.#wait(reason, error.message, this.ended);
    this.#pulls.grow();
    this.#pullShownUntilMs = this.context.now() + this.context.backOff.firstMs / 10;
    this.#notBeforeMs = this.context.now() + this.#pulls.waitMs;
  }

  #noConfig(reason: string, error: Error): void {
    this.#tell('Warning', 'Failed', `Error: ${error.message}`);
    this.#wait(reason, error.message, this.ended);
    this.#repairs.grow();
    this.#notBeforeMs = this.context.now() + this.#repairs.waitMs;
  }

  #notStarted(error: Error): void {
    if (this.#closed) return;
    if (!(error instanceof StartFailure)) {
      this.context.onError(error);
      return this.#noConfig('CreateContainerError', error);
    }
    if (error.reason.startsWith('CreateContainer')) return this.#noConfig(error.reason, error);
    this.#tell('Warning', 'Failed', `Error: ${error.message}`);
    // A failed start counts as a run that ended at once.
    const ended = this.ended;
    const nowMs = this.context.now();
    if (ended) {
      this.#restarts.grow();
      this.#set({ restartCount: this.#status.restartCount! + 1, lastState: { terminated: ended } });
    }
    const at = formatTime(nowMs);
    this.#notBeforeMs = nowMs + this.#restarts.waitMs;
    this.#showEnded({
      exitCode: error.exitCode,
      reason: error.reason,
      message: error.message,
      startedAt: at,
      finishedAt: at,
    });
  }

  /** Shows why the container waits. */
  #showWait(waitMs: number): void {
    const { waiting } = this.#status.state ?? {};
    const { image } = this.container;
    if (waiting && isPullProblem(waiting.reason)) {
      const shownMs = this.#pullShownUntilMs - this.context.now();
      if (shownMs > 0) return this.context.wakeIn(shownMs);
      this.#tell('Normal', 'BackOff', `Back-off pulling image "${image}"`);
      this.#tell('Warning', 'Failed', 'Error: ImagePullBackOff');
      this.#wait(
        'ImagePullBackOff',
        `Back-off pulling image "${image}": ${waiting.reason}: ${waiting.message}`,
        this.ended,
      );
    } else if (!waiting || waiting.reason === 'ContainerCreating') {
      const { name, namespace, uid } = this.context.pod().metadata;
      const where = `${name}_${namespace}(${uid})`;
      this.#tell('Warning', 'BackOff', `Back-off restarting failed container ${this.name} in pod ${where}`);
      const duration = goDuration(this.#restarts.waitMs);
      this.#wait(
        'CrashLoopBackOff',
        `back-off ${duration} restarting failed container=${this.name} pod=${where}`,
        this.ended,
      );
    }
    this.context.wakeIn(waitMs);
  }

  #wait(reason: string, message: string | undefined, ended: ContainerStateTerminated | undefined): void {
    this.#set({
      state: { waiting: { reason, ...(message ? { message } : {}) } },
      ...(ended ? { lastState: { terminated: ended } } : {}),
      ready: false,
      started: false,
    });
  }

  #set(change: Partial<ContainerStatus>): void {
    this.#status = { ...this.#status, ...change };
  }

  #target(running: RunningContainer): ProbeTarget {
    const { runtime, pod, place } = this.context;
    return {
      container: this.container,
      running,
      podIP: place().ip,
      reach: (port) => runtime.reach(pod().metadata.uid!, port),
    };
  }

  #id({ id }: RunningContainer): string {
    return `${this.context.runtime.name}://${id}`;
  }

  #tell(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const list = { init: 'initContainers', main: 'containers', ephemeral: 'ephemeralContainers' }[this.role];
    this.context.tell(type, reason, message, `spec.${list}{${this.name}}`);
  }

  #changed(): void {
    if (!this.#closed) this.context.changed();
  }
}
