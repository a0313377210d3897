/** One run of a container in Docker or Podman, started by this agent or an earlier one. */
import type { Session, SessionResult } from '../../../streams/session.ts';
import { terminationMessage } from '../../pods/terminationmessage.ts';
import type { AdoptedContainer, ContainerExit, ContainerUsage, ExecOptions } from '../runtime.ts';
import { type DockerApi, DockerError, isDone, isUnreachable } from './dockerapi.ts';
import type { DockerEvents } from './dockerevents.ts';
import { DockerLog } from './dockerlog.ts';
import { dockerAttach, dockerExec } from './dockersession.ts';
import type { ContainerStats, InspectedContainer } from './dockertypes.ts';

const execsMax = 512;

/** What is known of a run, from the pod or from labels. */
export interface RunFacts {
  readonly uid: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  readonly shownImageId: string;
  readonly tty: boolean;
  readonly stdinOnce: boolean;
  readonly messagePolicy: string;
  readonly terminationFile: string;
}

export interface RunContext {
  readonly api: DockerApi;
  readonly events: DockerEvents;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export class DockerContainer implements AdoptedContainer {
  readonly id: string;
  readonly startedAt: Date;
  readonly exited: Promise<ContainerExit>;
  readonly log: DockerLog;
  readonly #stopSignal: string;
  #end: (exit: ContainerExit) => void = () => undefined;
  #looking = false;
  #again = false;
  #over = false;
  #execs = 0;

  constructor(
    private readonly context: RunContext,
    readonly facts: RunFacts,
    inspected: InspectedContainer,
  ) {
    this.id = inspected.Id;
    this.startedAt = new Date(timeOf(inspected.State.StartedAt) ?? context.now());
    this.#stopSignal = inspected.Config?.StopSignal || 'SIGTERM';
    this.log = new DockerLog(context.api, this.id, facts.tty);
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
    context.events.watch(this.id, () => this.look());
    if (!isRunning(inspected)) void this.#finish(inspected);
  }

  get attempt(): number {
    return this.facts.attempt;
  }

  get image(): string {
    return this.facts.image;
  }

  get shownImageId(): string {
    return this.facts.shownImageId;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Finds out whether it has ended. */
  look(): void {
    if (this.#over) return;
    this.#again = this.#looking;
    if (this.#looking) return;
    this.#looking = true;
    this.#inspect()
      .catch(this.context.onError)
      .finally(() => {
        this.#looking = false;
        if (this.#again) this.look();
      });
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#over) return;
    // An image may name another signal that asks its program to stop.
    const sent = signal === 'SIGTERM' ? this.#stopSignal : signal;
    this.context.api
      .json('POST', `/containers/${this.id}/kill`, { query: { signal: sent } })
      .catch((error: unknown) => {
        // 409: it is not running any more.
        if (isDone(error) || (error instanceof DockerError && error.status === 409)) this.look();
        else this.context.onError(error as Error);
      });
  }

  async exec(
    command: readonly string[],
    session: Session,
    options: ExecOptions = {},
  ): Promise<SessionResult> {
    if (this.#over) return { kind: 'failure', message: 'the container is not running' };
    if (this.#execs >= execsMax)
      return { kind: 'failure', message: `more than ${execsMax} commands are running` };
    this.#execs++;
    try {
      return await dockerExec(this.context.api, this.id, command, session, options);
    } catch (error) {
      return { kind: 'failure', message: (error as Error).message };
    } finally {
      this.#execs--;
    }
  }

  async attach(session: Session): Promise<SessionResult> {
    if (this.#over) return { kind: 'success' };
    try {
      return await dockerAttach(this.context.api, this.id, session, this.facts);
    } catch (error) {
      return { kind: 'failure', message: (error as Error).message };
    }
  }

  /** Undefined when it has ended meanwhile. */
  async usage(): Promise<ContainerUsage | undefined> {
    const stats = await this.context.api
      .json<ContainerStats>('GET', `/containers/${this.id}/stats`, {
        query: { stream: false, 'one-shot': true },
      })
      .catch(() => undefined);
    const { usage, stats: of = {} } = stats?.memory_stats ?? {};
    if (usage === undefined || this.#over) return undefined;
    return {
      uid: this.facts.uid,
      container: this.facts.name,
      startedAt: this.startedAt,
      cpuNanoseconds: stats?.cpu_stats?.cpu_usage?.total_usage ?? 0,
      rssBytes: Math.max(0, usage - (of['total_inactive_file'] ?? of['inactive_file'] ?? 0)),
      pageFaults: of['total_pgfault'] ?? of['pgfault'] ?? 0,
      majorPageFaults: of['total_pgmajfault'] ?? of['pgmajfault'] ?? 0,
      logBytes: 0,
    };
  }

  async #inspect(): Promise<void> {
    try {
      const found = await this.context.api.json<InspectedContainer>('GET', `/containers/${this.id}/json`);
      if (!isRunning(found)) await this.#finish(found);
    } catch (error) {
      // Nothing is concluded from an engine that does not answer.
      if (isUnreachable(error)) return;
      if (!isDone(error)) throw error;
      this.#close({
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
        finishedAt: new Date(this.context.now()),
      });
    }
  }

  async #finish({ State }: InspectedContainer): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    const { ExitCode = 0, OOMKilled, Error: problem } = State;
    const { terminationFile, messagePolicy } = this.facts;
    const finishedMs = timeOf(State.FinishedAt) ?? this.context.now();
    const container = { terminationMessagePolicy: messagePolicy };
    const message =
      (await terminationMessage(container, terminationFile, this.log, ExitCode !== 0).catch(
        (error: Error) => void this.context.onError(error),
      )) || problem;
    this.#close({
      exitCode: ExitCode,
      reason: OOMKilled ? 'OOMKilled' : ExitCode ? 'Error' : 'Completed',
      ...(message ? { message } : {}),
      // The engine may note an end before the start of a very short run.
      finishedAt: new Date(Math.max(finishedMs, this.startedAt.getTime())),
    });
  }

  #close(exit: ContainerExit): void {
    this.#over = true;
    this.context.events.forget(this.id);
    this.#end(exit);
  }
}

export const isRunning = ({ State: { Running, Status } }: InspectedContainer): boolean =>
  Running === true || Status === 'running' || Status === 'paused';

/** Undefined for the time that the engine shows when there is none: the year 1. */
function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
