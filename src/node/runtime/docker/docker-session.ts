/** Sessions with a container: commands beside its main process (exec), and the main process itself (attach). */
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { copy, socketPace } from '../../../streams/bytes/byte-copy.ts';
import type { Session, SessionResult, TerminalSize } from '../../../streams/session/session.ts';
import { aborted, ignoreErrors } from '../../process/stream-ends.ts';
import type { ExecOptions } from '../runtime.ts';
import { type DockerApi, type Hijacked, isDone } from './docker-api.ts';
import { copyRaw, unframe } from './docker-frames.ts';

/** The exit code may be missing for a moment after the output has ended. */
const exitTries = 100;
const exitWaitMs = 20;
/** After its input has ended, an attached client stays this long for the rest of the output. */
const lastWordsMs = 1_000;

const gone: SessionResult = { kind: 'failure', message: 'the client has gone' };

/** Runs a command in a container until it ends, or its client leaves. */
export async function dockerExec(
  api: DockerApi,
  id: string,
  command: readonly string[],
  session: Session,
  { killWhenGone = false }: ExecOptions,
): Promise<SessionResult> {
  const { tty } = session;
  const made = await api.json<{ Id: string }>('POST', `/containers/${id}/exec`, {
    body: {
      Cmd: command,
      AttachStdin: session.stdin !== undefined,
      AttachStdout: true,
      AttachStderr: !tty,
      Tty: tty,
      ...(tty ? { Env: ['TERM=xterm'] } : {}),
    },
  });
  const path = `/exec/${made.Id}`;
  const stream = await api.hijack(`${path}/start`, { body: { Detach: false, Tty: tty } });
  const finished = await serve(api, stream, session, path, tty);
  if (finished) return resultOf(await exitCode(api, path));
  if (killWhenGone) await killExec(api, path, id);
  return gone;
}

/** Joins the main process until its output ends, or the client leaves. */
export async function dockerAttach(
  api: DockerApi,
  id: string,
  session: Session,
  container: { readonly tty: boolean; readonly stdinOnce: boolean },
): Promise<SessionResult> {
  const stream = await api.hijack(`/containers/${id}/attach`, {
    query: { stream: true, stdin: session.stdin !== undefined, stdout: true, stderr: !container.tty },
  });
  const over = container.stdinOnce ? undefined : session.stdin;
  const leave = inputEnd(over);
  await Promise.race([serve(api, stream, session, `/containers/${id}`, container.tty), leave.promise]);
  leave.forget();
  stream.socket.destroy();
  return { kind: 'success' };
}

/** Returns whether the output has ended; otherwise the client has gone. */
async function serve(
  api: DockerApi,
  { socket, head }: Hijacked,
  session: Session,
  path: string,
  tty: boolean,
): Promise<boolean> {
  ignoreErrors(session.stdin, session.stdout, session.stderr);
  if (tty) session.onResize((size) => void resize(api, path, size));
  const { stdin } = session;
  const stop = stdin && copy(stdin, socket, socketPace);
  // Close only the sending half: output continues.
  stdin?.once('end', () => socket.end());
  if (head.length) socket.unshift(head);
  const output = tty ? copyRaw(socket, session.stdout) : unframe(socket, session.stdout, session.stderr);
  const left = aborted(session.gone);
  try {
    return await Promise.race([output.then(() => true), left.promise.then(() => false)]);
  } finally {
    left.forget();
    stop?.();
    socket.destroy();
  }
}

/** Resizes the terminal; ignores errors, because it may not exist yet, or no longer. */
const resize = (api: DockerApi, path: string, { width, height }: TerminalSize): Promise<unknown> =>
  api.json('POST', `${path}/resize`, { query: { w: width, h: height } }).catch(() => undefined);

function inputEnd(stdin: Readable | undefined): { readonly promise: Promise<void>; forget(): void } {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<void>((resolve) => {
    stdin?.once('end', () => {
      timer = setTimeout(resolve, lastWordsMs);
    });
  });
  return { promise, forget: () => clearTimeout(timer) };
}

interface ExecState {
  readonly Running?: boolean;
  readonly ExitCode?: number | null;
  readonly Pid?: number;
}

async function exitCode(api: DockerApi, path: string): Promise<number> {
  for (let tried = 0; tried < exitTries; tried++) {
    const { Running, ExitCode } = await api.json<ExecState>('GET', `${path}/json`);
    if (!Running && typeof ExitCode === 'number') return ExitCode;
    await new Promise((resolve) => setTimeout(resolve, exitWaitMs));
  }
  throw new Error('the container engine does not say how the command has ended');
}

const resultOf = (code: number): SessionResult => (code ? { kind: 'exit', code } : { kind: 'success' });

/**
 * Kills a command; the engine has no call for it. The process is killed only if it is on this machine and belongs to
 * the container.
 */
async function killExec(api: DockerApi, path: string, container: string): Promise<void> {
  try {
    const { Running, Pid } = await api.json<ExecState>('GET', `${path}/json`);
    if (!Running || !Pid || !(await isOfContainer(Pid, container))) return;
    process.kill(Pid, 'SIGKILL');
  } catch (error) {
    if (!isDone(error) && (error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Whether a process of this machine is in the control group of a container. */
export async function isOfContainer(pid: number, container: string): Promise<boolean> {
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  return groups.includes(container);
}
