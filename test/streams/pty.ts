/** kubectl, or the command itself, in a terminal, as a user would run it. */
import { type IPty, spawn } from '@lydell/node-pty';
import { onTestFinished } from 'vitest';

/** Time limit for expected output. */
const patienceMs = 60_000;

/** What runs in the terminal: kubectl, or another program in its place. */
interface Running {
  readonly kubectl: { readonly program: string; readonly environment: object };
}

export class Terminal {
  /** All output so far. */
  screen = '';
  readonly exited: Promise<number>;
  readonly #pty: IPty;
  #from = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(
    cluster: Running,
    args: readonly string[],
    size: { cols: number; rows: number; cwd?: string; uid?: number; gid?: number } = { cols: 100, rows: 30 },
  ) {
    const env = cluster.kubectl.environment as Record<string, string>;
    this.#pty = spawn(cluster.kubectl.program, [...args], { ...size, env: { ...env, TERM: 'xterm' } });
    this.#pty.onData((text) => {
      this.screen += text;
      this.#wake?.();
    });
    this.exited = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode }) => {
        this.#ended = true;
        this.#wake?.();
        resolve(exitCode);
      });
    });
    onTestFinished(() => this.kill());
  }

  type(keys: string): void {
    this.#pty.write(keys);
  }

  resize(cols: number, rows: number): void {
    this.#pty.resize(cols, rows);
  }

  /** Closes the terminal without ending the session. */
  kill(): void {
    if (!this.#ended) this.#pty.kill('SIGKILL');
  }

  /** Reads until the output matches; the next call continues after the match. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const match = pattern.exec(this.screen.slice(this.#from));
      if (match) {
        this.#from += match.index + match[0].length;
        return match;
      }
      const left = deadline - Date.now();
      if (this.#ended || left <= 0)
        throw new Error(`${pattern} was not shown, but: ${JSON.stringify(this.screen.slice(this.#from))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}

export const ctrlC = '\x03';
export const ctrlD = '\x04';
