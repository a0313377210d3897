/** Filters: which objects of a collection a list or watch is about. */
import type { FieldSelector } from '../api/fieldselector.ts';
import type { LabelSelector } from '../api/labelselector.ts';
import type { Entry } from './entry.ts';

export class Filter {
  /** Whether the filter looks inside objects, and not only at their names. */
  readonly selective: boolean;
  readonly #labels: LabelSelector | undefined;
  readonly #fields: FieldSelector | undefined;
  #text: string | undefined;

  constructor(
    readonly namespace: string | undefined,
    readonly name: string | undefined,
    labels: LabelSelector | undefined,
    fields: FieldSelector | undefined,
    /** The selectors as they were written; undefined when that is not known. */
    private readonly selectors: string | undefined = labels || fields ? undefined : '',
  ) {
    this.#labels = labels?.empty ? undefined : labels;
    this.#fields = fields?.empty ? undefined : fields;
    this.selective = this.#labels !== undefined || this.#fields !== undefined;
  }

  /** Filters with the same text choose the same; undefined when there is none. */
  get text(): string | undefined {
    const { namespace = null, name = null, selectors } = this;
    if (selectors !== undefined) this.#text ??= JSON.stringify([namespace, name, selectors]);
    return this.#text;
  }

  /** Whether an object of this name could be selected at all. */
  covers(namespace: string, name: string): boolean {
    return (
      (this.namespace === undefined || this.namespace === namespace) &&
      (this.name === undefined || this.name === name)
    );
  }

  /** Whether the selectors choose this state of an object that is covered. */
  selects(entry: Entry): boolean {
    if (!this.selective) return true;
    if (this.#labels && !this.#labels.matches(entry.labels)) return false;
    return !this.#fields || this.#fields.matches((path) => entry.field(path));
  }
}
