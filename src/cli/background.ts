/**
 * A cluster in the background: `wherry up -d` starts the same command again, in a process of its own, whose output goes
 * to a log file. The two are connected until the cluster is ready or has failed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, copyFileSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartError } from '../cluster/index.ts';
import { folderFailure } from '../cluster/named/cluster-record.ts';
import { ticked } from './terminal.ts';

/** The variable that names the log file to the background process. */
const logVariable = 'WHERRY_BACKGROUND_LOG';
/** When the log is longer, it is moved to a second file, which it replaces. */
const logBytesMax = 10 * 1024 * 1024;
const logLookMs = 10_000;
/** How much of the log is shown when a start fails. */
const tailLines = 10;
const tailBytesMax = 64 * 1024;

const script = (): string => fileURLToPath(new URL('cli.cjs', import.meta.url));

/** Says how people find a cluster again that no terminal shows. */
export const backgroundLine = (name: string): string =>
  `It runs in the background: wherry status, logs, stop or delete ${name}\n`;

/** What the process in the background says while it starts. */
type Message =
  | { readonly print: string /** A step that was reached. */; readonly isStep?: boolean }
  | { readonly warn: string }
  /** Why it ends; the log may not be writable. */
  | { readonly failed: string }
  | { readonly done: true };

/**
 * Starts the process; resolves when the cluster is ready, after printing what it prints. Throws a `StartError` when it
 * ends before that.
 */
export async function startInBackground(
  args: readonly string[],
  log: string,
  cwd: string,
  print: (text: string) => void,
  warn: (text: string) => void,
): Promise<void> {
  const file = openedLog(log);
  try {
    rotate(log, file);
    await started(args, { log, file, cwd }, print, warn);
  } finally {
    closeSync(file);
  }
}

function openedLog(log: string): number {
  try {
    mkdirSync(path.dirname(log), { recursive: true, mode: 0o700 });
    return openSync(log, 'a+', 0o600);
  } catch (error) {
    throw folderFailure(path.dirname(log), error);
  }
}

interface Place {
  readonly log: string;
  /** The open log file: a start that fails may remove it. */
  readonly file: number;
  readonly cwd: string;
}

async function started(
  args: readonly string[],
  { log, file, cwd }: Place,
  print: (text: string) => void,
  warn: (text: string) => void,
): Promise<void> {
  const begin = fstatSync(file).size;
  const child = spawn(process.execPath, [...process.execArgv, script(), ...args], {
    cwd,
    detached: true,
    windowsHide: true,
    stdio: ['ignore', file, file, 'ipc'],
    env: { ...process.env, [logVariable]: log },
  });
  let failure: string | undefined;
  const interruption = new Interruption(child, print);
  await new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new StartError(`it cannot be started: ${error.message}`)));
    child.once('exit', (code, signal) => {
      const how = signal === null ? `with code ${code}` : `by ${signal}`;
      const said = textFrom(file, begin);
      const why = said === '' && failure !== undefined ? failure : endOf(log, said, how);
      reject(new StartError(interruption.isThere ? 'it was stopped before it was ready' : why));
    });
    child.on('message', (message: Message) => {
      if ('print' in message) print(message.isStep ? ticked(message.print) : message.print);
      else if ('warn' in message) warn(message.warn);
      else if ('failed' in message) failure = message.failed;
      else resolve();
    });
  }).finally(() => interruption.end());
  child.removeAllListeners();
  if (child.connected) child.disconnect();
  child.unref();
}

/** Ctrl-C during the start: it means the cluster, which would go on unseen otherwise. A second one kills it. */
class Interruption {
  isThere = false;
  readonly #listener: () => void;

  constructor(child: ChildProcess, print: (text: string) => void) {
    this.#listener = () => {
      if (!this.isThere) print('Stopping, Ctrl-C again to leave at once\n');
      child.kill(this.isThere ? 'SIGKILL' : 'SIGTERM');
      this.isThere = true;
    };
    process.on('SIGINT', this.#listener);
  }

  end(): void {
    process.off('SIGINT', this.#listener);
  }
}

/** The end of an open file. */
function textFrom(file: number, begin: number): string {
  const { size } = fstatSync(file);
  const start = Math.max(begin, size - tailBytesMax);
  const bytes = Buffer.alloc(Math.max(0, size - start));
  return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, start));
}

/** The reason of a failed start: its last sentence, or the end of its log. */
function endOf(log: string, text: string, how: string): string {
  const said = text.split('\n').filter(Boolean).slice(-tailLines);
  const last = /^wherry: (.*)$/.exec(said.at(-1) ?? '')?.[1];
  if (last !== undefined) return last;
  return `it ended ${how} before it was ready${said.length ? `; ${log} ends with:\n${said.join('\n')}` : ''}`;
}

/** The side of the background process; undefined in any other process. */
export class Background {
  private constructor(readonly log: string) {
    // The other side may be killed: this one goes on.
    process.on('disconnect', () => undefined);
    setInterval(() => rotate(log, 1), logLookMs).unref();
  }

  static here(): Background | undefined {
    const { [logVariable]: log } = process.env;
    if (log === undefined || process.send === undefined) return undefined;
    // Programs in pods must not inherit it.
    delete process.env[logVariable];
    return new Background(log);
  }

  tell(message: Message): void {
    if (process.connected) process.send!(message, undefined, undefined, () => undefined);
  }

  /** Called when the start is over. */
  done(): void {
    this.tell({ done: true });
  }
}

/** Moves a long log away. Those who write to it have opened it for appending, so it can be emptied while they do. */
function rotate(log: string, file: number): void {
  if (fstatSync(file).size <= logBytesMax) return;
  copyFileSync(log, `${log}.1`);
  ftruncateSync(file);
}
