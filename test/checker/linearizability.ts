/**
 * Linearizability: there is one order of all operations in which each does what the model says, and in which
 * no operation comes before one that had ended when it began.
 *
 * In general that order has to be searched for. Here the server reveals it: every change has a version. So
 * the log is replayed through the model, and each operation gets a point in it. A write has its version. A
 * read has any point at which it would have seen its result; the earliest that real time allows is chosen,
 * which leaves most room for later operations. An operation without such a point is a violation, and so is a
 * write that comes too early.
 */
import type { Json } from '../support/http.ts';
import { type Change, type Log, textOf, versionOf } from './log.ts';
import type { Expiry, ListOperation, Operation, ReadOperation, WriteOperation } from './operations.ts';

/** Concurrent writes, and those of the server itself, may have used this many more versions. */
const versionsUnderWay = 40;

/** All violations in a history; empty if it is correct. */
export function checkOperations(log: Log, operations: readonly Operation[]): string[] {
  const writes = operations.filter((operation) => operation.kind === 'write');
  const replay = new Replay(log, writes);
  const problems = replay.run();
  problems.push(...checkOrder(log, operations, replay.versions));
  for (const operation of operations)
    if (operation.kind === 'list') problems.push(...checkList(log, operation));
  return problems;
}

/** Versions reported as too old although history must still have had them. */
export function checkExpiries(expiries: readonly Expiry[], historyMin: number): string[] {
  return expiries
    .filter(({ version, newestKnown }) => newestKnown + versionsUnderWay - version < historyMin)
    .map(
      ({ what, version, newestKnown }) =>
        `${what}: version ${version} was gone, and the newest is ${newestKnown}`,
    );
}

/**
 * Finds the write that caused each change, and checks that the change is what that write does to the former
 * state.
 */
class Replay {
  /** The version of each write. */
  readonly versions = new Map<WriteOperation, number>();
  readonly #problems: string[] = [];
  readonly #byMark = new Map<string, WriteOperation>();
  /** Acknowledged deletions, by the uid of the deleted object. */
  readonly #deletions = new Map<string, WriteOperation>();
  /** Deletions without an answer, which may have happened, by key. */
  readonly #perhaps = new Map<string, WriteOperation[]>();

  constructor(
    private readonly log: Log,
    private readonly writes: readonly WriteOperation[],
  ) {
    for (const write of writes) {
      const { outcome, key } = write;
      if (write.wanted) this.#byMark.set(write.wanted.mark, write);
      else if (outcome === 'unknown') this.#perhaps.set(key, [...(this.#perhaps.get(key) ?? []), write]);
      else if (outcome.ok) {
        if (this.#deletions.has(outcome.uid)) this.#problem(write, `${outcome.uid} was deleted twice`);
        this.#deletions.set(outcome.uid, write);
      }
    }
  }

  run(): string[] {
    let last = this.log.base;
    for (const change of this.log.changes) {
      if (change.version <= last) this.#problems.push(`version ${change.version} comes after ${last}`);
      last = change.version;
      this.#replay(change, this.log.at(change.key, change.version - 1)?.object);
    }
    for (const write of this.writes) this.#checkOutcome(write);
    return this.#problems;
  }

  #replay(change: Change, previous: Json | undefined): void {
    const { version, key, object } = change;
    const mark: string | undefined = object?.metadata.annotations?.mark;
    const uid: string | undefined = previous?.metadata.uid;
    const write = object
      ? this.#byMark.get(mark ?? '')
      : ((uid ? this.#deletions.get(uid) : undefined) ?? this.#takePerhaps(key, previous));
    if (!write || write.key !== key) {
      this.#problems.push(
        `nobody made version ${version} of ${key}: ${object ? textOf(object) : 'a deletion'}`,
      );
      return;
    }
    if (this.versions.has(write))
      this.#problem(write, `happened twice, as ${this.versions.get(write)} and as ${version}`);
    this.versions.set(write, version);
    if (write.expected !== undefined && write.expected !== (previous ? versionOf(previous) : 0))
      this.#problem(write, `insisted on ${write.expected} and changed ${previous?.metadata.resourceVersion}`);
    if ((write.verb === 'create') !== (previous === undefined))
      this.#problem(write, previous ? 'there was one already' : 'there was nothing to change');
    if (object && write.wanted) this.#checkContent(write, object, previous);
  }

  /** A deletion without an answer that could have deleted this version, if there is any. */
  #takePerhaps(key: string, previous: Json | undefined): WriteOperation | undefined {
    const perhaps = this.#perhaps.get(key) ?? [];
    const version = previous ? versionOf(previous) : 0;
    const fitting = perhaps.findIndex(({ expected = version }) => expected === version);
    return perhaps.splice(Math.max(fitting, 0), 1)[0];
  }

  #checkContent(write: WriteOperation, object: Json, previous: Json | undefined): void {
    const { mark, base, colour } = write.wanted!;
    const before = contentOf(previous);
    const wanted = { mark, base: base ?? before.base, colour: colour === undefined ? before.colour : colour };
    const found = contentOf(object);
    if (JSON.stringify(found) !== JSON.stringify(wanted))
      this.#problem(write, `left ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
    if (previous && object.metadata.uid !== previous.metadata.uid)
      this.#problem(write, 'gave the object another uid');
  }

  /** Checks that the client's answer matches what happened. */
  #checkOutcome(write: WriteOperation): void {
    const { outcome } = write;
    const version = this.versions.get(write);
    if (outcome === 'unknown') return;
    if (!outcome.ok) {
      if (version !== undefined) this.#problem(write, `was refused and happened as ${version}`);
      return;
    }
    if (version === undefined) this.#problem(write, `was acknowledged as ${outcome.version} and is lost`);
    else if (outcome.version !== undefined && outcome.version !== version && write.verb !== 'delete')
      this.#problem(write, `was acknowledged as ${outcome.version} and happened as ${version}`);
    else if (
      outcome.text !== undefined &&
      outcome.text !== textOf(this.log.at(write.key, version)?.object ?? {})
    )
      this.#problem(write, `was answered with another object than it left`);
  }

  #problem(write: WriteOperation, what: string): void {
    this.#problems.push(`${describe(write)}: ${what}`);
  }
}

const contentOf = (object: Json | undefined) => ({
  mark: object?.metadata.annotations?.mark,
  base: object?.metadata.annotations?.base,
  colour: object?.metadata.labels?.colour ?? null,
});

function checkOrder(
  log: Log,
  operations: readonly Operation[],
  versions: ReadonlyMap<WriteOperation, number>,
): string[] {
  const problems: string[] = [];
  const points = new Map<Operation, number>();
  const begun = [...operations].sort((a, b) => a.begun - b.begun);
  const ended = [...operations].sort((a, b) => a.ended - b.ended);
  let earliest = log.base;
  let next = 0;
  for (const operation of begun) {
    for (; ended[next]!.ended < operation.begun; next++)
      earliest = Math.max(earliest, points.get(ended[next]!) ?? earliest);
    const point = pointOf(log, operation, earliest, versions);
    if (typeof point === 'string') problems.push(`${describe(operation)}: ${point}`);
    else if (point !== undefined) points.set(operation, point);
  }
  return problems;
}

/** The point of an operation in the order; or the violation if there is none; undefined if it had no effect. */
function pointOf(
  log: Log,
  operation: Operation,
  earliest: number,
  versions: ReadonlyMap<WriteOperation, number>,
): number | string | undefined {
  if (operation.kind === 'read') return readPoint(log, operation, earliest);
  if (operation.kind === 'list') {
    const [version] = operation.versions;
    if (operation.exact !== undefined || version === undefined) return undefined;
    return version >= earliest ? version : `shows version ${version}, and ${earliest} had been seen`;
  }
  const version = versions.get(operation);
  if (version !== undefined)
    return version > earliest
      ? version
      : `happened as ${version}, and ${earliest} had been seen before it began`;
  if (operation.outcome === 'unknown' || operation.outcome.ok) return undefined;
  const { because } = operation.outcome;
  const { key, expected } = operation;
  return (
    firstPoint(log, key, earliest, (at) => {
      if (because === 'missing') return at === undefined;
      if (at === undefined) return false;
      return because === 'exists' || (expected !== undefined && versionOf(at) !== expected);
    }) ?? `was refused (${because}), which cannot be after ${earliest}`
  );
}

function readPoint(log: Log, { key, found }: ReadOperation, earliest: number): number | string {
  const point = firstPoint(log, key, earliest, (at) =>
    found
      ? at !== undefined && versionOf(at) === found.version && textOf(at) === found.text
      : at === undefined,
  );
  if (point !== undefined) return point;
  return `found ${found ? `version ${found.version}` : 'nothing'}, and ${earliest} had been seen before it began`;
}

/** The first version, starting with a given one, at which the state of a key fits. */
function firstPoint(
  log: Log,
  key: string,
  from: number,
  fits: (object: Json | undefined) => boolean,
): number | undefined {
  if (fits(log.at(key, from)?.object)) return from;
  return log.of(key).find(({ version, object }) => version > from && fits(object))?.version;
}

/** Checks that a list, in however many pages, is the state at one version. */
function checkList(log: Log, operation: ListOperation): string[] {
  const { scope, versions, exact, items, cut } = operation;
  const [version] = versions;
  if (version === undefined) return [];
  const problem = (what: string): string[] => [`${describe(operation)}: ${what}`];
  if (exact !== undefined && version !== exact) return problem(`shows ${version} instead of ${exact}`);
  if (versions.some((other) => other !== version))
    return problem(`its pages show versions ${versions.join(', ')}`);
  const wanted = log.state(scope, version);
  const told = ({ key, version: at, text }: Omit<Told, 'type'>): string => `${key} ${at} ${text}`;
  for (const [i, item] of items.entries())
    if (!wanted[i] || told(item) !== told(wanted[i]))
      return problem(`at ${version}, item ${i} is ${told(item)}, not ${wanted[i] && told(wanted[i])}`);
  if (!cut && items.length !== wanted.length)
    return problem(`at ${version} it has ${items.length} items of ${wanted.length}`);
  return [];
}

type Told = ListOperation['items'][number] & { type?: string };

function describe(operation: Operation): string {
  const { kind, client, begun, ended } = operation;
  const what =
    kind === 'list'
      ? `list of ${JSON.stringify(operation.scope)}`
      : kind === 'read'
        ? `read of ${operation.key}`
        : `${operation.verb} of ${operation.key} (${operation.wanted?.mark ?? 'deletion'})`;
  return `${what} by client ${client}, from ${begun} to ${ended}`;
}
