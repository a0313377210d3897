/** What a person wants to know of an object first. */
import { maySee } from '../../core/rights.ts';
import { selectorOf } from '../../core/selector.ts';
import { isWorkload } from '../../core/workload.ts';
import { adoptStyle } from '../../ui/adopted-style.ts';
import { CronRuns, NextRuns } from '../panels/cron-runs.tsx';
import { DataValues } from '../panels/data-values.tsx';
import { NodeState, NodeUse } from '../panels/node-use.tsx';
import { PodTable } from '../panels/pod-table.tsx';
import { ServiceReach } from '../panels/service-reach.tsx';
import { ProblemsOf } from '../problems/problems-of.tsx';
import type { TabProps } from '../tab.ts';
import { Conditions } from './conditions.tsx';
import { EventsOf } from './events.tsx';
import { Facts } from './fact-list.tsx';
import { factsOf } from './facts.ts';
import { Labels } from './labels.tsx';
import { LatestWarning } from './latest-warning.tsx';
import { PodSummary } from './pod-summary.tsx';
import { RelationPanels } from './relations.tsx';
import css from './summary.css' with { type: 'text' };
import { WorkloadSummary } from './workload-summary.tsx';

adoptStyle(css);

export function Tab(props: TabProps) {
  if (props.kind.id === 'pods') return <PodSummary {...props} />;
  return isWorkload(props.kind.id) ? <WorkloadSummary {...props} /> : <Summary {...props} />;
}

function Summary({ kind, object }: TabProps) {
  const { namespace, name } = object.metadata;
  const hasEvents = kind.id !== 'events' && maySee('events', namespace);
  const seesPods = maySee('pods', namespace);
  return (
    <div class="beside">
      <div>
        {hasEvents && kind.id === 'persistentvolumeclaims' && object.status?.phase === 'Pending' && (
          <LatestWarning object={object} otherwise="The claim waits for a volume." />
        )}
        {/* Conditions of a job say that it failed, its pods say why. */}
        {kind.id === 'jobs.batch' && <ProblemsOf object={object} />}
        {kind.id === 'nodes' ? <NodeState node={object} /> : <Conditions object={object} />}
        {kind.id !== 'persistentvolumeclaims' && kind.id !== 'jobs.batch' && <ProblemsOf object={object} />}
        {factsOf(object).length > 0 && (
          <section class="panel">
            <h2>{kind.kind}</h2>
            <Facts object={object} />
          </section>
        )}
        {(kind.id === 'configmaps' || kind.id === 'secrets') && <DataValues kind={kind} object={object} />}
        {kind.id === 'nodes' && <NodeUse node={object} />}
        {kind.id === 'nodes' && maySee('pods') && (
          <PodTable namespace={undefined} query={{ fieldSelector: `spec.nodeName=${name}` }} />
        )}
        {kind.id === 'services' && <ServiceReach service={object} />}
        {kind.id === 'jobs.batch' && seesPods && object.spec?.selector && (
          <PodTable namespace={namespace} query={{ labelSelector: selectorOf(object.spec.selector) }} />
        )}
        {kind.id === 'cronjobs.batch' && <NextRuns cronJob={object} />}
        {kind.id === 'cronjobs.batch' && maySee('jobs.batch', namespace) && <CronRuns cronJob={object} />}
      </div>
      <div>
        {kind.id === 'nodes' && <Conditions object={object} />}
        {hasEvents && <EventsOf object={object} />}
        <RelationPanels kind={kind} object={object} />
        <Labels object={object} />
      </div>
    </div>
  );
}
