/** The cluster at a glance: health, nodes, pods, what is rolling out, warnings, requests. */
import { moment } from '../../core/moment.ts';
import { mayGetPath, maySee } from '../../core/rights.ts';
import { place } from '../../core/router.ts';
import { Health } from './health.tsx';
import { Nodes } from './nodes.tsx';
import { Pods } from './pods.tsx';
import { Problems } from './problems.tsx';
import { Requests } from './requests.tsx';
import { Rollouts, workloadIds } from './rollouts.tsx';
import { Warnings } from './warnings.tsx';

export function View() {
  const namespace = place.value.query.get('ns') ?? undefined;
  const isPast = moment.value !== undefined;
  return (
    <>
      <div class="titleline">
        <h1>Overview</h1>
        {namespace && <span class="quiet">of the namespace {namespace}</span>}
        <span class="gap" />
        {!isPast && <Health />}
      </div>
      {!maySee('pods', namespace) && (
        <p class="waiting">
          {namespace
            ? 'You may not see the pods of this namespace.'
            : 'Choose a namespace above: you may not see all of them.'}
        </p>
      )}
      <div class="panels">
        {!isPast && <Problems namespace={namespace} />}
        {maySee('pods', namespace) && <Pods namespace={namespace} />}
        {workloadIds.every((id) => maySee(id, namespace)) && <Rollouts namespace={namespace} />}
        {mayGetPath('/metrics') && <Requests />}
        {maySee('nodes') && <Nodes isPast={isPast} />}
        {maySee('events', namespace) && <Warnings namespace={namespace} />}
      </div>
    </>
  );
}
