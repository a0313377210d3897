/** When a cron job runs next, and the jobs that it has made, the latest first. */
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import type { ApiObject, Json } from '../../core/objects.ts';
import { Age, ageText, shownNow } from '../../ui/age.tsx';
import { ObjectLink } from '../../ui/link.tsx';
import { nextRuns } from './cron-schedule.ts';

const shownMax = 20;
const nextMax = 5;

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
        <table class="simple cards">
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
                  <td data-label="Began">
                    <Age since={startOf(job)} />
                  </td>
                  <td data-label="Took">{ageText(Date.parse(startOf(job)), endOf(job))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** The next times of the schedule; those of a job that is suspended would come when it goes on. */
export function NextRuns({ cronJob: { spec, status, metadata } }: { readonly cronJob: ApiObject }) {
  const timeZone: string | undefined = spec?.timeZone ?? undefined;
  const lastMs = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '');
  const runs = nextRuns({ schedule: spec?.schedule ?? '', timeZone, lastMs }, shownNow(), nextMax);
  return (
    <section class="panel">
      <h2>
        Next runs <span class="quiet small">{timeZone ?? 'in the time zone of this browser'}</span>
      </h2>
      {spec?.suspend && <p class="warn">It is suspended: nothing runs until it goes on.</p>}
      {runs.length === 0 && <p class="quiet">The schedule names no time to come.</p>}
      {runs.length > 0 && !spec?.suspend && (
        <ol class="plainlist nextruns">
          {runs.map((atMs) => (
            <li key={atMs}>
              <time dateTime={new Date(atMs).toISOString()}>
                {new Date(atMs).toLocaleString(undefined, {
                  timeZone,
                  weekday: 'short',
                  year: 'numeric',
                  month: 'short',
                  day: 'numeric',
                  hour: '2-digit',
                  minute: '2-digit',
                })}
              </time>{' '}
              <span class="quiet">in {ageText(shownNow(), atMs)}</span>
            </li>
          ))}
        </ol>
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
