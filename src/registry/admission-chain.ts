/**
 * Admission: the checks between a decoded object and the store. Each plugin is a file of its own; which of them a server
 * has, and in which order, is in `plugins.ts`. A plugin may change a new object (`mutate`) or refuse a write (`validate`).
 */
import type { FieldError } from '../api/errors/field-error.ts';
import type { Kind, ResourceId } from '../api/kind/kind.ts';
import type { ApiObject } from '../api/text/object.ts';
import { Memo } from '../memo.ts';
import type { Lock } from '../store/store.ts';
import type { Companion } from './companion.ts';
import type { DeleteOptions } from './delete-options.ts';
import type { Registry } from './registry.ts';
import type { Request } from './request.ts';
import type { Target } from './target.ts';

/** A write in the admission chain. */
export interface Admission {
  /** The user, verb and options of the write. */
  readonly request: Request;
  /** The object that is written. With `generateName`, the name is set only after the mutating plugins have run. */
  readonly target: Target;
  readonly operation: 'create' | 'update' | 'delete' | 'connect';
  /**
   * The new object; undefined for a delete. For a subresource with a body of its own, such as `token`, that body.
   * Plugins change it in place.
   */
  readonly object: ApiObject | undefined;
  /** The stored object; undefined for a create. */
  readonly old: ApiObject | undefined;
  /**
   * Called when the write has failed, or has succeeded and is in the view. Plugins release their reservations here.
   */
  readonly afterwards: ((stored: boolean) => void)[];
  /** The options of a delete. */
  readonly options?: DeleteOptions;
  /** Set by a plugin whose change requires that the plugins before it run once more. */
  reinvoke?: boolean;
  /** 1 in the second run of the plugins. */
  round?: number;
  /** Further objects to write together with this one, from an allocator. */
  companion?: Companion;
  /** Locks of this server that the write depends on. */
  locks?: Lock[];
}

/** Keeps a lock until the write has ended. */
export function holdLock(admission: Admission, lock: Lock | undefined): void {
  if (!lock) return;
  admission.locks ??= [];
  admission.locks.push(lock);
  admission.afterwards.push(() => lock.leave());
}

export interface AdmissionPlugin {
  /** Whether the plugin refuses objects in namespaces that do not exist. */
  readonly asksForNamespaces?: true;
  /** The plugin's name in Kubernetes, by which it is enabled and disabled. */
  readonly name: string;
  /** The kinds it applies to; undefined: all. */
  readonly kinds?: readonly ResourceId[];
  mutate?(registry: Registry, admission: Admission): void | Promise<void>;
  validate?(registry: Registry, admission: Admission): void | Promise<void>;
  /** Refuses a request to a subresource that does not write the object itself: an eviction, a token, a connection. */
  connect?(registry: Registry, admission: Admission): void | Promise<void>;
}

/** Refuses creates and updates after plugins have changed them, and before the rules of the kind are checked. */
export type Guard = (registry: Registry, admission: Admission) => void | Promise<void>;

/** A rule of a kind that needs more than the object: cryptography, or other objects. It cannot be disabled. */
export interface WriteRule {
  readonly kinds: readonly ResourceId[];
  /** Its errors come before those of the kind's own rules. */
  readonly isFirst?: true;
  /** The errors of a create or update, reported together with those of the kind's rules. */
  errors(registry: Registry, admission: Admission): readonly FieldError[];
}

interface Steps {
  readonly rules: readonly WriteRule[];
  readonly mutating: readonly AdmissionPlugin[];
  readonly validating: readonly AdmissionPlugin[];
  readonly connecting: readonly AdmissionPlugin[];
}

export class AdmissionChain {
  /** The plugins for each kind. */
  readonly #steps = new Memo<Kind, Steps>((kind) => this.#stepsFor(kind));

  /** Whether every namespaced object is in a namespace that exists. */
  readonly asksForNamespaces: boolean;

  constructor(
    private readonly plugins: readonly AdmissionPlugin[],
    private readonly rules: readonly WriteRule[] = [],
    private readonly guards: readonly Guard[] = [],
  ) {
    this.asksForNamespaces = plugins.some((plugin) => plugin.asksForNamespaces);
  }

  #stepsFor({ id }: Kind): Steps {
    const plugins = this.plugins.filter(({ kinds }) => !kinds || kinds.includes(id));
    return {
      rules: this.rules.filter(({ kinds }) => kinds.includes(id)),
      mutating: plugins.filter(({ mutate }) => mutate),
      validating: plugins.filter(({ validate }) => validate),
      connecting: plugins.filter(({ connect }) => connect),
    };
  }

  /** The same plugins, with one more guard. */
  guardedBy(guard: Guard): AdmissionChain {
    return new AdmissionChain(this.plugins, this.rules, [...this.guards, guard]);
  }

  async mutate(registry: Registry, admission: Admission): Promise<void> {
    await this.#change(registry, admission);
    if (admission.reinvoke) {
      admission.round = 1;
      await this.#change(registry, admission);
    }
    for (const guard of this.guards) {
      const waiting = guard(registry, admission);
      if (waiting) await waiting;
    }
  }

  async #change(registry: Registry, admission: Admission): Promise<void> {
    for (const plugin of this.#steps.of(admission.target.kind).mutating) {
      // Most plugins return synchronously: an await for each would cost a microtask for nothing.
      const waiting = plugin.mutate!(registry, admission);
      if (waiting) await waiting;
    }
  }

  /** The errors of the kind's own rules and of its write rules. */
  errors(registry: Registry, admission: Admission, own: () => FieldError[]): FieldError[] {
    const { rules } = this.#steps.of(admission.target.kind);
    if (rules.length === 0) return own();
    const found = (isFirst: boolean): readonly FieldError[] =>
      rules
        .filter((rule) => Boolean(rule.isFirst) === isFirst)
        .flatMap((rule) => rule.errors(registry, admission));
    return [...found(true), ...own(), ...found(false)];
  }

  /**
   * Validates a write, carries it out, and calls the `afterwards` functions with its outcome. A write that returns
   * undefined has lost against another writer.
   */
  async admitted<T>(
    registry: Registry,
    admission: Admission,
    write: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    let stored = false;
    try {
      for (const plugin of this.#steps.of(admission.target.kind).validating) {
        const waiting = plugin.validate!(registry, admission);
        if (waiting) await waiting;
      }
      const result = await write();
      stored = result !== undefined && !admission.request.dryRun;
      return result;
    } finally {
      for (const callback of admission.afterwards) callback(stored);
    }
  }

  /** `operation` is `connect` for connections into pods and through proxies; other parts are created. */
  async connect(
    registry: Registry,
    request: Request,
    target: Target,
    object: ApiObject,
    operation: 'create' | 'connect' = 'create',
  ): Promise<void> {
    const { connecting } = this.#steps.of(target.kind);
    if (connecting.length === 0) return;
    const admission: Admission = {
      request,
      target,
      operation,
      object,
      old: undefined,
      afterwards: [],
    };
    for (const plugin of connecting) {
      const waiting = plugin.connect!(registry, admission);
      if (waiting) await waiting;
    }
  }
}
