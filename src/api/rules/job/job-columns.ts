/** Job columns: what `kubectl get jobs` shows, in all versions of Job. */

import type { JobCondition } from '../../generated/types.ts';
import type { Column } from '../../kind/kind.ts';
import { formatLabelSelectorObject, type LabelSelectorObject } from '../../kind/label-selector.ts';
import { type Cell, Elapsed } from '../../values/elapsed.ts';
import { durationText, timeToMs } from '../../values/time.ts';
import {
  ageCell,
  ageColumn,
  containersCell,
  containersColumn,
  imagesCell,
  imagesColumn,
  nameColumn,
  selectorColumn,
  wide,
} from '../shared/columns.ts';
import type { SelectingJob } from './job-selector.ts';

/** Fields that all versions of Job share. */
interface ShownJob extends SelectingJob {
  spec?: SelectingJob['spec'] & { completions?: number; parallelism?: number };
  status?: {
    conditions?: JobCondition[];
    startTime?: string;
    completionTime?: string;
    succeeded?: number;
  };
}

/** Conditions by precedence for the Status column; a deletion comes after the first two. */
const endings = ['Complete', 'Failed'];
const stages = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'];

export const jobColumns: readonly Column[] = [
  nameColumn,
  { name: 'Status', description: 'How the job is doing.' },
  { name: 'Completions', description: 'Pods that have succeeded, out of all that must.' },
  { name: 'Duration', description: 'How long the job has been running, or took.' },
  ageColumn,
  wide(containersColumn),
  wide(imagesColumn),
  wide(selectorColumn),
];

export function jobCells(job: ShownJob): Cell[] {
  const containers = job.spec?.template?.spec?.containers;
  return [
    job.metadata.name,
    statusCell(job),
    completionsCell(job),
    durationCell(job),
    ageCell(job),
    containersCell(containers),
    imagesCell(containers),
    formatLabelSelectorObject(job.spec?.selector as LabelSelectorObject | undefined),
  ];
}

function statusCell({ metadata, status }: ShownJob): string {
  const met = new Set((status?.conditions ?? []).filter(isTrue).map(({ type }) => type));
  const first = (types: readonly string[]): string | undefined => types.find((type) => met.has(type));
  return first(endings) ?? (metadata.deletionTimestamp ? 'Terminating' : (first(stages) ?? 'Running'));
}

const isTrue = (condition: { status?: string }): boolean => condition.status === 'True';

function completionsCell({ spec, status }: ShownJob): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: ShownJob): Cell {
  if (!status?.startTime) return '';
  const startMs = timeToMs(status.startTime);
  return status.completionTime
    ? durationText(timeToMs(status.completionTime) - startMs)
    : new Elapsed(startMs);
}
