/** A program in a container, started with pipes or a terminal: its main process, or an exec command. */
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { platform } from '../../../platform.ts';
import type { TerminalSize } from '../../../streams/session/session.ts';
import { knockAfterEnd, type PipeEnds, type PipeStock, pipeStream } from '../../process/pipe-stock.ts';
import type { Asker, Spawner } from '../../process/spawner.ts';
import { type ProgramExit, type StartedProgram, startedProgram } from '../../process/started-program.ts';
import { openTerminal, sizeDefault } from '../../process/terminal.ts';

export interface ProgramOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly tty: boolean;
  /** Without a terminal: whether it has a stdin. */
  readonly stdin: boolean;
  /** Initial size of its terminal. */
  readonly size?: TerminalSize;
  /** Called with the pid as soon as there is one. */
  readonly spawned: (pid: number) => void;
  readonly asker?: Asker;
}

export interface Program {
  /** Also the id of its session and process group. */
  readonly pid: number;
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  /** Undefined with a terminal, which has one output. */
  readonly stderr: Readable | undefined;
  readonly exited: Promise<ProgramExit>;
  resize(size: TerminalSize): void;
  /** Closes the agent's end of its pipes, or hangs up its terminal. */
  hangUp(): void;
}

/** Throws when it cannot be started. */
export async function startProgram(
  spawner: Spawner,
  pipes: PipeStock,
  options: ProgramOptions,
): Promise<Program> {
  if (options.tty) return withTerminal(spawner, options);
  return platform.isWindows ? withOwnPipes(spawner, options) : withPipes(spawner, pipes, options);
}

async function withTerminal(spawner: Spawner, { command, ...options }: ProgramOptions): Promise<Program> {
  const terminal = await openTerminal(spawner, command, { ...options, size: options.size ?? sizeDefault });
  return {
    pid: terminal.pid,
    stdin: terminal.input,
    stdout: terminal.output,
    stderr: undefined,
    exited: terminal.exited,
    resize: (size) => terminal.resize(size),
    hangUp: () => terminal.hangUp(),
  };
}

async function withPipes(spawner: Spawner, pipes: PipeStock, options: ProgramOptions): Promise<Program> {
  const opened: PipeEnds[] = [];
  const take = async (): Promise<PipeEnds> => {
    const ends = await pipes.take();
    opened.push(ends);
    return ends;
  };
  let program: StartedProgram;
  let input: PipeEnds | undefined;
  let output: PipeEnds;
  let errors: PipeEnds;
  try {
    input = options.stdin ? await take() : undefined;
    output = await take();
    errors = await take();
    const { command, env, cwd, asker } = options;
    const files = [input?.readEnd, output.writeEnd, errors.writeEnd] as const;
    program = await spawner.start(command, { env, cwd, files, detached: true }, asker);
  } catch (error) {
    for (const { readEnd, writeEnd } of opened) [readEnd, writeEnd].forEach(closeSync);
    throw error;
  }
  const { pid, exited } = program;
  options.spawned(pid);
  for (const end of [input?.readEnd, output.writeEnd, errors.writeEnd]) if (end !== undefined) closeSync(end);
  const stdin = input && pipeStream(input.writeEnd, 'write');
  const stdout = pipeStream(output.readEnd, 'read');
  const stderr = pipeStream(errors.readEnd, 'read');
  const hangUp = (): void => {
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  };
  if (stdin) knockAfterEnd(stdin, input!.writeEnd, exited);
  // Otherwise writes to an ended program would wait for ever.
  void exited.then(() => stdin?.destroy()).catch(() => undefined);
  return { pid, stdin, stdout, stderr, exited, resize: () => undefined, hangUp };
}

/** With pipes that Node makes: Windows has no named pipes in folders, and no programs that open their input by name. */
async function withOwnPipes(spawner: Spawner, options: ProgramOptions): Promise<Program> {
  const { command, env, cwd, asker = 'pod' } = options;
  const stdio = [options.stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'] as const;
  const child = await spawner.inTurn(asker, () =>
    spawner.spawn(command, { env, cwd, stdio, detached: true }),
  );
  const { pid, exited } = await startedProgram(child);
  options.spawned(pid);
  const { stdin, stdout, stderr } = child;
  for (const stream of [stdin, stdout, stderr]) stream?.on('error', () => undefined);
  const hangUp = (): void => {
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  };
  return {
    pid,
    stdin: stdin ?? undefined,
    stdout: stdout!,
    stderr: stderr!,
    exited,
    resize: () => undefined,
    hangUp,
  };
}

/** The exit code as a shell would show it. */
export function exitCode({ code, signal }: ProgramExit): number {
  return signal ? 128 + signalNumber(signal)! : (code ?? 128);
}

/** Kubernetes also accepts `SIGRTMIN+3` and the like, which Node does not know. */
export function signalNumber(name: string): number | undefined {
  const realtime = /^SIGRT(MIN|MAX)(?:([+-])(\d{1,2}))?$/.exec(name);
  if (realtime) {
    const offset = Number(realtime[3] ?? 0) * (realtime[2] === '-' ? -1 : 1);
    return (realtime[1] === 'MIN' ? 34 : 64) + offset;
  }
  return (constants.signals as Record<string, number>)[name];
}
