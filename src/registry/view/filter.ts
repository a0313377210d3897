/** Filters: which objects of a collection a list or watch selects. */
import type { FieldSelector } from '../../api/kind/field-selector.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import type { Entry } from './entry.ts';
import { converted } from './entry-conversion.ts';

export class Filter {
  /** Whether the filter needs the content of objects, and not only their names. */
  readonly selective: boolean;
  readonly #labels: LabelSelector | undefined;
  readonly #fields: FieldSelector | undefined;
  #text: string | undefined;

  constructor(
    readonly namespace: string | undefined,
    readonly name: string | undefined,
    labels: LabelSelector | undefined,
    fields: FieldSelector | undefined,
    /** The selectors as the client wrote them; undefined when not known. */
    private readonly selectors: string | undefined = labels || fields ? undefined : '',
    /** The version in which fields are read; undefined: the stored one. */
    readonly as?: Kind,
  ) {
    this.#labels = labels?.empty ? undefined : labels;
    this.#fields = fields?.empty ? undefined : fields;
    this.selective = this.#labels !== undefined || this.#fields !== undefined;
  }

  /** A cache key: filters with the same text select the same objects; undefined for a filter that cannot be cached. */
  get text(): string | undefined {
    const { namespace = null, name = null, selectors } = this;
    if (selectors !== undefined) this.#text ??= JSON.stringify([namespace, name, selectors]);
    return this.#text;
  }

  /** Whether an object of this name can match. */
  covers(namespace: string, name: string): boolean {
    return (
      (this.namespace === undefined || this.namespace === namespace) &&
      (this.name === undefined || this.name === name)
    );
  }

  /** Whether an object whose name matches is selected by its content. */
  selects(entry: Entry): boolean {
    if (!this.selective) return true;
    if (this.#labels && !this.#labels.matches(entry.labels)) return false;
    return !this.#fields || this.#fields.matches((path) => entry.field(path, this.as));
  }

  /**
   * Converts objects so that `selects` can read them; undefined when that is not needed. Only conversion webhooks take
   * time.
   */
  prepared(entries: readonly (Entry | undefined)[]): Promise<void> | undefined {
    if (!this.as?.conversion) return undefined;
    return converted(
      this.as,
      entries.filter((entry) => entry !== undefined && this.covers(entry.namespace, entry.name)) as Entry[],
    );
  }

  /** The same filter without field selectors. */
  get withoutFields(): Filter {
    return new Filter(this.namespace, this.name, this.#labels, undefined);
  }
}

/** Selects all objects of a collection. */
export const everything = new Filter(undefined, undefined, undefined, undefined);
