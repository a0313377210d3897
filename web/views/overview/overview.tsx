/** The cluster at a glance: health, nodes, pods, what is rolling out, warnings, requests. */
import { kindOf } from '../../core/kinds.ts';
import { moment } from '../../core/moment.ts';
import { place } from '../../core/router.ts';
import { Health } from './health.tsx';
import { Nodes } from './nodes.tsx';
import { Pods } from './pods.tsx';
import { Requests } from './requests.tsx';
import { Rollouts } from './rollouts.tsx';
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
      <div class="panels">
        {kindOf('pods') && <Pods namespace={namespace} />}
        {kindOf('deployments.apps') && <Rollouts namespace={namespace} />}
        {!isPast && <Requests />}
        {kindOf('nodes') && <Nodes isPast={isPast} />}
        {kindOf('events') && <Warnings namespace={namespace} />}
      </div>
    </>
  );
}
