/** One run of a container in an engine that speaks CRI. */
import type { Session, SessionResult } from '../../../streams/session/session.ts';
import { EngineContainer, type RunFacts, type RunState } from '../engine/engine-container.ts';
import type { ContainerUsage, ExecOptions } from '../runtime.ts';
import { isGone } from './cri-api.ts';
import { runningState } from './cri-calls.ts';
import type { ContainerState, ContainerStats } from './cri-messages.ts';
import type { CriEngine } from './cri-pod.ts';
import { execSync, serveAt, wishOf } from './cri-session.ts';
import { EngineLogFile } from './engine-log-file.ts';

/** Time after which the engine itself kills a container that was asked to stop. The agent kills it earlier. */
const stopSeconds = 86_400;

export class CriContainer extends EngineContainer<CriEngine> {
  readonly log: EngineLogFile;
  readonly #tty: boolean;
  /** Links the log into the log folder, again whenever it was rotated. */
  show: () => void = () => undefined;

  static of(
    engine: CriEngine,
    facts: RunFacts,
    id: string,
    status: ContainerState,
    tty: boolean,
  ): CriContainer {
    const run = new CriContainer(engine, facts, id, status, tty);
    void run.take(stateOf(status));
    return run;
  }

  private constructor(engine: CriEngine, facts: RunFacts, id: string, status: ContainerState, tty: boolean) {
    super(engine, id, facts, stateOf(status));
    this.#tty = tty;
    this.log = new EngineLogFile(status.logPath ?? '', () => engine.api.call('ReopenContainerLog', { id }));
  }

  override kill(signal: NodeJS.Signals): void {
    if (this.over) return;
    const timeout = signal === 'SIGKILL' ? 0 : stopSeconds;
    // This call returns when the container has ended.
    this.engine.api
      .call('StopContainer', { id: this.id, timeout }, { timeoutMs: 0 })
      .then(() => this.look())
      .catch((error: unknown) => {
        if (isGone(error)) this.look();
        else if (!this.over && !this.engine.calls.isUnreachable(error)) this.engine.onError(error as Error);
      });
  }

  override async usage(): Promise<ContainerUsage | undefined> {
    const { stats = [] } = await this.engine.api
      .call('ListContainerStats', { filter: { id: this.id } })
      .catch(() => ({ stats: [] }));
    return stats[0] && this.usageOf(stats[0]);
  }

  usageOf({ cpu, memory }: ContainerStats): ContainerUsage | undefined {
    if (!memory || this.over) return undefined;
    return {
      uid: this.facts.uid,
      container: this.facts.name,
      startedAt: this.startedAt,
      cpuNanoseconds: cpu?.nanoseconds?.value ?? 0,
      rssBytes: memory.workingSet?.value ?? 0,
      pageFaults: memory.pageFaults?.value ?? 0,
      majorPageFaults: memory.majorPageFaults?.value ?? 0,
      logBytes: this.log.bytes,
    };
  }

  protected override async inspect(): Promise<RunState | undefined> {
    try {
      const { status } = await this.engine.api.call('ContainerStatus', { id: this.id });
      return status && stateOf(status);
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  protected override async ended(): Promise<void> {
    this.log.end();
  }

  protected override async run(
    command: readonly string[],
    session: Session,
    { killWhenGone = false }: ExecOptions,
  ): Promise<SessionResult> {
    const { api } = this.engine;
    if (killWhenGone && !session.stdin && !session.tty) return execSync(api, this.id, command, session);
    const wish = wishOf(session);
    const { url = '' } = await api.call('Exec', { id: this.id, command, ...wish });
    return serveAt(url, session, wish);
  }

  protected override async join(session: Session): Promise<SessionResult> {
    const wish = { ...wishOf(session), tty: this.#tty };
    if (this.#tty) wish.stderr = false;
    const { url = '' } = await this.engine.api.call('Attach', { id: this.id, ...wish });
    return serveAt(url, session, wish);
  }
}

const stateOf = (status: ContainerState): RunState => {
  const { state = 0, startedAt, finishedAt, exitCode = 0, reason, message } = status;
  const time = (ms = 0): number | undefined => (ms > 0 ? ms : undefined);
  return {
    running: state === runningState,
    startedMs: time(startedAt),
    finishedMs: time(finishedAt),
    exitCode,
    outOfMemory: reason === 'OOMKilled',
    problem: message,
  };
};
