/**
 * Selectors: which objects of a namespace select a pod by its labels. Nearly every selector requires some label to
 * have some value, and is evaluated only for pods that have it; so the cost per pod does not grow with the number of
 * selectors.
 */
import type { LabelSelector as SelectorObject, Service } from '../../api/generated/types.ts';
import {
  type LabelSelector,
  type LabelSelectorObject,
  type Labels,
  selectorFromObject,
} from '../../api/kind/label-selector.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { composedKey } from '../../composed-key.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { keyOf } from './controller.ts';

/** Selectors by object name, which all require the same label. */
type Group = Map<string, LabelSelector>;

/** The bucket of selectors that require no value. */
const anything = '';

/** A label and its value as one key. */
export const placeOf = (key: string, value: string): string => composedKey(key, value);

export class Selectors<T extends ApiObject> {
  /** By namespace, then by required label. */
  readonly #namespaces = new Map<string, Map<string, Group>>();
  /** The bucket of each object's selector, by key. */
  readonly #places = new Map<string, string>();

  /** `read` returns the selector of an object, undefined when it selects nothing. */
  constructor(private readonly read: (object: T) => LabelSelector | undefined) {}

  /** Updates the selector of an object from its new and previous state. */
  observe(entry: Entry | undefined, previous: Entry | undefined): void {
    const { namespace, name } = (entry ?? previous)!;
    this.#drop(namespace, name);
    const selector = entry && this.read(entry.peek() as T);
    if (selector) this.#keep(namespace, name, selector);
  }

  #keep(namespace: string, name: string, selector: LabelSelector): void {
    const place = askedLabel(selector);
    this.#places.set(keyOf(namespace, name), place);
    const groups = this.#namespaces.get(namespace) ?? new Map<string, Group>();
    this.#namespaces.set(namespace, groups);
    const group = groups.get(place);
    if (group) group.set(name, selector);
    else groups.set(place, new Map([[name, selector]]));
  }

  #drop(namespace: string, name: string): void {
    const key = keyOf(namespace, name);
    const place = this.#places.get(key);
    if (place === undefined) return;
    this.#places.delete(key);
    const groups = this.#namespaces.get(namespace)!;
    const group = groups.get(place)!;
    group.delete(name);
    if (group.size === 0) groups.delete(place);
    if (groups.size === 0) this.#namespaces.delete(namespace);
  }

  /** Names of the objects that select these labels. */
  selecting(namespace: string, labels?: Labels): string[] {
    return this.matching(namespace, labels).map(([name]) => name);
  }

  /** The same with their selectors. */
  matching(namespace: string, labels: Labels = {}): [name: string, selector: LabelSelector][] {
    const groups = this.#namespaces.get(namespace);
    if (!groups) return [];
    const found: [string, LabelSelector][] = [];
    for (const place of [anything, ...Object.entries(labels).map(([key, value]) => placeOf(key, value))])
      for (const each of groups.get(place) ?? []) if (each[1].matches(labels)) found.push(each);
    return found;
  }
}

/** A label that a selector requires, or ''. */
export function askedLabel({ requirements }: LabelSelector): string {
  const asked = requirements.find(({ operator }) => operator === '=');
  return asked ? placeOf(asked.key, asked.values[0]!) : anything;
}

/** A map selector; an empty one selects nothing. */
export const mapSelector = (map: Labels | undefined): LabelSelector | undefined =>
  map && Object.keys(map).length > 0 ? selectorFromObject({ matchLabels: map }) : undefined;

/** The selector of a service whose endpoints controllers maintain. */
export const serviceSelector = ({ spec = {} }: Service): LabelSelector | undefined =>
  spec.type === 'ExternalName' ? undefined : mapSelector(spec.selector);

/** The selector of an apps object; an empty one selects nothing. */
export function objectSelector(object: SelectorObject | undefined): LabelSelector | undefined {
  const selector = selectorFromObject(object as LabelSelectorObject | undefined);
  return selector.empty ? undefined : selector;
}
