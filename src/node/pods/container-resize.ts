/** The resize of a container: from the resources its process has to those its spec asks for. */
import type { Container, ContainerStatus, ResourceRequirements } from '../../api/generated/types.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Retry interval after a failure: memory in use may have been freed by then. */
const retryMs = 5_000;

const resizable = ['cpu', 'memory'] as const;
const sides = ['requests', 'limits'] as const;

type Resource = (typeof resizable)[number];
type Resources = ResourceRequirements | undefined;

export class ContainerResize {
  #given: Resources;
  #problem: string | undefined;
  #underWay = false;
  #notBeforeMs = 0;
  /** Number of the current process, so that a late result is not applied to its successor. */
  #run = 0;

  constructor(
    private readonly runtime: Pick<Runtime, 'resize'>,
    private readonly now: () => number,
  ) {}

  /** Called when a process was started with these resources. */
  began(resources: Resources): void {
    this.#run += 1;
    this.#given = resources;
    this.#problem = undefined;
    this.#notBeforeMs = 0;
  }

  /** Undefined when the process has what the spec asks for; else the reason of the last failed attempt, if any. */
  open({ resources }: Container): { problem: string | undefined } | undefined {
    return sameAmounts(resources, this.#given) ? undefined : { problem: this.#problem };
  }

  /** Whether the resize policy demands a restart of the container. */
  takesRestart({ resources, resizePolicy = [] }: Container): boolean {
    return resizePolicy.some(
      ({ resourceName, restartPolicy }) =>
        restartPolicy === 'RestartContainer' &&
        resizable.some((name) => name === resourceName && !isSame(resources, this.#given, name)),
    );
  }

  /**
   * Resizes the process and calls `done` when that was tried. If it is too early, returns the milliseconds to
   * wait.
   */
  attempt(uid: string, container: Container, done: () => void): number {
    const waitMs = this.#notBeforeMs - this.now();
    if (this.#underWay || waitMs > 0) return Math.max(waitMs, 0);
    this.#underWay = true;
    const run = this.#run;
    void this.runtime
      .resize(uid, container)
      .then(
        () => {
          this.#problem = undefined;
          if (run === this.#run) this.#given = container.resources;
        },
        (error: Error) => {
          this.#problem = error.message;
          this.#notBeforeMs = this.now() + retryMs;
        },
      )
      .finally(() => {
        this.#underWay = false;
        done();
      });
    return 0;
  }

  /** The resource fields of the container's status: allocated, and actual. */
  shown({ resources }: Container): Partial<ContainerStatus> {
    if (!sides.some((side) => Object.keys(resources?.[side] ?? {}).length)) return {};
    const { requests } = resources!;
    return { resources: this.#given, ...(requests ? { allocatedResources: requests } : {}) };
  }
}

/** Whether both are the same cpu and memory. */
export const sameAmounts = (one: Resources, other: Resources): boolean =>
  resizable.every((resource) => isSame(one, other, resource));

const isSame = (one: Resources, other: Resources, resource: Resource): boolean =>
  sides.every((side) => one?.[side]?.[resource] === other?.[side]?.[resource]);
