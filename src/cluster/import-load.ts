/**
 * Brings a copy that is complete into a running cluster (`store/import-pages.ts`). Definitions and namespaces go first, and
 * owners before what they own: the garbage collector deletes what has an owner that is not there.
 */
import { setTimeout } from 'node:timers/promises';
import { StatusError } from '../api/errors/errors.ts';
import { isJsonObject } from '../api/text/object.ts';
import type { NamedObject } from '../recorder/dump/stored-form.ts';
import type { KindResult } from '../recorder/source/cluster-copy.ts';
import { parseStoreKey } from '../registry/view/key.ts';
import type { Store } from '../store/store.ts';
import type { AskedServer } from './past/asked-server.ts';
import { type ImportedObject, type ImportTarget, importObjectsMax } from './store/import-pages.ts';

const path = '/wherry/import';
const pageSize = 1_000;
/** Bytes of one request; the server may take fewer. */
const batchBytesMax = 1024 * 1024;
/** How long kinds are waited for whose definitions have just been written. */
const kindsMaxMs = 15_000;
const kindsLookMs = 100;
/** How often a server that is busy is asked again. */
const attemptsMax = 60;
const busyMs = 500;
/** Reasons in the summary of one kind. */
const reasonsMax = 3;
/** A running server would call what these name, which is not there. */
const calling: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'apiregistration.k8s.io/apiservices',
]);

export const importTarget = async (server: AskedServer): Promise<ImportTarget> =>
  (await server.get(path)) as ImportTarget;

interface LoadParts {
  readonly server: AskedServer;
  readonly target: ImportTarget;
  /** Resources that were named; undefined: all. */
  readonly kinds: readonly string[] | undefined;
  readonly signal: { readonly aborted: boolean } | undefined;
  show(objects: number, total: number): void;
}

interface Member {
  readonly key: string;
  readonly uid: string;
  readonly owners: readonly string[];
}

/** What became of the objects of each kind. */
export async function loadCopy(store: Store, parts: LoadParts): Promise<KindResult[]> {
  const told = new Told();
  const members = await ordered(store, (key) => {
    const { id } = parseStoreKey(key);
    const isLeft =
      calling.has(id) && !parts.kinds?.some((name) => resourceOf(id).split('.')[0] === name.split('.')[0]);
    if (isLeft) told.note(id, 'left out, because a running server would call them; --kinds takes them');
    return !isLeft;
  });
  let sent = 0;
  for await (const batch of batches(store, members, Math.min(batchBytesMax, parts.target.bodyBytesMax / 2))) {
    if (parts.signal?.aborted) throw new Error('the import was ended');
    for (const [i, result] of (await bring(parts.server, batch)).entries())
      told.add(parseStoreKey(batch[i]!.key).id, result);
    sent += batch.length;
    parts.show(sent, members.length);
  }
  return told.results();
}

/** `example.com/ships#uid` is `ships.example.com`. */
function resourceOf(id: string): string {
  const [group, resource] = id.replace(/#.*$/, '').split('/');
  return group === 'core' ? resource! : `${resource}.${group}`;
}

class Told {
  readonly #kinds = new Map<string, { objects: number; taken: number; reasons: Set<string> }>();

  add(id: string, { state, why }: ImportedObject): void {
    const kind = this.#of(id);
    if (state === 'written' || state === 'there') kind.objects++;
    else if (state === 'taken') kind.taken++;
    else if (kind.reasons.size < reasonsMax) kind.reasons.add(why ?? state);
  }

  note(id: string, why: string): void {
    this.#of(id).reasons.add(why);
  }

  #of(id: string) {
    const resource = resourceOf(id);
    const kind = this.#kinds.get(resource) ?? { objects: 0, taken: 0, reasons: new Set<string>() };
    this.#kinds.set(resource, kind);
    return kind;
  }

  results(): KindResult[] {
    return [...this.#kinds].map(([resource, { objects, taken, reasons }]) => {
      const why = [...(taken ? [`${taken} there already`] : []), ...reasons].join('; ');
      return { resource, objects, ...(why && { why }) };
    });
  }
}

/** Every object that is wanted, what others need first. */
async function ordered(store: Store, isWanted: (key: string) => boolean): Promise<Member[]> {
  const found = new Map<string, Member>();
  const [early, late]: [Member[], Member[]] = [[], []];
  for (let start: string | undefined = ''; start !== undefined; ) {
    const page = await store.range({ start, limit: pageSize });
    for (const { key, value } of page.items) {
      if (!isWanted(key)) continue;
      const member = memberOf(key, value);
      found.set(member.uid, member);
      const { id } = parseStoreKey(key);
      const isEarly = id === 'core/namespaces' || id === 'apiextensions.k8s.io/customresourcedefinitions';
      (isEarly ? early : late).push(member);
    }
    start = page.more ? `${page.items.at(-1)!.key}\u0000` : undefined;
  }
  const out = new Set<Member>(early);
  for (const member of late) addWithOwners(member, found, out);
  return [...out];
}

function memberOf(key: string, value: Buffer): Member {
  const { metadata } = JSON.parse(value.toString('utf8')) as NamedObject;
  const references = metadata['ownerReferences'];
  const owners = Array.isArray(references) ? references.filter(isJsonObject) : [];
  return { key, uid: String(metadata['uid']), owners: owners.map(({ uid }) => String(uid)) };
}

/** Adds an object behind its owners; without recursion, because chains may be long, or lead in a circle. */
function addWithOwners(member: Member, found: ReadonlyMap<string, Member>, out: Set<Member>): void {
  const open = [member];
  const seen = new Set<Member>();
  for (let next = open.at(-1); next; next = open.at(-1)) {
    const missing = seen.has(next)
      ? []
      : next.owners
          .map((uid) => found.get(uid))
          .filter((owner): owner is Member => owner !== undefined && !out.has(owner) && !seen.has(owner));
    seen.add(next);
    if (missing.length) open.push(...missing);
    else {
      open.pop();
      out.add(next);
    }
  }
}

interface Batched {
  readonly key: string;
  readonly value: Buffer;
}

async function* batches(
  store: Store,
  members: readonly Member[],
  bytesMax: number,
): AsyncGenerator<readonly Batched[]> {
  let batch: Batched[] = [];
  let bytes = 0;
  for (const { key } of members) {
    const value = (await store.get(key))?.value;
    if (!value) continue;
    if (batch.length && (batch.length >= importObjectsMax || bytes + value.length > bytesMax)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push({ key, value });
    bytes += value.length + 1;
  }
  if (batch.length) yield batch;
}

/** Sends objects; those whose kind is not served yet again, until it is. */
async function bring(server: AskedServer, batch: readonly Batched[]): Promise<ImportedObject[]> {
  const results: ImportedObject[] = [];
  let left = batch.map((_, i) => i);
  for (let waitedMs = 0; left.length > 0; waitedMs += kindsLookMs) {
    const now = left;
    const body = Buffer.concat([
      Buffer.from('{"objects":['),
      ...now.flatMap((at, i) => (i ? [Buffer.from(','), batch[at]!.value] : [batch[at]!.value])),
      Buffer.from(']}'),
    ]);
    const answers = await sent(server, body, now.length);
    for (const [i, at] of now.entries())
      results[at] = answers[i] ?? { state: 'refused', why: 'the server did not answer for it' };
    left = now.filter((at) => results[at]!.state === 'waiting');
    if (left.length === 0 || waitedMs >= kindsMaxMs) return results;
    await setTimeout(kindsLookMs);
  }
  return results;
}

/** Waits while the server is busy. One object that is larger than a body may be is refused. */
async function sent(server: AskedServer, body: Buffer, count: number): Promise<readonly ImportedObject[]> {
  for (let attempt = 1; ; attempt++)
    try {
      return ((await server.post(path, body)) as { results: readonly ImportedObject[] }).results;
    } catch (error) {
      const { cause, message } = error as Error;
      const code = cause instanceof StatusError ? cause.code : 0;
      if (code === 413 && count === 1) return [{ state: 'refused', why: message }];
      if ((code !== 429 && code !== 503) || attempt >= attemptsMax) throw error;
      await setTimeout(busyMs);
    }
}
