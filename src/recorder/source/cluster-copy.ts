/**
 * Copies the objects of a live cluster: what can be listed, page by page, each object in the form in which it is stored.
 * Definitions come first, so that the kinds of all later objects are known. What the reader may not see is reported, and
 * the copy goes on.
 */
import { StatusError } from '../../api/errors/errors.ts';
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import type { NamedObject } from '../dump/stored-form.ts';
import { aliveForm } from './alive-form.ts';
import { type SecretMode, withSecretMode } from './secret-values.ts';
import type { SourceClient } from './source-client.ts';
import { isDefinitions, type SourceKind, sourceKinds, sourceName, sourcePath } from './source-kinds.ts';
import { type CopiedObject, SourceObjects } from './source-objects.ts';

/** Objects per request. */
const pageSize = 500;
/** How often the list of a kind is begun anew because its pages have expired. */
const expiriesMax = 5;

/** What to copy. */
interface Selection {
  /** Default: all, and what has no namespace. With names, only what is in these namespaces, and the namespaces. */
  readonly namespaces?: readonly string[] | undefined;
  /** Resources such as `pods` or `deployments.apps`. Default: all. */
  readonly kinds?: readonly string[] | undefined;
  readonly selector?: string | undefined;
  readonly secrets: SecretMode;
  /** In a form that controllers and simulated nodes can bring to life. */
  readonly alive: boolean;
}

/** What became of one kind. */
export interface KindResult {
  /** Such as `deployments.apps`. */
  readonly resource: string;
  readonly objects: number;
  /** Why it is not there, or not all of it; undefined: everything was copied. */
  readonly why?: string | undefined;
}

export interface CopyProgress {
  readonly objects: number;
  /** As far as the server has said. */
  readonly objectsTotal: number;
  readonly kinds: number;
  readonly kindsTotal: number;
}

interface CopyParts {
  readonly client: SourceClient;
  readonly selection: Selection;
  /** Kinds that an earlier run has copied. */
  readonly done: ReadonlyMap<string, KindResult>;
  /** Stores objects. */
  readonly take: (objects: readonly CopiedObject[]) => Promise<void>;
  /** A kind is finished. */
  readonly finished: (result: KindResult) => void;
  readonly show: (progress: CopyProgress) => void;
}

export class ClusterCopy {
  readonly #source = new SourceObjects();
  readonly #results: KindResult[] = [];
  #objects = 0;
  #expected = 0;
  #finishedKinds = 0;
  #kindsTotal = 0;

  constructor(private readonly parts: CopyParts) {}

  /** Copies everything; resolves with what became of each kind. */
  async run(): Promise<readonly KindResult[]> {
    const { client, selection } = this.parts;
    const found = await sourceKinds(client, (resource, why) =>
      this.#results.push({ resource, objects: 0, why }),
    );
    const wanted = selection.kinds && new Set(selection.kinds);
    const known = new Set(found.flatMap((kind) => [kind.resource, sourceName(kind)]));
    for (const name of wanted ?? [])
      if (!known.has(name))
        this.#results.push({ resource: name, objects: 0, why: 'the cluster does not have it' });
    // Definitions are read in any case: objects need them.
    const isWanted = (kind: SourceKind): boolean =>
      !wanted || isDefinitions(kind) || wanted.has(kind.resource) || wanted.has(sourceName(kind));
    const chosen = found.filter((kind) => isWanted(kind) && !isLeftOut(kind, selection));
    this.#kindsTotal = chosen.length;
    for (const kind of chosen) {
      const before = isDefinitions(kind) ? undefined : this.parts.done.get(sourceName(kind));
      const result = before ?? (await this.#copyKind(kind));
      this.#finishedKinds++;
      this.#results.push(result);
      if (!before) this.parts.finished(result);
    }
    return this.#results;
  }

  async #copyKind(kind: SourceKind): Promise<KindResult> {
    const { namespaces } = this.parts.selection;
    const places = kind.namespaced && namespaces ? namespaces : [undefined];
    const resource = sourceName(kind);
    let objects = 0;
    const reasons = new Set<string>();
    for (const namespace of places)
      try {
        objects += await this.#copyPlace(kind, namespace, (why) => reasons.add(why));
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        reasons.add(error.code === 403 ? 'refused (403)' : error.code === 404 ? 'gone (404)' : error.message);
      }
    return { resource, objects, why: reasons.size ? [...reasons].join('; ') : undefined };
  }

  async #copyPlace(
    kind: SourceKind,
    namespace: string | undefined,
    problem: (why: string) => void,
  ): Promise<number> {
    let objects = 0;
    let next: string | undefined = '';
    for (let expiries = 0; next !== undefined; ) {
      let page: unknown;
      try {
        page = await this.parts.client.get(pathOf(kind, namespace, this.parts.selection.selector, next));
      } catch (error) {
        // The pages have expired: from the beginning, whatever was copied is the same or replaced.
        if (!(error instanceof StatusError && error.code === 410 && ++expiries <= expiriesMax)) throw error;
        next = '';
        objects = 0;
        continue;
      }
      const { items, more, left } = readPage(page);
      const copied = items.flatMap((item) => this.#copied(kind, item, problem));
      await this.parts.take(copied);
      objects += copied.length;
      this.#objects += copied.length;
      this.#expected = Math.max(this.#expected, this.#objects + left);
      next = more;
      this.parts.show({
        objects: this.#objects,
        objectsTotal: this.#expected,
        kinds: this.#finishedKinds,
        kindsTotal: this.#kindsTotal,
      });
    }
    return objects;
  }

  /** An object as it is stored, behind the definition that had to be made for its kind, if one had. */
  #copied(source: SourceKind, item: unknown, problem: (why: string) => void): CopiedObject[] {
    const object = this.#source.named(source, item, problem);
    if (!object) return [];
    const { selection } = this.parts;
    const shown = withSecretMode(object, selection.secrets);
    const wanted = selection.alive ? aliveForm(shown) : shown;
    if (!wanted || (isNamespaces(source) && isElsewhere(wanted, selection))) return [];
    return this.#source.stored(source, wanted, problem);
  }
}

const isNamespaces = ({ resource, group }: SourceKind): boolean => resource === 'namespaces' && group === '';

/** Whether a part of a cluster does without a kind: without namespaces are only the namespaces themselves, and definitions. */
function isLeftOut(kind: SourceKind, { namespaces, secrets }: Selection): boolean {
  if (secrets === 'none' && kind.resource === 'secrets' && kind.group === '') return true;
  return namespaces !== undefined && !kind.namespaced && !isNamespaces(kind) && !isDefinitions(kind);
}

const isElsewhere = ({ metadata }: NamedObject, { namespaces }: Selection): boolean =>
  namespaces !== undefined && !namespaces.includes(metadata.name);

function pathOf(
  kind: SourceKind,
  namespace: string | undefined,
  selector: string | undefined,
  next: string,
): string {
  const query = new URLSearchParams({ limit: String(pageSize) });
  // Definitions and namespaces are what selected objects need.
  if (selector && !isDefinitions(kind) && !isNamespaces(kind)) query.set('labelSelector', selector);
  if (next) query.set('continue', next);
  return `${sourcePath(kind, namespace)}?${query}`;
}

/** A page of a list. */
interface ListPage {
  readonly items: unknown[];
  /** Asks for the next page; undefined: it is the last one. */
  readonly more: string | undefined;
  /** How many objects the server says are left. */
  readonly left: number;
  readonly version: string;
}

export function readPage(page: unknown): ListPage {
  const { items, metadata } = (isJsonObject(page) ? page : {}) as { items?: unknown; metadata?: JsonObject };
  const {
    continue: more,
    remainingItemCount: left,
    resourceVersion,
  } = isJsonObject(metadata) ? metadata : {};
  return {
    version: typeof resourceVersion === 'string' ? resourceVersion : '',
    items: Array.isArray(items) ? items : [],
    more: typeof more === 'string' && more ? more : undefined,
    left: typeof left === 'number' && left > 0 ? left : 0,
  };
}
