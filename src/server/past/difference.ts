/** What differs between two versions of an object, field by field, for people and scripts. */
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';

/** Most fields of one change that are listed; `isCut` says that there are more. */
const fieldsMax = 200;
/** Longest text of a value; longer ones are cut. */
const valueCharsMax = 4_096;
const depthMax = 64;

/** Members by which items of a list are found again, in the order of trying. */
const itemKeys = ['name', 'type', 'key', 'containerPort', 'port', 'ip', 'uid', 'topologyKey'] as const;

/** Fields of metadata that every write changes, or that are shown as the writer. */
const silent: ReadonlySet<string> = new Set(['resourceVersion', 'managedFields', 'generation', 'selfLink']);

export interface FieldChange {
  /** `spec.containers[web].image` */
  readonly path: string;
  /** Absent where the field was not set. */
  readonly before?: unknown;
  /** Absent where the field is not set any more. */
  readonly after?: unknown;
}

export interface Difference {
  readonly fields: readonly FieldChange[];
  /** There are more than are listed. */
  readonly isCut: boolean;
}

/** @param hides whether the values of a path are not to be told */
export function difference(
  before: JsonObject,
  after: JsonObject,
  hides: (path: string) => boolean = () => false,
): Difference {
  const fields: FieldChange[] = [];
  const found = new Comparison(hides, fields);
  for (const name of namesOf(before, after)) {
    if (name === 'kind' || name === 'apiVersion') continue;
    if (name !== 'metadata') found.compare(name, before[name], after[name], 0);
    else found.metadata(before[name], after[name]);
  }
  return { fields: fields.slice(0, fieldsMax), isCut: fields.length > fieldsMax };
}

class Comparison {
  constructor(
    private readonly hides: (path: string) => boolean,
    private readonly fields: FieldChange[],
  ) {}

  metadata(before: unknown, after: unknown): void {
    const [old, now] = [before, after].map((value) => (isJsonObject(value) ? value : {}));
    for (const name of namesOf(old!, now!))
      if (!silent.has(name)) this.compare(`metadata.${name}`, old![name], now![name], 1);
  }

  compare(path: string, before: unknown, after: unknown, depth: number): void {
    if (this.fields.length > fieldsMax || before === after) return;
    if (depth < depthMax && isJsonObject(before) && isJsonObject(after)) {
      for (const name of namesOf(before, after))
        this.compare(member(path, name), before[name], after[name], depth + 1);
      return;
    }
    if (depth < depthMax && Array.isArray(before) && Array.isArray(after))
      return this.#lists(path, before, after, depth);
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    const told = (value: unknown): unknown => (this.hides(path) ? '(hidden)' : shortened(value));
    this.fields.push({
      path,
      ...(before === undefined ? {} : { before: told(before) }),
      ...(after === undefined ? {} : { after: told(after) }),
    });
  }

  #lists(path: string, before: readonly unknown[], after: readonly unknown[], depth: number): void {
    const key = itemKeys.find((one) => isKeyOf(one, before) && isKeyOf(one, after));
    if (key !== undefined) {
      const [old, now] = [byKey(before, key), byKey(after, key)];
      for (const name of new Set([...old.keys(), ...now.keys()]))
        this.compare(`${path}[${name}]`, old.get(name), now.get(name), depth + 1);
      return;
    }
    if (before.length === after.length && before.every(isJsonObject)) {
      for (const [i, item] of before.entries()) this.compare(`${path}[${i}]`, item, after[i], depth + 1);
      return;
    }
    this.compare(path, before, after, depthMax);
  }
}

const namesOf = (before: JsonObject, after: JsonObject): Set<string> =>
  new Set([...Object.keys(before), ...Object.keys(after)]);

const member = (path: string, name: string): string =>
  /^[\w-]+$/.test(name) ? `${path}.${name}` : `${path}[${name}]`;

function isKeyOf(key: string, items: readonly unknown[]): boolean {
  const seen = new Set<unknown>();
  for (const item of items) {
    const value = isJsonObject(item) ? item[key] : undefined;
    if ((typeof value !== 'string' && typeof value !== 'number') || seen.has(value)) return false;
    seen.add(value);
  }
  return true;
}

const byKey = (items: readonly unknown[], key: string): Map<string, unknown> =>
  new Map(items.map((item) => [String((item as JsonObject)[key]), item]));

function shortened(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= valueCharsMax ? value : `${text.slice(0, valueCharsMax)}…`;
}
