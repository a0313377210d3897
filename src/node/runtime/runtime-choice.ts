/**
 * The runtimes of a node, and which of them runs a pod:
 *
 * 1. the one that `runtimeClassName` names: a RuntimeClass whose handler is `process`, `docker`, `cri` or `simulated`
 * 2. the one that has run the pod before, under an earlier agent
 * 3. the one that `--runtime` names
 * 4. with `auto`: processes, if every image is mapped to a command, is called `host`, or is not a valid image name;
 * else containers, if a container engine answers; else processes
 *
 * Every runtime but that of processes is loaded with the first pod that needs it, or when its engine is found.
 */
import type { Container, Pod } from '../../api/generated/types.ts';
import { parseImageName } from './image-name.ts';
import { MissingRuntime } from './missing-runtime.ts';
import type { ContainerUsage, Runtime } from './runtime.ts';

const runtimeNames = ['process', 'docker', 'cri', 'simulated'] as const;
export type RuntimeName = (typeof runtimeNames)[number];
export type RuntimeMode = RuntimeName | 'auto';

/** A runtime that is loaded when it is needed. */
export interface LateRuntime {
  readonly name: RuntimeName;
  /** Whether this machine seems to have what the runtime needs; a cheap check. */
  isThere(): boolean;
  /** Opens it; undefined when its engine does not answer, unless `wanted`: then no other runtime will do. */
  open(wanted: boolean): Promise<Runtime | undefined>;
}

export interface RuntimeChoiceOptions {
  readonly mode: RuntimeMode;
  /** Processes of this machine. */
  readonly main: Runtime;
  /** The other runtimes, engines first, in the order in which `auto` tries them. */
  readonly late: readonly LateRuntime[];
  /** Whether an image is a command of this machine. */
  readonly isMapped: (image: string) => Promise<boolean>;
  /** The handler of a RuntimeClass; undefined when there is no such class. */
  readonly handlerOf: (runtimeClass: string) => Promise<string | undefined>;
  readonly onError: (error: Error) => void;
}

/** The runtimes of a node. */
export interface Runtimes {
  /** The runtime of a pod; a promise only if an engine has to be asked. */
  of(pod: Pod): Runtime | Promise<Runtime>;
  /** Names of the runtimes that can be used at present, the main one first. */
  available(): Promise<string[]>;
  /** The runtime of pods that ask for no other, as a node reports it: `containerd://2.1.4`. */
  shown(): Promise<string>;
  /** Like `Runtime.recover`, for all of them. */
  recover(bound: ReadonlySet<string>): Promise<void>;
  usage(): Promise<readonly ContainerUsage[]>;
  close(): Promise<void>;
}

const schemeOf = (pod: Pod): string | undefined => {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  for (const { containerID } of [...containerStatuses, ...initContainerStatuses])
    if (containerID) return containerID.slice(0, containerID.indexOf(':'));
  return undefined;
};

export class RuntimeChoice implements Runtimes {
  readonly #open = new Map<string, Promise<Runtime | undefined>>();
  readonly #running = new Map<string, Runtime>();
  #bound: ReadonlySet<string> = new Set();
  #closed = false;

  constructor(private readonly options: RuntimeChoiceOptions) {
    const { main } = options;
    this.#running.set(main.name, main);
  }

  async available(): Promise<string[]> {
    const names = [this.options.main.name];
    for (const late of this.options.late) {
      if (!late.isThere()) continue;
      // A simulation is always available; an engine must answer.
      if (late.name === 'simulated' || (await this.#opened(late, false))) names.push(late.name);
    }
    return names;
  }

  async shown(): Promise<string> {
    const { mode, main } = this.options;
    return shownVersion(mode === 'auto' ? main : await this.#named(mode));
  }

  of(pod: Pod): Runtime | Promise<Runtime> {
    const { mode, main } = this.options;
    const { runtimeClassName } = pod.spec ?? {};
    const before = schemeOf(pod);
    if (!runtimeClassName && before === main.name) return main;
    if (!runtimeClassName && !before && mode === main.name) return main;
    if (!runtimeClassName && !before && mode === 'auto' && !this.#mayHaveEngine) return main;
    return this.#of(pod, runtimeClassName, before);
  }

  async recover(bound: ReadonlySet<string>): Promise<void> {
    this.#bound = bound;
    for (const runtime of this.#running.values()) await runtime.recover(bound);
    // Containers of an earlier agent must be found before its pods are processed.
    for (const late of this.#engines) if (late.isThere()) await this.#opened(late, false);
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    return (await Promise.all([...this.#running.values()].map((runtime) => runtime.usage()))).flat();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#open.values());
    await Promise.all([...this.#running.values()].map((runtime) => runtime.close()));
  }

  get #engines(): readonly LateRuntime[] {
    return this.options.late.filter(({ name }) => name !== 'simulated');
  }

  get #mayHaveEngine(): boolean {
    return this.#engines.some((late) => late.isThere());
  }

  async #of(pod: Pod, runtimeClass: string | undefined, before: string | undefined): Promise<Runtime> {
    const { mode, main, handlerOf } = this.options;
    if (runtimeClass) {
      const handler = (await handlerOf(runtimeClass)) ?? runtimeClass;
      return this.#named(handler);
    }
    if (before && runtimeNames.some((name) => name === before)) return this.#named(before);
    if (mode !== 'auto') return this.#named(mode);
    if (await this.#isOfProcesses(pod)) return main;
    for (const late of this.#engines) {
      const engine = late.isThere() && (await this.#opened(late, false));
      if (engine) return engine;
    }
    return main;
  }

  async #named(name: string): Promise<Runtime> {
    const { main, late } = this.options;
    if (name === main.name) return main;
    const wanted = late.find((one) => one.name === name);
    return (wanted && (await this.#opened(wanted, true))) || new MissingRuntime(name);
  }

  async #isOfProcesses(pod: Pod): Promise<boolean> {
    const { initContainers = [], containers = [] } = pod.spec ?? {};
    for (const container of [...initContainers, ...containers])
      if (!(await this.#isProcess(container))) return false;
    return true;
  }

  async #isProcess({ image = '', command = [] }: Container): Promise<boolean> {
    if (command.length && !parseImageName(image)) return true;
    return this.options.isMapped(image);
  }

  /** Opens a runtime once. One that was not available is tried again. */
  async #opened(late: LateRuntime, wanted: boolean): Promise<Runtime | undefined> {
    const known = this.#running.get(late.name);
    if (known || this.#closed) return known;
    const underWay = this.#open.get(late.name);
    if (underWay && ((await underWay) || !wanted)) return underWay;
    const opening = this.#begin(late, wanted);
    this.#open.set(late.name, opening);
    return opening;
  }

  async #begin(late: LateRuntime, wanted: boolean): Promise<Runtime | undefined> {
    try {
      const runtime = await late.open(wanted);
      if (runtime) {
        await runtime.recover(this.#bound);
        this.#running.set(late.name, runtime);
      } else this.#open.delete(late.name);
      return runtime;
    } catch (error) {
      this.#open.delete(late.name);
      this.options.onError(error as Error);
      return undefined;
    }
  }
}

/** The version of a runtime. Engines with CRI include their own name: `containerd 2.1.4`. */
function shownVersion({ name, version }: Pick<Runtime, 'name' | 'version'>): string {
  const [, engine = name, number] = /^(?:(\S+) )?(.*)$/.exec(version) ?? [];
  return `${engine}://${number || 'unknown'}`;
}

/** For a node with one runtime, which runs all pods, whatever class they have. */
export const onlyRuntime = (runtime: Runtime): Runtimes => ({
  of: () => runtime,
  available: async () => [runtime.name],
  shown: async () => shownVersion(runtime),
  recover: (bound) => runtime.recover(bound),
  usage: () => runtime.usage(),
  close: () => runtime.close(),
});
