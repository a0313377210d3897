/**
 * The log: every change to the objects of the traffic, in order of versions, as recorded by a witness that
 * watches the server. It is the model for everything else: the state at any version and the events of any
 * watch follow from it. The log itself is checked against the answers that clients got
 * (`linearizability.ts`).
 */
import type { Json } from '../support/http.ts';

export interface Change {
  readonly version: number;
  readonly key: string;
  /** The state after it; undefined if it deleted the object. */
  readonly object: Json | undefined;
}

/** The selection of a list or a watch. */
export interface Scope {
  readonly resource: string;
  /** Undefined: all namespaces. */
  readonly namespace?: string;
  readonly name?: string;
  /** The label `colour` must have this value; null: it must not exist. */
  readonly colour?: string | null;
}

export interface Told {
  readonly type: string;
  readonly version: number;
  readonly key: string;
  readonly text: string;
}

export const keyOf = (resource: string, { namespace, name }: { namespace: string; name: string }): string =>
  `${resource}/${namespace}/${name}`;

export const versionOf = (object: Json): number => Number(object.metadata.resourceVersion);

const texts = new WeakMap<object, string>();

/** An object as text, for exact comparison. Items of a list have no kind and apiVersion. */
export function textOf(whole: Json): string {
  let text = texts.get(whole);
  if (text === undefined) {
    const { kind: _kind, apiVersion: _apiVersion, ...object } = whole;
    text = JSON.stringify(object);
    texts.set(whole, text);
  }
  return text;
}

export class Log {
  readonly #byKey = new Map<string, Change[]>();
  /** The events of a watch of each scope, from the beginning. */
  readonly #told = new Map<string, readonly Told[]>();

  /** Versions up to and including `base` are ignored: they are older than the traffic. */
  constructor(
    readonly base: number,
    readonly changes: readonly Change[],
  ) {
    for (const change of changes) {
      const before = this.#byKey.get(change.key);
      if (before) before.push(change);
      else this.#byKey.set(change.key, [change]);
    }
  }

  get newest(): number {
    return this.changes.at(-1)?.version ?? this.base;
  }

  /** All changes of a key. */
  of(key: string): readonly Change[] {
    return this.#byKey.get(key) ?? [];
  }

  /** The last change of a key up to and including a version. */
  at(key: string, version: number): Change | undefined {
    const changes = this.of(key);
    let low = 0;
    let high = changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (changes[middle]!.version > version) high = middle;
      else low = middle + 1;
    }
    return changes[low - 1];
  }

  /** The objects of a scope at a version, by namespace and name. */
  state(scope: Scope, version: number): Told[] {
    const keys = [...this.#byKey.keys()].sort();
    const state: Told[] = [];
    for (const key of keys) {
      const object = this.at(key, version)?.object;
      if (object && selects(scope, key, object))
        state.push({ type: 'ADDED', version: versionOf(object), key, text: textOf(object) });
    }
    return state;
  }

  /** The events that a watch of a scope gets for the changes after a version. */
  eventsAfter(scope: Scope, after: number): readonly Told[] {
    const name = JSON.stringify(scope);
    let told = this.#told.get(name);
    if (!told) {
      told = this.changes.map((change) => this.#seen(scope, change)).filter((event) => event !== undefined);
      this.#told.set(name, told);
    }
    return told.filter(({ version }) => version > after);
  }

  #seen(scope: Scope, { version, key, object }: Change): Told | undefined {
    const previous = this.at(key, version - 1)?.object;
    const before = previous !== undefined && selects(scope, key, previous);
    const now = object !== undefined && selects(scope, key, object);
    if (now) return { type: before ? 'MODIFIED' : 'ADDED', version, key, text: textOf(object) };
    if (!before) return undefined;
    // When an object no longer matches, the watch gets its last matching state, with the version of the change.
    const metadata = { ...previous.metadata, resourceVersion: String(version) };
    return { type: 'DELETED', version, key, text: textOf({ ...previous, metadata }) };
  }
}

function selects(scope: Scope, key: string, object: Json): boolean {
  const [resource, namespace, name] = key.split('/');
  if (resource !== scope.resource) return false;
  if (scope.namespace !== undefined && namespace !== scope.namespace) return false;
  if (scope.name !== undefined && name !== scope.name) return false;
  if (scope.colour === undefined) return true;
  return (object.metadata.labels?.colour ?? null) === scope.colour;
}

/** The request path for a scope. */
export function pathOf({ resource, namespace, name, colour }: Scope, query: Record<string, string>): string {
  const parameters = new URLSearchParams(query);
  if (name !== undefined) parameters.set('fieldSelector', `metadata.name=${name}`);
  if (colour !== undefined) parameters.set('labelSelector', colour === null ? '!colour' : `colour=${colour}`);
  const place = namespace === undefined ? resource : `namespaces/${namespace}/${resource}`;
  return `/api/v1/${place}?${parameters}`;
}
