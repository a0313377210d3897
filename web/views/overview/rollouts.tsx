/** Workloads whose pods are not all new and ready: what is rolling out, was given up, or is not ready any more. */
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
  const rollouts = found.flatMap(({ list }) => list).sort((a, b) => orderOf(a) - orderOf(b));
  const error = found.find((each) => each.error)?.error;
  return (
    <section class="panel rollouts">
      <h2>Rolling out or not ready</h2>
      {error && <Refusal error={error} what="Workloads cannot be shown." />}
      {rollouts.length === 0 && !error && (
        <p class="quiet">Nothing: all pods of workloads are new and ready.</p>
      )}
      <ul class="nodes">
        {rollouts.slice(0, shownMax).map((found) => (
          <RolloutBars key={found.object.metadata.uid} found={found} within={namespace} />
        ))}
      </ul>
      {rollouts.length > shownMax && (
        <details>
          <summary>{rollouts.length - shownMax} more</summary>
          <ul class="nodes">
            {rollouts.slice(shownMax).map((found) => (
              <RolloutBars key={found.object.metadata.uid} found={found} within={namespace} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

const order = ['stuck', 'unready', 'progressing', 'paused'];
const orderOf = ({ rollout }: Found): number => order.indexOf(rollout.state);

const badges: Readonly<Partial<Record<Rollout['state'], readonly [word: string, tone: string]>>> = {
  stuck: ['gave up', 'bad'],
  unready: ['not ready', 'bad'],
  paused: ['paused', 'warn'],
};

function RolloutBars({
  found: { id, object, rollout },
  within,
}: {
  readonly found: Found;
  readonly within: string | undefined;
}) {
  const { state, ready, updated, wanted, reason } = rollout;
  const [word, tone] = badges[state] ?? [];
  return (
    <li>
      <div class="nodename">
        <FullLink
          kind={kindOf(id)!}
          within={within}
          namespace={object.metadata.namespace}
          name={object.metadata.name}
        />
        {word && <span class={`badge ${tone}`}>{word}</span>}
      </div>
      <ShareBar
        label="Ready"
        part={ready}
        whole={wanted}
        text={`${ready} of ${wanted}`}
        tone={readinessTone(ready, wanted)}
      />
      {updated < wanted && (
        <ShareBar
          label="New"
          part={updated}
          whole={wanted}
          text={`${updated} of ${wanted}`}
          tone={undefined}
        />
      )}
      {reason && <p class="why">{reason}</p>}
    </li>
  );
}

function useRollouts(id: string, namespace: string | undefined) {
  const live = useLiveObjects(pathOf(kindOf(id)!, namespace));
  const list = live.items.value
    .map((object): Found => ({ id, object, rollout: rolloutOf(id, object) }))
    .filter(({ rollout }) => rollout.state !== 'complete');
  return { list, error: live.error.value };
}
