/** A kind: its objects as a live table, with the server's own columns; events are grouped. */

import { useFailedPods } from '../../core/failed-pods.ts';
import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveTable } from '../../core/live.ts';
import { may } from '../../core/rights.ts';
import { place } from '../../core/router.ts';
import { pluralOf } from '../../ui/kind-name.ts';
import { Lazy } from '../../ui/lazy.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { ViewProps } from '../view.ts';
import { KindTable } from './kind-table.tsx';

const eventList = () => import('./event-list.tsx').then(({ EventList }) => EventList);

export function View({ path: [id = ''] }: ViewProps) {
  const kind = kindOf(id);
  if (!kind)
    return <Refusal error={new Error(`The server has no kind ${id}.`)} what="There is no such kind." />;
  const namespace = place.value.query.get('ns') ?? undefined;
  if (!may('list', kind, { namespace })) return <Unlisted kind={kind} namespace={namespace} />;
  if ((id === 'events' || id === 'events.events.k8s.io') && place.value.query.get('as') !== 'table')
    return <Lazy load={eventList} props={{ kind: kindOf('events') ?? kind }} />;
  return id === 'pods' ? <PodList kind={kind} /> : <KindList key={kind.id} kind={kind} />;
}

interface UnlistedProps {
  readonly kind: Kind;
  readonly namespace: string | undefined;
}

/** Said without a request that would be refused. */
function Unlisted({ kind, namespace }: UnlistedProps) {
  const why =
    kind.namespaced && !namespace
      ? 'You may not list them in all namespaces. Choose one above.'
      : 'You may not list them. An administrator can allow it by a role and a binding.';
  return <Refusal error={new Error(why)} what={`${pluralOf(kind)} cannot be shown.`} />;
}

function PodList({ kind }: { readonly kind: Kind }) {
  const namespace = place.value.query.get('ns') ?? undefined;
  return <KindList kind={kind} failed={useFailedPods(pathOf(kind, namespace))} />;
}

interface KindListProps {
  readonly kind: Kind;
  readonly failed?: ReadonlySet<string>;
}

function KindList({ kind, failed }: KindListProps) {
  const namespace = place.value.query.get('ns') ?? undefined;
  const table = useLiveTable(pathOf(kind, namespace));
  return <KindTable kind={kind} table={table} namespace={namespace} failed={failed} />;
}
