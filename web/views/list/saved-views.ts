/** Views that the user has given a name: addresses of the dashboard, kept in the browser. */
import { signal } from '@preact/signals';

export interface SavedView {
  readonly name: string;
  /** The kind that it shows. */
  readonly kind: string;
  /** The query of its address. */
  readonly query: string;
}

const storedAs = 'wherry.views';
/** Views that are kept; the oldest go first. */
const viewsMax = 100;

const isView = (value: Partial<SavedView> | null): value is SavedView =>
  [value?.name, value?.kind, value?.query].every((part) => typeof part === 'string');

export const savedViews = signal<readonly SavedView[]>(read());

function read(): readonly SavedView[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(storedAs) ?? '[]');
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return [];
  }
}

function keep(views: readonly SavedView[]): void {
  savedViews.value = views.slice(-viewsMax);
  try {
    localStorage.setItem(storedAs, JSON.stringify(savedViews.value));
  } catch {
    // A browser that keeps nothing has them until the dashboard is closed.
  }
}

const isOther = (view: SavedView) => (each: SavedView) => each.name !== view.name || each.kind !== view.kind;

/** A view of the same name is replaced. */
export const saveView = (view: SavedView): void => keep([...savedViews.value.filter(isOther(view)), view]);

export const forgetView = (view: SavedView): void => keep(savedViews.value.filter(isOther(view)));
