/** What is rolling out: workloads whose pods are not all new and ready yet. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject } from '../../core/objects.ts';
import { type Rollout, rolloutOf } from '../../core/workload.ts';
import { ShareBar } from '../../ui/bar.tsx';
import { FullLink } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { readinessTone } from '../../ui/tone.ts';

const shownMax = 8;
export const workloadIds = ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'];

interface Found {
  readonly id: string;
  readonly object: ApiObject;
  readonly rollout: Rollout;
}

export function Rollouts({ namespace }: { readonly namespace: string | undefined }) {
  const found = workloadIds.map((id) => useRollouts(id, namespace));
  const rollouts = found
    .flatMap(({ list }) => list)
    .sort((a, b) => Number(b.rollout.state === 'stuck') - Number(a.rollout.state === 'stuck'));
  const error = found.find((each) => each.error)?.error;
  return (
    <section class="panel rollouts">
      <h2>Rolling out</h2>
      {error && <Refusal error={error} what="Workloads cannot be shown." />}
      {rollouts.length === 0 && !error && (
        <p class="quiet">Nothing: all pods of workloads are new and ready.</p>
      )}
      <ul class="nodes">
        {rollouts.slice(0, shownMax).map(({ id, object, rollout }) => (
          <li key={object.metadata.uid}>
            <div class="nodename">
              <FullLink
                kind={kindOf(id)!}
                within={namespace}
                namespace={object.metadata.namespace}
                name={object.metadata.name}
              />
              {rollout.state === 'stuck' && <span class="badge bad">gave up</span>}
              {rollout.state === 'paused' && <span class="badge warn">paused</span>}
            </div>
            <ShareBar
              label="Ready"
              part={rollout.ready}
              whole={rollout.wanted}
              text={`${rollout.ready} of ${rollout.wanted}`}
              tone={readinessTone(rollout.ready, rollout.wanted)}
            />
            {rollout.updated < rollout.wanted && (
              <ShareBar
                label="New"
                part={rollout.updated}
                whole={rollout.wanted}
                text={`${rollout.updated} of ${rollout.wanted}`}
                tone={undefined}
              />
            )}
            {rollout.reason && <p class="why">{rollout.reason}</p>}
          </li>
        ))}
      </ul>
      {rollouts.length > shownMax && <p class="quiet">and {rollouts.length - shownMax} more</p>}
    </section>
  );
}

function useRollouts(id: string, namespace: string | undefined) {
  const live = useLiveObjects(pathOf(kindOf(id)!, namespace));
  const list = live.items.value
    .map((object): Found => ({ id, object, rollout: rolloutOf(id, object) }))
    .filter(({ rollout }) => rollout.state !== 'complete');
  return { list, error: live.error.value };
}
