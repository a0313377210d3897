/** One run of a container in Docker or Podman. */
import type { Session, SessionResult } from '../../../streams/session/session.ts';
import { EngineContainer, type RunFacts, type RunState } from '../engine/engine-container.ts';
import type { ContainerUsage, ExecOptions } from '../runtime.ts';
import { DockerError, isDone } from './docker-api.ts';
import { DockerLog } from './docker-log.ts';
import type { DockerEngine } from './docker-pod.ts';
import { dockerAttach, dockerExec } from './docker-session.ts';
import type { ContainerStats, InspectedContainer } from './docker-types.ts';

export class DockerContainer extends EngineContainer<DockerEngine> {
  readonly log: DockerLog;
  readonly #stopSignal: string;
  readonly #session: { readonly tty: boolean; readonly stdinOnce: boolean };

  static of(engine: DockerEngine, facts: RunFacts, inspected: InspectedContainer): DockerContainer {
    const run = new DockerContainer(engine, facts, inspected);
    void run.take(stateOf(inspected));
    return run;
  }

  private constructor(engine: DockerEngine, facts: RunFacts, inspected: InspectedContainer) {
    super(engine, inspected.Id, facts, stateOf(inspected));
    const { StopSignal, Tty, StdinOnce } = inspected.Config ?? {};
    this.#stopSignal = StopSignal || 'SIGTERM';
    this.#session = { tty: Tty === true, stdinOnce: StdinOnce === true };
    this.log = new DockerLog(engine.api, this.id, this.#session.tty);
  }

  override kill(signal: NodeJS.Signals): void {
    if (this.over) return;
    // An image may name its own stop signal.
    const sent = signal === 'SIGTERM' ? this.#stopSignal : signal;
    this.engine.api
      .json('POST', `/containers/${this.id}/kill`, { query: { signal: sent } })
      .catch((error: unknown) => {
        if (isDone(error) || isOver(error)) this.look();
        else this.engine.onError(error as Error);
      });
  }

  override async usage(): Promise<ContainerUsage | undefined> {
    const stats = await this.engine.api
      .json<ContainerStats>('GET', `/containers/${this.id}/stats`, {
        query: { stream: false, 'one-shot': true },
      })
      .catch(() => undefined);
    const { usage, stats: of = {} } = stats?.memory_stats ?? {};
    if (usage === undefined || this.over) return undefined;
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

  protected override async inspect(): Promise<RunState | undefined> {
    try {
      return stateOf(await this.engine.api.json<InspectedContainer>('GET', `/containers/${this.id}/json`));
    } catch (error) {
      if (isDone(error)) return undefined;
      throw error;
    }
  }

  protected override run(
    command: readonly string[],
    session: Session,
    options: ExecOptions,
  ): Promise<SessionResult> {
    return dockerExec(this.engine.api, this.id, command, session, options);
  }

  protected override join(session: Session): Promise<SessionResult> {
    return dockerAttach(this.engine.api, this.id, session, this.#session);
  }
}

/** Whether a container could not be killed because it no longer runs: 409, or Podman's message. */
const isOver = (error: unknown): boolean =>
  error instanceof DockerError && (error.status === 409 || /only kill running/.test(error.message));

export const isRunning = ({ State: { Running, Status } }: InspectedContainer): boolean =>
  Running === true || Status === 'running' || Status === 'paused';

const stateOf = (inspected: InspectedContainer): RunState => {
  const { StartedAt, FinishedAt, ExitCode = 0, OOMKilled, Error: problem } = inspected.State;
  return {
    running: isRunning(inspected),
    startedMs: timeOf(StartedAt),
    finishedMs: timeOf(FinishedAt),
    exitCode: ExitCode,
    outOfMemory: OOMKilled === true,
    problem,
  };
};

/** A time of the engine; undefined for the year 1, which stands for an unset time. */
function timeOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
