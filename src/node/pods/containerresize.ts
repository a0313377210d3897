/** The resize of a container: from what its process has been given to what its spec says now. */
import type { Container, ContainerStatus, ResourceRequirements } from '../../api/generated/types.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** One that has failed is tried again after this time: memory may be in use no more. */
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
  /** Counts processes, so that one is not taken for another. */
  #run = 0;

  constructor(
    private readonly runtime: Pick<Runtime, 'resize'>,
    private readonly now: () => number,
  ) {}

  /** A process has been started with these resources. */
  began(resources: Resources): void {
    this.#run += 1;
    this.#given = resources;
    this.#problem = undefined;
    this.#notBeforeMs = 0;
  }

  /** What is left to do, and why it could not be done if it was tried; undefined when the process has everything. */
  open({ resources }: Container): { problem: string | undefined } | undefined {
    return sameAmounts(resources, this.#given) ? undefined : { problem: this.#problem };
  }

  /** Whether the container is to be started anew for it. */
  takesRestart({ resources, resizePolicy = [] }: Container): boolean {
    return resizePolicy.some(
      ({ resourceName, restartPolicy }) =>
        restartPolicy === 'RestartContainer' &&
        resizable.some((name) => name === resourceName && !isSame(resources, this.#given, name)),
    );
  }

  /** Does it, and calls `done` when it has been tried. Otherwise answers how many milliseconds to wait before. */
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

  /** What the status tells: what was set aside for the container, and what its process has. */
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
