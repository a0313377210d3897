/**
 * A running container: its main process in its own session, its exec commands, and their streams.
 *
 *   running ──main process ends──▶ sweep (kill remaining processes) ──▶ drain (output into the log) ──▶ ended
 */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Container } from '../../../api/generated/types.ts';
import type { Session, SessionResult, TerminalSize } from '../../../streams/session/session.ts';
import { TurnQueue } from '../../../turn-queue.ts';
import type { LogStream } from '../../logs/cri-log.ts';
import type { LogWriter } from '../../logs/log-file.ts';
import { FileLog } from '../../logs/log-reader.ts';
import { terminationMessage } from '../../logs/termination-message.ts';
import type { Cgroup } from '../../machine/cgroup.ts';
import { removeFolder } from '../../machine/folder-care.ts';
import { findProcesses, type Mark } from '../../process/process-table.ts';
import type { Reaper } from '../../process/reaper.ts';
import { signalProcess, signalSession } from '../../process/signals.ts';
import type { Asker } from '../../process/spawner.ts';
import type { ProgramExit } from '../../process/started-program.ts';
import { ended } from '../../process/stream-ends.ts';
import type { ContainerExit, ExecOptions, RunningContainer } from '../runtime.ts';
import { Attachments } from './attachments.ts';
import { exitCode, type Program, type ProgramOptions, signalNumber } from './container-program.ts';
import type { ContainerRoot } from './container-root.ts';
import type { ProcessUser } from './container-user.ts';
import type { SplitEnvironment } from './container-variables.ts';
import { SessionSize, serveSession, tellProblem } from './execution.ts';
import { programProblem } from './program-lookup.ts';

/** Maximum number of passes over remaining processes: one may have forked since the last pass. */
const sweepsMax = 50;
const sweepWaitMs = 10;
/**
 * How long to wait for the end of output after the last process has ended: a process outside of the container
 * may hold the pipe.
 */
const drainMs = 15_000;
/** Maximum number of commands kept running after their client has gone; beyond it the oldest is killed. */
const abandonedMax = 16;
const execsMax = 512;
/** How long sessions without processes are remembered: looking for them asks the system about each. */
const forgetMs = 500;
/** Clients who go all at once leave their commands, a few in a turn of the event loop. */
const hangUps = new TurnQueue(4);

/** The parts of a container whose main process has been started. */
export interface ContainerParts {
  readonly uid: string;
  readonly container: Container;
  readonly attempt: number;
  readonly program: Program;
  readonly root: ContainerRoot;
  /** The folders of its root and of /tmp, which end with it. */
  readonly ownFolders: readonly string[];
  readonly terminationFile: string;
  readonly user: ProcessUser;
  readonly env: Readonly<Record<string, string>>;
  readonly splitEnv: SplitEnvironment;
  readonly log: LogWriter;
  readonly cgroup: Cgroup | undefined;
  readonly mark: Mark;
  /** Wraps a command line so that it runs in the pod's network with the container's tag. */
  readonly wrap: (command: readonly string[]) => string[];
  readonly reaper: Reaper;
  readonly run: (options: ProgramOptions) => Promise<Program>;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export class ContainerProcess implements RunningContainer {
  readonly id = randomBytes(32).toString('hex');
  readonly startedAt: Date;
  readonly exited: Promise<ContainerExit>;
  readonly log: FileLog;
  /** Session ids of its processes, the main one first. */
  readonly sessions: Set<number>;
  readonly #attachments: Attachments;
  /** Session leaders of exec commands. */
  readonly #leaders = new Set<number>();
  #forgetting: NodeJS.Timeout | undefined;
  readonly #abandoned: Program[] = [];
  #execs = 0;
  #over = false;
  #outOfMemory = false;

  constructor(readonly parts: ContainerParts) {
    const { program, container, log } = parts;
    this.startedAt = new Date(parts.now());
    this.sessions = new Set([program.pid]);
    this.log = new FileLog(log);
    const stdin = container.stdin ? program.stdin : undefined;
    this.#attachments = new Attachments(
      { stdin, resize: (size) => program.resize(size) },
      container.stdinOnce === true,
      container.tty === true,
    );
    this.#take(program.stdout, 'stdout');
    if (program.stderr) this.#take(program.stderr, 'stderr');
    this.exited = this.#live();
  }

  get pid(): number {
    return this.parts.program.pid;
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#over) return;
    signalSession(this.pid, signalNumber(signal) ?? 'SIGTERM');
  }

  /** Kills it for exceeding its memory limit (OOMKilled). */
  endForMemory(): void {
    if (this.#over) return;
    this.#outOfMemory = true;
    this.kill('SIGKILL');
  }

  async exec(
    command: readonly string[],
    session: Session,
    options: ExecOptions = {},
  ): Promise<SessionResult> {
    const { root, env } = this.parts;
    if (this.#over) return { kind: 'failure', message: 'the container is not running' };
    if (this.#execs >= execsMax)
      return { kind: 'failure', message: `more than ${execsMax} commands are running` };
    this.#execs++;
    try {
      const problem = await programProblem(command[0] ?? '', root, env);
      if (problem) return tellProblem(problem, session);
      const size = new SessionSize(session);
      // Commands that are killed when their caller has gone are those of the agent itself: probes and hooks.
      const asker = options.killWhenGone ? 'agent' : 'client';
      const program = await this.#start(command, session, asker, size.current);
      size.tell(program);
      const result = await serveSession(program, session);
      size.tell(undefined);
      if (result !== 'gone') return result;
      await hangUps.next();
      this.#abandon(program, options.killWhenGone === true);
      return { kind: 'failure', message: 'the client has gone' };
    } catch (error) {
      return { kind: 'failure', message: (error as Error).message };
    } finally {
      this.#execs--;
    }
  }

  attach(session: Session): Promise<SessionResult> {
    return this.#attachments.join(session);
  }

  async #start(
    command: readonly string[],
    session: Session,
    asker: Asker,
    size?: TerminalSize,
  ): Promise<Program> {
    const { root, user, splitEnv, wrap, reaper, cgroup, run } = this.parts;
    const line = root.enter({ command, user, lateVariables: splitEnv.late });
    const program = await run({
      command: wrap(line.command),
      cwd: line.cwd,
      env: session.tty ? { TERM: 'xterm', ...splitEnv.early } : splitEnv.early,
      tty: session.tty,
      size,
      stdin: session.stdin !== undefined,
      asker,
      spawned: (pid) => {
        reaper.add(pid);
        this.sessions.add(pid);
        this.#leaders.add(pid);
        void cgroup?.join(pid);
        // Started after the sweep has killed the others: kill it, too.
        if (this.#over) signalSession(pid, 'SIGKILL');
      },
    });
    const forget = (): void => {
      this.#leaders.delete(program.pid);
      // Once for all that end about now.
      if (!this.#over) this.#forgetting ??= setTimeout(() => this.#forgetEmpty(), forgetMs).unref();
    };
    program.exited.then(forget, forget);
    return program;
  }

  /** Forgets sessions whose leader has ended and whose process group is empty. */
  #forgetEmpty(): void {
    this.#forgetting = undefined;
    for (const session of this.sessions) {
      if (session === this.pid || this.#leaders.has(session) || signalProcess(-session, 0)) continue;
      this.sessions.delete(session);
      this.parts.reaper.remove(session);
    }
  }

  #abandon(program: Program, kill: boolean): void {
    program.hangUp();
    if (kill) return signalSession(program.pid, 'SIGKILL');
    this.#abandoned.push(program);
    const forget = (): void => {
      const at = this.#abandoned.indexOf(program);
      if (at >= 0) this.#abandoned.splice(at, 1);
    };
    program.exited.then(forget, forget);
    if (this.#abandoned.length > abandonedMax) signalSession(this.#abandoned.shift()!.pid, 'SIGKILL');
  }

  /** Copies output to the log and to attached clients; the slowest of them sets the pace (back-pressure). */
  #take(source: Readable, stream: LogStream): void {
    source.on('data', (chunk: Buffer) => {
      const stored = this.parts.log.write(stream, chunk);
      const shown = this.#attachments.deliver(stream, chunk);
      if (!stored && !shown) return;
      source.pause();
      void Promise.all([stored, shown]).then(() => source.resume());
    });
  }

  async #live(): Promise<ContainerExit> {
    const { program, log, reaper, onError } = this.parts;
    const exit = await program.exited.catch((error: Error): ProgramExit => {
      onError(error);
      return { code: 128, signal: null };
    });
    const finishedAt = new Date(this.parts.now());
    this.#over = true;
    clearTimeout(this.#forgetting);
    await this.#sweep().catch(onError);
    await this.#drain();
    await log.end().catch(onError);
    this.#attachments.close();
    const result = await this.#result(exit, finishedAt);
    await this.#release();
    for (const session of this.sessions) reaper.remove(session);
    return result;
  }

  /** Kills all processes of the container, whatever session or group they have moved to. */
  async #sweep(): Promise<void> {
    const { cgroup, mark } = this.parts;
    for (let pass = 0; pass < sweepsMax; pass++) {
      for (const session of this.sessions) signalProcess(-session, 'SIGKILL');
      const found = new Set([...(await findProcesses(this.sessions, mark)), ...(cgroup?.processes() ?? [])]);
      if (!found.size) return;
      for (const pid of found) signalProcess(pid, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, sweepWaitMs));
    }
    throw new Error(`container ${this.parts.container.name}: some of its processes do not end`);
  }

  async #drain(): Promise<void> {
    const { program } = this.parts;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, drainMs);
    });
    await Promise.race([Promise.all([ended(program.stdout), ended(program.stderr)]), late]);
    clearTimeout(timer);
    program.hangUp();
  }

  async #result(exit: ProgramExit, finishedAt: Date): Promise<ContainerExit> {
    const { container, cgroup, terminationFile, onError } = this.parts;
    const code = exitCode(exit);
    const outOfMemory = this.#outOfMemory || (exit.signal === 'SIGKILL' && cgroup?.ranOutOfMemory === true);
    const message = await terminationMessage(container, terminationFile, this.log, code !== 0).catch(
      (error: Error) => void onError(error),
    );
    return {
      exitCode: code,
      ...(exit.signal ? { signal: signalNumber(exit.signal) } : {}),
      reason: outOfMemory ? 'OOMKilled' : code ? 'Error' : 'Completed',
      ...(message ? { message } : {}),
      finishedAt,
    };
  }

  async #release(): Promise<void> {
    const { root, ownFolders, terminationFile, cgroup, onError } = this.parts;
    await root.release().catch(onError);
    await cgroup?.remove().catch(onError);
    for (const path of [...ownFolders, terminationFile]) await removeFolder(path).catch(onError);
  }
}
