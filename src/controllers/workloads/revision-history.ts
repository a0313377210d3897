/**
 * Revision history: the templates that a DaemonSet or a StatefulSet has had, each as a ControllerRevision with a
 * patch that restores it. A template that is used again becomes the newest: its revision gets the next number instead
 * of a duplicate.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { ControllerRevision, ObjectMeta, PodTemplateSpec } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import { suffixLetters } from '../../api/kind/meta.ts';
import { exactNumber, isInt64 } from '../../api/text/exact-json.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type JsonObject, withSortedKeys } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import { collectionOf, named, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type ControllerContext,
  ifUnchanged,
  keyOf,
  type Observation,
  observe,
  type Writer,
} from '../shared/controller.ts';
import { controllerOf } from '../shared/indexed-pod.ts';
import { OwnedIndex, ownedItem } from '../shared/owned-index.ts';
import {
  changeOwnable,
  claimFrom,
  controllerReference,
  type Ownable,
  refersTo,
} from '../shared/ownership.ts';

/**
 * The label with the hash of a revision; on pods of a DaemonSet the same, on pods of a StatefulSet the revision's
 * name.
 */
export const revisionLabel = 'controller-revision-hash';

/** Leaves room for a hash in the longest name. */
const nameCharactersMax = 223;
/** Names tried in one pass. */
const collisionsMax = 20;

/** An object with a history. */
export interface Revised {
  kind?: string;
  apiVersion?: string;
  metadata: ObjectMeta;
  spec?: { template?: PodTemplateSpec; revisionHistoryLimit?: number };
  status?: { collisionCount?: number };
}

export interface Revision {
  readonly item: Ownable;
  readonly name: string;
  readonly hash: string;
  readonly number: number;
  /** The data of a revision as text: equal texts are equal templates. */
  readonly text: string;
  readonly template: PodTemplateSpec;
}

export interface RevisionList {
  /** Oldest first. */
  readonly revisions: readonly Revision[];
  /** The revision of the current template. */
  readonly update: Revision;
  /** Number of name collisions with other templates. */
  readonly collisionCount: number | undefined;
}

export class RevisionHistory {
  readonly #kind: Kind;
  readonly #index: OwnedIndex;

  constructor(private readonly writer: Writer) {
    const { registry } = writer;
    this.#kind = registry.kinds.resource('apps/v1', 'controllerrevisions')!;
    this.#index = new OwnedIndex(registry, this.#kind);
  }

  /** Calls back for every owner of a kind that has lost a revision. */
  observe(context: ControllerContext, owner: Kind, lost: (key: string) => void): Observation {
    return observe(context, this.#kind, (entry, previous) => {
      if (entry || !previous) return;
      const reference = controllerOf(previous.peek().metadata.ownerReferences);
      if (refersTo(reference, owner)) lost(keyOf(previous.namespace, reference?.name ?? ''));
    });
  }

  /** The history of an owner, including its current template. Revisions without an owner are adopted. */
  async take(entry: Entry, owner: Revised, selector: LabelSelector): Promise<RevisionList> {
    const items = await claimFrom(this.writer, this.#index, { entry, owner, selector });
    const revisions = items.filter(({ marked }) => !marked).map((item) => knownRevisions.of(item.entry));
    revisions.sort(byNumber);
    const { collisionCount } = owner.status ?? {};
    const data = patchOf(owner.spec?.template ?? {});
    const text = jsonText(data);
    const newest = revisions.at(-1);
    const equal = revisions.findLast((one) => one.text === text);
    if (equal && equal === newest) return { revisions, update: equal, collisionCount };
    const number = after(newest?.number ?? 0);
    if (!equal) {
      const made = await this.#make(entry, owner, data, number);
      return { revisions: [...revisions, made.update], ...made };
    }
    const update = await this.#raise(equal, number);
    return { revisions: [...revisions.filter((one) => one !== equal), update], update, collisionCount };
  }

  /** Deletes the oldest beyond a number. Those in use are kept, and do not count. */
  async trim(
    { revisions }: RevisionList,
    limit = 0,
    isInUse: (revision: Revision) => boolean,
  ): Promise<void> {
    const { writing, request } = this.writer;
    const idle = revisions.filter((revision) => !isInUse(revision));
    for (const { item } of idle.slice(0, Math.max(0, idle.length - limit)))
      await ifUnchanged(
        remove(writing, request('delete'), targetOf(item.entry), { preconditions: { uid: item.uid } }),
      );
  }

  async #raise({ item, name }: Revision, number: number): Promise<Revision> {
    const raised = await changeOwnable<ControllerRevision>(this.writer, item, (now) => {
      now.revision = number;
      return true;
    });
    const entry = this.writer.registry.view.collection(this.#kind).get(item.namespace, name);
    if (!raised || !entry) throw new Error(`the revision ${name} is gone`);
    return knownRevisions.of(entry);
  }

  async #make(
    entry: Entry,
    owner: Revised,
    data: JsonObject,
    number: number,
  ): Promise<{ update: Revision; collisionCount: number | undefined }> {
    const text = jsonText(data);
    const { name = '', namespace = '', annotations } = owner.metadata;
    let { collisionCount } = owner.status ?? {};
    for (let tries = 1; ; tries++) {
      const hash = hashOf(text, collisionCount);
      const revision: ControllerRevision = {
        metadata: {
          name: `${name.slice(0, nameCharactersMax).replace(/[-.]+$/, '')}-${hash}`,
          labels: { ...owner.spec?.template?.metadata?.labels, [revisionLabel]: hash },
          annotations: annotations && { ...annotations },
          ownerReferences: [controllerReference(entry.kind, owner)],
        },
        data,
        revision: number,
      };
      const made = await this.#insert(namespace, revision);
      if (made.text === text) return { update: made, collisionCount };
      if (tries === collisionsMax) throw new Error(`no name is free for revision ${number} of ${name}`);
      collisionCount = (collisionCount ?? 0) + 1;
    }
  }

  /** Creates a revision, or returns the one with that name. */
  async #insert(namespace: string, revision: ControllerRevision): Promise<Revision> {
    const { registry, writing, request } = this.writer;
    const collection = collectionOf(this.#kind, namespace);
    try {
      return knownRevisions.of(
        await create(writing, request('create'), collection, structuredClone(revision)),
      );
    } catch (error) {
      if (!(error instanceof StatusError && error.status.reason === 'AlreadyExists')) throw error;
      return knownRevisions.of(registry.find(named(collection, revision.metadata.name!)));
    }
  }
}

const knownRevisions = new Memo((entry: Entry): Revision => {
  const { metadata, data, revision = 0 } = entry.peek() as ControllerRevision;
  return {
    item: ownedItem(entry),
    name: entry.name,
    hash: metadata.labels?.[revisionLabel] ?? entry.name,
    number: revision,
    text: jsonText(withSortedKeys(data)),
    template: templateOf(data),
  };
});

/** The patch that restores a template: it replaces the template, and contains nothing else. */
const patchOf = (template: PodTemplateSpec): JsonObject =>
  withSortedKeys({ spec: { template: { $patch: 'replace', ...template } } }) as JsonObject;

function templateOf(data: unknown): PodTemplateSpec {
  const { $patch, ...template } =
    (data as { spec?: { template?: JsonObject } } | undefined)?.spec?.template ?? {};
  return template as PodTemplateSpec;
}

/** The next revision number. Numbers have 64 bits; at the maximum there is no next one. */
function after(number: number | bigint): number {
  const next = BigInt(number) + 1n;
  return exactNumber(String(isInt64(next) ? next : number)) as number;
}

function byNumber(a: Revision, b: Revision): number {
  if (a.number !== b.number) return a.number < b.number ? -1 : 1;
  const [x, y] = [a, b].map(({ item }) => `${item.entry.peek().metadata.creationTimestamp} ${item.name}`);
  return x! < y! ? -1 : 1;
}

/** A short hash of a text, FNV-1a in Kubernetes' safe alphabet; another one for every collision. */
export function hashOf(text: string, collisionCount: number | undefined): string {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text + (collisionCount ?? ''), 'utf8'))
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return [...String(hash)].map((digit) => suffixLetters[digit.charCodeAt(0) % suffixLetters.length]).join('');
}
