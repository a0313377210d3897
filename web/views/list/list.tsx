/** A kind: its objects as a live table, with the server's own columns; events are grouped. */

import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveTable } from '../../core/live.ts';
import { place } from '../../core/router.ts';
import { Lazy } from '../../ui/lazy.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { ViewProps } from '../view.ts';
import { KindTable } from './kind-table.tsx';

const eventList = () => import('./event-list.tsx').then(({ EventList }) => EventList);

export function View({ path: [id = ''] }: ViewProps) {
  const kind = kindOf(id);
  if (!kind)
    return <Refusal error={new Error(`The server has no kind ${id}.`)} what="There is no such kind." />;
  if ((id === 'events' || id === 'events.events.k8s.io') && place.value.query.get('as') !== 'table')
    return <Lazy load={eventList} props={{ kind: kindOf('events') ?? kind }} />;
  return <KindList key={kind.id} kind={kind} />;
}

function KindList({ kind }: { readonly kind: Kind }) {
  const namespace = place.value.query.get('ns') ?? undefined;
  const table = useLiveTable(pathOf(kind, namespace));
  return <KindTable kind={kind} table={table} namespace={namespace} />;
}
