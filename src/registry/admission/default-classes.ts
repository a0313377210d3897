/** Default classes: which of the marked classes is the default one. Cached for as long as the classes do not change. */
import type { ResourceId } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { Memo } from '../../memo.ts';
import type { Registry } from '../registry.ts';
import { everything } from '../view/filter.ts';
import type { Page } from '../view/page.ts';

export class DefaultClasses {
  readonly #defaults: Memo<Page, string | undefined>;

  constructor(
    private readonly id: ResourceId,
    isDefault: (object: ApiObject) => boolean,
  ) {
    this.#defaults = new Memo((page: Page) => nameOfDefault(page, isDefault));
  }

  /** The name of the default class, or undefined. */
  nameIn({ view }: Registry): string | undefined {
    return this.#defaults.of(view.collection(this.id).select(everything));
  }
}

/** The name of the default class: the newest of several, and of equally new ones the first by name. */
function nameOfDefault({ entries }: Page, isDefault: (object: ApiObject) => boolean): string | undefined {
  const created = ({ metadata }: ApiObject): string => metadata.creationTimestamp ?? '';
  let newest: ApiObject | undefined;
  for (const entry of entries) {
    const object = entry.peek();
    // Entries are in the order of their names.
    if (isDefault(object) && (!newest || created(object) > created(newest))) newest = object;
  }
  return newest?.metadata.name;
}
