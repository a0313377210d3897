/** The title of the browser's tab: what is shown, of what, and where. */
import type { Kind } from '../core/kinds.ts';
import { noNamespace } from '../core/objects.ts';
import type { Place } from '../core/router.ts';
import { pluralOf } from '../ui/kind-name.ts';

const product = 'Wherry';

/** `web-1 · Pod · default · Wherry`: the most telling first, since tabs are narrow. */
export function titleOf(
  { path: [view = 'overview', id = '', ...rest], query }: Place,
  kindBy: (id: string) => Kind | undefined,
): string {
  const kind = kindBy(id);
  const parts = query.get('at') ? ['Past'] : [];
  const namespace = query.get('ns') ?? '';
  if (view === 'object') {
    const [within = noNamespace, name = ''] = rest;
    parts.push(name, kind?.kind ?? id, within === noNamespace ? '' : within);
  } else if (view === 'list') parts.push(kind ? pluralOf(kind) : id, namespace);
  else if (view === 'create') parts.push(`Create ${kind?.kind ?? id}`, namespace);
  else parts.push(`${view.slice(0, 1).toUpperCase()}${view.slice(1)}`, namespace);
  return [...parts, product].filter(Boolean).join(' · ');
}
