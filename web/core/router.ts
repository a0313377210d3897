/**
 * Where the dashboard is, in the browser's address: the path says which view, the query what it shows. Namespace and
 * moment stay when a link goes to another view.
 */
import { signal } from '@preact/signals';
import { prefix, root } from './prefix.ts';

export interface Place {
  /** Segments behind `/ui/`, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Parameters that every link keeps, unless it sets them. */
const kept = ['ns', 'at'];

export const place = signal<Place>(read());

export type Changes = Readonly<Record<string, string | undefined>>;

/** The address of a view. `undefined` in the query removes what would be kept. */
export function addressOf(path: readonly string[], query: Changes = {}): string {
  const params = new URLSearchParams();
  for (const name of kept) {
    const value = place.value.query.get(name);
    if (value !== null && !(name in query)) params.set(name, value);
  }
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value);
  const text = params.toString();
  return `${root}${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`;
}

export function go(path: readonly string[], query: Changes = {}): void {
  follow(addressOf(path, query));
}

function follow(address: string): void {
  history.pushState(null, '', address);
  place.value = read();
}

/** Changes parameters of the place. It replaces the entry in the browser's history, unless `step`. */
export function changeQuery(changes: Changes, step = false): void {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  const path = location.pathname === `${prefix}/` ? root : location.pathname;
  const address = `${path}${text && `?${text}`}`;
  if (step) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  place.value = read();
}

/** Follows links inside the dashboard without loading it anew, and the browser's back and forward. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = read();
  });
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey ||
      link.target ||
      link.hasAttribute('download')
    )
      return;
    if (link.origin !== location.origin || !link.pathname.startsWith(root)) return;
    event.preventDefault();
    follow(link.href);
  });
}

function read(): Place {
  const behind = location.pathname.startsWith(root) ? location.pathname.slice(root.length) : '';
  return {
    path: behind.split('/').filter(Boolean).map(decoded),
    query: new URLSearchParams(location.search),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
