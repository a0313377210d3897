/** Finds objects by words: all words must occur in what an object is searched by. The best come first. */
import type { Kind } from '../../api/kind/kind.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { everything, Filter } from '../../registry/view/filter.ts';
import { inSlices } from '../../time-slices.ts';
import type { ReadableScope } from '../problems/readable-scope.ts';
import type { SearchIndex } from './search-index.ts';
import { type SearchedPart, searchedParts } from './searched-parts.ts';

/** Characters and words of a search. */
const charactersMax = 256;
const wordsMax = 8;
/** Steps of the event loop's slices that a byte of an object takes to read, and one whose text is known. */
const byteSteps = 2;
const knownSteps = 4;

/** What controllers write beside an object, under its name: it comes after what people write, where both fit as well. */
const written = new Set(['endpoints', 'endpointslices', 'controllerrevisions', 'leases', 'replicasets']);

/** How well an object fits: its name is the word, begins with it, has it in it; or another part does. */
const ranks = 4;
/** Events have the names of their objects, and are many: they come after everything else. */
const ranksOfEvents = ranks;

export interface FoundObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
  /** What fits, in the words of the object. */
  readonly match: SearchedPart;
}

/** Without words nothing is found, but the index is made: clients ask so before the first word is typed. */
export const wordsOf = (query: string): string[] =>
  query.slice(0, charactersMax).toLowerCase().split(/\s+/).filter(Boolean).slice(0, wordsMax);

export class ObjectSearch {
  /** What fits, by rank. */
  readonly #found: Entry[][] = Array.from({ length: ranks + ranksOfEvents }, () => []);
  /** How many fit. */
  count = 0;

  constructor(
    private readonly registry: Registry,
    private readonly scope: ReadableScope,
    private readonly index: SearchIndex,
    private readonly words: readonly string[],
    private readonly limit: number,
    /** The version to search in; undefined is now. */
    private readonly revision: number | undefined,
  ) {}

  async all(): Promise<readonly FoundObject[]> {
    this.index.use();
    const kinds = [...this.registry.kinds].filter((kind) => kind.storage === kind);
    const rank = ({ resource }: Kind): number => Number(written.has(resource));
    for (const kind of kinds.sort((a, b) => rank(a) - rank(b))) await this.#searchKind(kind);
    return this.#found
      .flat()
      .slice(0, this.limit)
      .map((entry) => this.#described(entry));
  }

  async #searchKind(kind: Kind): Promise<void> {
    const collection = this.registry.view.findCollection(kind.id);
    const { revision, index } = this;
    if (!collection || (revision === undefined ? collection.size === 0 : collection.since > revision)) return;
    const namespaces = await this.scope.of(kind);
    const filters = namespaces?.map(
      (namespace) => new Filter(namespace, undefined, undefined, undefined),
    ) ?? [everything];
    const words = this.#wordsFor(kind);
    const isEvent = kind.resource === 'events';
    const take = (entry: Entry): void => {
      const text = index.textOf(entry);
      const rank = words.length === 0 ? undefined : rankOf(text, words);
      if (rank === undefined) return;
      this.count++;
      const best = this.#found[isEvent ? rank + ranksOfEvents : rank]!;
      if (best.length < this.limit) best.push(entry);
    };
    const work = function* (): Generator<number, void> {
      for (const filter of filters)
        for (const entry of collection.select(filter, { revision }).entries) {
          const steps = index.isKnown(entry) ? knownSteps : entry.document.length * byteSteps;
          take(entry);
          yield steps;
        }
    };
    await inSlices(work());
  }

  /** A word that names the kind, such as `po`, is for finding the kind, unless it is the only one. */
  #wordsFor({ kind, resource, singular, shortNames }: Kind): readonly string[] {
    const names = new Set([kind.toLowerCase(), resource, singular, ...shortNames]);
    const others = this.words.filter((word) => !names.has(word));
    return others.length > 0 ? others : this.words;
  }

  #described(entry: Entry): FoundObject {
    const { kind, namespace, name, uid } = entry;
    const words = this.#wordsFor(kind);
    const parts = searchedParts(entry);
    const isIn = ({ text }: SearchedPart): boolean => words.some((word) => text.toLowerCase().includes(word));
    const match = parts.find((part) => part.by !== 'name' && isIn(part));
    const isByName = words.every((word) => parts[0]!.text.includes(word));
    return {
      apiVersion: kind.group ? `${kind.group}/${kind.version}` : kind.version,
      kind: kind.kind,
      resource: kind.resource,
      ...(namespace ? { namespace } : {}),
      name,
      uid,
      match: isByName ? parts[0]! : (match ?? parts[0]!),
    };
  }
}

function rankOf(text: string, words: readonly string[]): number | undefined {
  for (const word of words) if (!text.includes(word)) return undefined;
  const end = text.indexOf('\n');
  const start = text.lastIndexOf('/', end) + 1;
  const [word] = words as [string];
  const at = text.indexOf(word, start);
  if (at < 0 || at + word.length > end) return 3;
  if (at > start) return 2;
  return at + word.length === end ? 0 : 1;
}
