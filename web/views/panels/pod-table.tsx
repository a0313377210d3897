/** Pods of a workload or a node as a table: those that are not well first. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import type { Changes } from '../../core/router.ts';
import { Age } from '../../ui/age.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { FullLink, Link, listPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { toneOf } from '../../ui/tone.ts';
import { stateWords } from '../pods/pod-words.ts';

const shownMax = 50;
/** Where all are well there is room for what stands below. */
const wellMax = 10;

interface PodTableProps {
  /** Undefined: pods of all namespaces, which are then shown. */
  readonly namespace: string | undefined;
  readonly query: { readonly labelSelector?: string; readonly fieldSelector?: string };
  readonly isShown?: (pod: ApiObject) => boolean;
  /** The workload has as many pods as it wants: those that failed before come last. */
  readonly isWhole?: boolean;
}

export function PodTable({ namespace, query, isShown = () => true, isWhole = false }: PodTableProps) {
  const kind = kindOf('pods')!;
  const live = useLiveObjects(pathOf(kind, namespace), query);
  const pods = problemsFirst(live.items.value.filter(isShown), isWhole);
  const most = isWhole ? wellMax : shownMax;
  return (
    <section class="panel">
      <h2>
        Pods <span class="quiet">{pods.length}</span>
      </h2>
      {live.error.value && <Refusal error={live.error.value} what="Pods cannot be shown." />}
      {pods.length === 0 && !live.error.value && (
        <p class="quiet">{live.state.value === 'loading' ? 'Loading…' : 'There are no pods.'}</p>
      )}
      {pods.length > 0 && (
        <table class="simple podtable cards">
          <thead>
            <tr>
              <th>Name</th>
              <th>State</th>
              <th>Ready</th>
              <th>Restarts</th>
              {namespace && <th>Node</th>}
              <th>Age</th>
            </tr>
          </thead>
          <tbody>
            {pods.slice(0, most).map((pod) => (
              <PodLine key={pod.metadata.uid} pod={pod} isLocal={namespace !== undefined} />
            ))}
          </tbody>
        </table>
      )}
      {pods.length > most && (
        <p class="quiet">
          and{' '}
          <Link to={listPlace(kind)} query={listQuery(namespace, query)}>
            {pods.length - most} more
          </Link>
        </p>
      )}
    </section>
  );
}

/** The same pods in the table of all pods; those of a node by its name. */
const listQuery = (
  namespace: string | undefined,
  { labelSelector, fieldSelector }: PodTableProps['query'],
): Changes => ({ ns: namespace, labels: labelSelector, q: fieldSelector?.split('=')[1] });

function PodLine({ pod, isLocal }: { readonly pod: ApiObject; readonly isLocal: boolean }) {
  const { metadata, spec, status } = pod;
  const statuses: Json[] = status?.containerStatuses ?? [];
  const state = stateWords(pod);
  return (
    <tr>
      <td>
        <FullLink
          kind={kindOf('pods')!}
          within={isLocal ? metadata.namespace : undefined}
          namespace={metadata.namespace}
          name={metadata.name}
        />
      </td>
      <td>
        <span class={`badge ${toneOf(state) ?? ''}`}>{state}</span>
      </td>
      <td data-label="Ready">
        {statuses.filter(({ ready }) => ready).length}/{spec?.containers?.length ?? 0}
      </td>
      <td data-label="Restarts">{statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0)}</td>
      {isLocal && (
        <td data-label="Node" class="nodecell">
          <Breakable text={spec?.nodeName ?? ''} />
        </td>
      )}
      <td data-label="Age">
        <Age since={metadata.creationTimestamp} />
      </td>
    </tr>
  );
}

const ranks: Readonly<Record<string, number>> = { bad: 0, warn: 1 };

function problemsFirst(pods: readonly ApiObject[], isWhole: boolean): readonly ApiObject[] {
  const rankOf = (pod: ApiObject): number =>
    isWhole && pod.status?.phase === 'Failed' ? 3 : (ranks[toneOf(stateWords(pod)) ?? ''] ?? 2);
  return pods
    .map((pod) => ({ pod, rank: rankOf(pod) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ pod }) => pod);
}
