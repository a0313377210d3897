/** The jobs that a cron job has made, the latest first. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { Age, ageText, shownNow } from '../../ui/age.tsx';
import { ObjectLink } from '../../ui/link.tsx';

const shownMax = 20;

export function CronRuns({ cronJob }: { readonly cronJob: ApiObject }) {
  const kind = kindOf('jobs.batch')!;
  const { namespace, uid } = cronJob.metadata;
  const live = useLiveObjects(pathOf(kind, namespace));
  const jobs = live.items.value
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
    .toSorted((a, b) => startOf(b).localeCompare(startOf(a)));
  return (
    <section class="panel">
      <h2>Runs</h2>
      {jobs.length === 0 && (
        <p class="quiet">{live.state.value === 'loading' ? 'Loading…' : 'None are kept.'}</p>
      )}
      {jobs.length > 0 && (
        <table class="simple">
          <thead>
            <tr>
              <th>Job</th>
              <th>State</th>
              <th>Began</th>
              <th>Took</th>
            </tr>
          </thead>
          <tbody>
            {jobs.slice(0, shownMax).map((job) => {
              const [word, tone] = stateOf(job);
              return (
                <tr key={job.metadata.uid}>
                  <td>
                    <ObjectLink kind={kind} namespace={namespace} name={job.metadata.name} />
                  </td>
                  <td>
                    <span class={`badge ${tone}`}>{word}</span>
                  </td>
                  <td>
                    <Age since={startOf(job)} />
                  </td>
                  <td>{ageText(Date.parse(startOf(job)), endOf(job))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}

const startOf = ({ status, metadata }: ApiObject): string =>
  status?.startTime ?? metadata.creationTimestamp ?? '';

const conditionOf = ({ status }: ApiObject, type: string): Json =>
  status?.conditions?.find((each: Json) => each.type === type && each.status === 'True');

const endOf = (job: ApiObject): number =>
  Date.parse(job.status?.completionTime ?? conditionOf(job, 'Failed')?.lastTransitionTime ?? '') ||
  shownNow();

function stateOf(job: ApiObject): readonly [word: string, tone: string] {
  const failed = conditionOf(job, 'Failed');
  if (failed) return [failed.reason ?? 'Failed', 'bad'];
  if (conditionOf(job, 'Complete')) return ['Complete', 'good'];
  return job.spec?.suspend ? ['Suspended', 'warn'] : ['Running', ''];
}
