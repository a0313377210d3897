/**
 * A runtime for tests: containers do what their command says, or what the test says.
 *
 *   ['run']          runs until SIGTERM (exit 143)
 *   ['stubborn']     runs until SIGKILL (exit 137)
 *   ['exit', '3']    exits at once with this code
 *
 * Exec commands: ['say', 'text'] succeeds, ['fail', 'text'] exits with 1, ['hang'] runs until its client disconnects.
 * The image `missing` does not exist, `broken` does not start.
 */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Container, Pod } from '../../api/generated/types.ts';
import type { Session, SessionResult } from '../../streams/session/session.ts';
import {
  type ContainerExit,
  type ContainerLaunch,
  type ContainerLog,
  type ContainerUsage,
  type ImageCommand,
  ImageError,
  type ImageRequest,
  type PodPlace,
  type RunningContainer,
  type Runtime,
  StartFailure,
} from './runtime.ts';

const signals: Partial<Record<string, number>> = { SIGTERM: 15, SIGKILL: 9, SIGUSR1: 10 };

export class ScriptedContainer implements RunningContainer {
  readonly id: string;
  readonly startedAt = new Date();
  readonly exited: Promise<ContainerExit>;
  readonly signals: string[] = [];
  readonly execs: string[][] = [];
  ended = false;
  /** Exit codes for further commands. */
  answers = new Map<string, number>();
  #resolve: (exit: ContainerExit) => void = () => undefined;

  constructor(readonly launch: ContainerLaunch) {
    this.id = `${launch.pod.metadata.name}-${launch.container.name}-${launch.attempt}`;
    this.exited = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const [first, code] = launch.container.command ?? [];
    if (first === 'exit') this.exit(Number(code));
  }

  exit(exitCode: number, signal?: number): void {
    this.ended = true;
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    this.#resolve({ exitCode, ...(signal ? { signal } : {}), reason, finishedAt: new Date() });
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
    const stubborn = this.launch.container.command?.[0] === 'stubborn';
    if (!this.ended && !(stubborn && signal !== 'SIGKILL'))
      this.exit(128 + signals[signal]!, signals[signal]);
  }

  async exec(command: readonly string[], session: Session): Promise<SessionResult> {
    this.execs.push([...command]);
    const [verb = '', text = ''] = command;
    if (verb === 'hang') {
      await new Promise<void>((resolve) => session.gone.addEventListener('abort', () => resolve()));
      return { kind: 'exit', code: 137 };
    }
    session.stdout?.write(text);
    const code = this.answers.get(verb) ?? (verb === 'fail' ? 1 : 0);
    return code ? { kind: 'exit', code } : { kind: 'success' };
  }

  async attach(session: Session): Promise<SessionResult> {
    session.stdout?.write('attached');
    await this.exited;
    return { kind: 'success' };
  }
}

export class ScriptedRuntime implements Runtime {
  readonly name: string = 'scripted';
  readonly version: string = '1.0.0';
  readonly launched: ScriptedContainer[] = [];
  readonly places = new Set<string>();
  readonly removed: string[] = [];
  recovered: ReadonlySet<string> | undefined;
  closed = false;
  onStart: ((container: ScriptedContainer) => void) | undefined;

  constructor(readonly simulated = false) {}

  async resolveImage({ container }: ImageRequest): Promise<ImageCommand> {
    if (container.image === 'missing' && !container.command?.length)
      throw new ImageError('there is no such image');
    return { entrypoint: ['run'], args: [] };
  }

  async preparePod(pod: Pod): Promise<PodPlace> {
    this.places.add(pod.metadata.uid!);
    return { folder: this.folder, ip: '10.1.2.3' };
  }

  folder = '';

  async start(launch: ContainerLaunch): Promise<RunningContainer> {
    if (launch.container.image === 'broken')
      throw new StartFailure('ContainerCannotRun', 'it is broken', 127);
    const container = new ScriptedContainer(launch);
    this.launched.push(container);
    this.onStart?.(container);
    return container;
  }

  /** What containers were resized to, as `name: {…}`; with `resizeFailure` set, resizing throws that. */
  readonly resized: string[] = [];
  resizeFailure: Error | undefined;

  async resize(_uid: string, { name, resources }: Container): Promise<void> {
    if (this.resizeFailure) throw this.resizeFailure;
    this.resized.push(`${name}: ${JSON.stringify(resources)}`);
  }

  /** The newest run of a container. */
  run(name: string): ScriptedContainer {
    return this.launched.findLast(({ launch }) => launch.container.name === name)!;
  }

  dial(_uid: string, port: number): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.once('error', reject).once('connect', () => resolve(socket));
    });
  }

  reach(uid: string, port: number): Promise<Duplex> {
    return this.dial(uid, port);
  }

  log(_uid: string, container: string, attempt: number): ContainerLog {
    return {
      async *read({ follow }, gone) {
        yield Buffer.from(`log of ${container} ${attempt}\n`);
        if (follow) await new Promise<void>((resolve) => gone.addEventListener('abort', () => resolve()));
      },
    };
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    return this.launched
      .filter(({ ended }) => !ended)
      .map(({ launch, startedAt }) => ({
        uid: launch.pod.metadata.uid!,
        container: launch.container.name!,
        startedAt,
        cpuNanoseconds: 5_000_000,
        rssBytes: 1_048_576,
        pageFaults: 3,
        majorPageFaults: 1,
        logBytes: 10,
      }));
  }

  async removePod(uid: string): Promise<void> {
    this.removed.push(uid);
  }

  async recover(bound: ReadonlySet<string>): Promise<void> {
    this.recovered = bound;
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const container of this.launched) if (!container.ended) container.exit(137, 9);
  }
}
