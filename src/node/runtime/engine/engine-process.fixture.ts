/** The process of a container engine that a test runs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { enginePath, programOf } from './engine.fixture.ts';

/** Between two questions whether it answers. */
const askMs = 50;

export class EngineProcess {
  #child: ChildProcess | undefined;

  constructor(
    private readonly program: string,
    private readonly args: readonly string[],
    /** Rejects while the engine does not answer. */
    private readonly ask: () => Promise<unknown>,
    private readonly options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
  ) {}

  /** Starts the engine, or starts it again; resolves when it answers. */
  async start(): Promise<void> {
    const child = spawn(programOf(this.program)!, this.args, {
      ...this.options,
      env: { ...process.env, PATH: enginePath, ...this.options.env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4_000);
    });
    const ended = new Promise<never>((_resolve, reject) => {
      child.once('exit', () => reject(new Error(`${this.program} has ended: ${said}`)));
    });
    ended.catch(() => undefined);
    await Promise.race([ended, this.#answering()]);
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  async #answering(): Promise<void> {
    for (;;) {
      const answered = await this.ask().then(
        () => true,
        () => false,
      );
      if (answered) return;
      await new Promise((resolve) => setTimeout(resolve, askMs));
    }
  }
}
