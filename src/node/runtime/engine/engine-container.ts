/** One run of a container in an engine, started by this agent or an earlier one, and how its end is noticed. */
import type { Session, SessionResult } from '../../../streams/session/session.ts';
import { terminationMessage } from '../../logs/termination-message.ts';
import type {
  AdoptedContainer,
  ContainerExit,
  ContainerLog,
  ContainerUsage,
  ExecOptions,
} from '../runtime.ts';
import type { EngineContext } from './container-engine.ts';

const execsMax = 512;

/** Facts about a run, from the pod or from labels. */
export interface RunFacts {
  readonly uid: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  readonly shownImageId: string;
  readonly messagePolicy: string;
  readonly terminationFile: string;
}

/** The state of a run, from the engine. */
export interface RunState {
  readonly running: boolean;
  readonly startedMs: number | undefined;
  readonly finishedMs: number | undefined;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  /** Why it has failed, in the engine's words. */
  readonly problem: string | undefined;
}

export abstract class EngineContainer<E extends EngineContext = EngineContext> implements AdoptedContainer {
  readonly startedAt: Date;
  readonly exited: Promise<ContainerExit>;
  abstract readonly log: ContainerLog;
  #end: (exit: ContainerExit) => void = () => undefined;
  #looking = false;
  #again = false;
  #over = false;
  #execs = 0;

  constructor(
    protected readonly engine: E,
    readonly id: string,
    readonly facts: RunFacts,
    { startedMs }: RunState,
  ) {
    this.startedAt = new Date(startedMs ?? engine.now());
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
    engine.events.watch(id, () => this.look());
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

  abstract kill(signal: NodeJS.Signals): void;
  /** Its usage; undefined when it has ended meanwhile. */
  abstract usage(): Promise<ContainerUsage | undefined>;
  /** Its state; undefined when the engine no longer knows the container. */
  protected abstract inspect(): Promise<RunState | undefined>;
  protected abstract run(
    command: readonly string[],
    session: Session,
    options: ExecOptions,
  ): Promise<SessionResult>;
  protected abstract join(session: Session): Promise<SessionResult>;
  /** Called when it has ended, before its log is read for the last time. */
  protected async ended(): Promise<void> {
    // Most engines have nothing to do.
  }

  /** Checks whether it has ended. */
  look(): void {
    if (this.#over) return;
    this.#again = this.#looking;
    if (this.#looking) return;
    this.#looking = true;
    this.#look()
      .catch(this.engine.onError)
      .finally(() => {
        this.#looking = false;
        if (this.#again) this.look();
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
      return await this.run(command, session, options);
    } catch (error) {
      return { kind: 'failure', message: (error as Error).message };
    } finally {
      this.#execs--;
    }
  }

  async attach(session: Session): Promise<SessionResult> {
    if (this.#over) return { kind: 'success' };
    try {
      return await this.join(session);
    } catch (error) {
      return { kind: 'failure', message: (error as Error).message };
    }
  }

  /** Applies the engine's answer; the run is over when it is not running. */
  async take({ running, exitCode, outOfMemory, problem, finishedMs }: RunState): Promise<void> {
    if (this.#over || running) return;
    this.#over = true;
    const { onError, now } = this.engine;
    const { terminationFile, messagePolicy } = this.facts;
    await this.ended().catch(onError);
    const container = { terminationMessagePolicy: messagePolicy };
    const message =
      (await terminationMessage(container, terminationFile, this.log, exitCode !== 0).catch(
        (error: Error) => void onError(error),
      )) || problem;
    this.#close({
      exitCode,
      reason: outOfMemory ? 'OOMKilled' : exitCode ? 'Error' : 'Completed',
      ...(message ? { message } : {}),
      // Engines may record an end before the start of a very short run.
      finishedAt: new Date(Math.max(finishedMs ?? now(), this.startedAt.getTime())),
    });
  }

  async #look(): Promise<void> {
    let state: RunState | undefined;
    try {
      state = await this.inspect();
    } catch (error) {
      // If the engine does not answer, nothing is known.
      if (this.engine.calls.isUnreachable(error)) return;
      throw error;
    }
    if (state) return this.take(state);
    this.#close({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      finishedAt: new Date(this.engine.now()),
    });
  }

  #close(exit: ContainerExit): void {
    this.#over = true;
    this.engine.events.forget(this.id);
    this.#end(exit);
  }
}
