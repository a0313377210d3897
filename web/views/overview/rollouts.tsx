/** What is rolling out: workloads whose pods are not all new and ready yet. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { ShareBar } from '../../ui/bar.tsx';
import { ObjectLink } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';

const shownMax = 8;

interface Rollout {
  readonly id: string;
  readonly object: ApiObject;
  readonly done: number;
  readonly wanted: number;
}

export function Rollouts({ namespace }: { readonly namespace: string | undefined }) {
  const found = [
    useRollouts('deployments.apps', namespace),
    useRollouts('statefulsets.apps', namespace),
    useRollouts('daemonsets.apps', namespace),
  ];
  const rollouts = found.flatMap(({ list }) => list);
  const error = found.find((each) => each.error)?.error;
  return (
    <section class="panel">
      <h2>Rolling out</h2>
      {error && <Refusal error={error} what="Workloads cannot be shown." />}
      {rollouts.length === 0 && !error && <p class="quiet">Nothing: all workloads are as they should be.</p>}
      <ul class="nodes">
        {rollouts.slice(0, shownMax).map(({ id, object, done, wanted }) => (
          <li key={object.metadata.uid}>
            <div class="nodename">
              <ObjectLink
                kind={kindOf(id)!}
                namespace={object.metadata.namespace}
                name={object.metadata.name}
              />
            </div>
            <ShareBar label="Ready" part={done} whole={wanted} text={`${done} of ${wanted}`} />
          </li>
        ))}
      </ul>
      {rollouts.length > shownMax && <p class="quiet">and {rollouts.length - shownMax} more</p>}
    </section>
  );
}

function useRollouts(id: string, namespace: string | undefined) {
  const live = useLiveObjects(pathOf(kindOf(id)!, namespace));
  const list = live.items.value.map((object) => progressOf(id, object)).filter((each) => each !== undefined);
  return { list, error: live.error.value };
}

/** Undefined for what is complete. */
function progressOf(id: string, object: ApiObject): Rollout | undefined {
  const { spec, status, metadata } = object;
  const isDaemon = id.startsWith('daemonsets');
  const wanted = (isDaemon ? status?.desiredNumberScheduled : spec?.replicas) ?? 0;
  const updated = (isDaemon ? status?.updatedNumberScheduled : status?.updatedReplicas) ?? 0;
  const ready = (isDaemon ? status?.numberReady : status?.readyReplicas) ?? 0;
  const seen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const done = Math.min(updated, ready);
  return seen && done >= wanted ? undefined : { id, object, done, wanted };
}
