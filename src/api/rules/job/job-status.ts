/**
 * Job status: rules for the status of a batch/v1 job. Most rules apply only when a write changes the field, or a
 * field that it depends on, so that an already invalid status can still be updated.
 */
import { duplicate, index, invalid, required } from '../../errors/field-error.ts';
import type { JobStatusV1, JobV1 } from '../../generated/types.ts';
import { jsonText } from '../../text/json-text.ts';
import { timeToMs } from '../../values/time.ts';
import { type Findings, negative } from '../shared/findings.ts';
import { commonIndex, IndexesError, type Interval, parseIndexes } from './job-indexes.ts';
import { isIndexed, refused } from './job-policy.ts';

const conditionsPath = 'status.conditions';

/** The conditions of a status, by type. */
class Verdict {
  readonly #true: ReadonlySet<string>;

  constructor({ conditions = [] }: JobStatusV1) {
    this.#true = new Set(conditions.filter(({ status }) => status === 'True').map(({ type }) => type ?? ''));
  }

  is(type: 'Complete' | 'Failed' | 'FailureTarget' | 'SuccessCriteriaMet' | 'Suspended'): boolean {
    return this.#true.has(type);
  }

  get finished(): boolean {
    return this.is('Complete') || this.is('Failed');
  }
}

export function* jobStatusErrors(job: JobV1, old: JobV1): Findings {
  const { status = {} } = job;
  yield* countErrors(status);
  const now = new Verdict(status);
  const before = new Verdict(old.status ?? {});
  const changed = (...names: (keyof JobStatusV1)[]): boolean =>
    names.some((name) => jsonText(status[name]) !== jsonText(old.status?.[name]));
  const completes = now.is('Complete') !== before.is('Complete');
  const finishes = now.finished !== before.finished;
  yield* conditionErrors(job, now, before);
  if (completes || changed('completionTime')) yield* completionTimeErrors(status, now);
  if (changed('startTime', 'completionTime') && isBefore(status.completionTime, status.startTime))
    yield invalid(
      'status.completionTime',
      status.completionTime,
      'completionTime cannot be set before startTime',
    );
  if (now.finished) {
    if ((finishes || changed('active')) && (status.active ?? 0) > 0)
      yield invalid('status.active', status.active, 'active>0 is invalid for finished job');
    if ((finishes || changed('startTime')) && !status.startTime && !isNeverRun(job))
      yield required('status.startTime', 'startTime is required for finished job');
    if ((finishes || changed('uncountedTerminatedPods')) && hasUncounted(status))
      yield invalid(
        'status.uncountedTerminatedPods',
        status.uncountedTerminatedPods,
        'uncountedTerminatedPods needs to be empty for finished job',
      );
    if ((finishes || changed('terminating')) && (status.terminating ?? 0) > 0)
      yield invalid('status.terminating', status.terminating, 'terminating>0 is invalid for finished job');
  }
  if (changed('completedIndexes', 'failedIndexes')) yield* indexErrors(job, changed);
  if (changed('ready', 'active') && (status.ready ?? 0) > (status.active ?? 0))
    yield invalid('status.ready', status.ready, 'cannot set more ready pods than active');
  yield* changeErrors(job, old.status ?? {}, now, before);
}

function* countErrors(status: JobStatusV1): Findings {
  for (const name of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    yield* negative(`status.${name}`, status[name]);
  const seen = new Set<string>();
  for (const name of ['succeeded', 'failed'] as const)
    for (const [i, uid] of (status.uncountedTerminatedPods?.[name] ?? []).entries()) {
      const path = index(`status.uncountedTerminatedPods.${name}`, i);
      if (uid === '') yield invalid(path, uid, 'must not be empty');
      else if (seen.has(uid)) yield duplicate(path, uid);
      seen.add(uid);
    }
}

/** A job ends in one way only, and has the condition that announces it first (FailureTarget, SuccessCriteriaMet). */
function* conditionErrors({ spec = {} }: JobV1, now: Verdict, before: Verdict): Findings {
  const flips = (...types: Parameters<Verdict['is']>[0][]): boolean =>
    types.some((type) => now.is(type) !== before.is(type));
  const both = (a: Parameters<Verdict['is']>[0], b: Parameters<Verdict['is']>[0]): boolean =>
    now.is(a) && now.is(b);
  if (flips('Complete', 'Failed') && both('Complete', 'Failed'))
    yield refused(conditionsPath, 'cannot set Complete=True and Failed=true conditions');
  if (flips('Complete', 'FailureTarget') && both('Complete', 'FailureTarget'))
    yield refused(conditionsPath, 'cannot set Complete=True and FailureTarget=true conditions');
  if (flips('Failed', 'FailureTarget') && now.is('Failed') && !now.is('FailureTarget'))
    yield refused(
      conditionsPath,
      'cannot set Failed=True condition without the FailureTarget=true condition',
    );
  if (flips('Complete', 'SuccessCriteriaMet') && now.is('Complete') && !now.is('SuccessCriteriaMet'))
    yield refused(
      conditionsPath,
      'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
    );
  if (both('SuccessCriteriaMet', 'Failed'))
    yield refused(conditionsPath, 'cannot set SuccessCriteriaMet=True and Failed=true conditions');
  if (both('SuccessCriteriaMet', 'FailureTarget'))
    yield refused(conditionsPath, 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions');
  if (spec.successPolicy && now.is('Complete') && !now.is('SuccessCriteriaMet'))
    yield refused(
      conditionsPath,
      'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
    );
}

function* completionTimeErrors({ completionTime }: JobStatusV1, now: Verdict): Findings {
  if (completionTime && !now.is('Complete'))
    yield invalid(
      'status.completionTime',
      completionTime,
      'cannot set completionTime when there is no Complete=True condition',
    );
  if (!completionTime && now.is('Complete'))
    yield required('status.completionTime', 'completionTime is required for Complete jobs');
}

const isBefore = (time: string | undefined, other: string | undefined): boolean =>
  time !== undefined && other !== undefined && timeToMs(time) < timeToMs(other);

/** A suspended job with zero completions is complete without a start time. */
const isNeverRun = ({ spec = {} }: JobV1): boolean => spec.suspend === true && spec.completions === 0;

const hasUncounted = ({ uncountedTerminatedPods: pods }: JobStatusV1): boolean =>
  (pods?.succeeded?.length ?? 0) + (pods?.failed?.length ?? 0) > 0;

function* indexErrors(
  { spec = {}, status = {} }: JobV1,
  changed: (...names: (keyof JobStatusV1)[]) => boolean,
): Findings {
  const { completedIndexes = '', failedIndexes } = status;
  const { completions, backoffLimitPerIndex } = spec;
  let completed: Interval[] = [];
  let failed: Interval[] = [];
  if (completions !== undefined) {
    completed = yield* readIndexes('completedIndexes', completedIndexes, completions, changed);
    if (backoffLimitPerIndex !== undefined && failedIndexes !== undefined)
      failed = yield* readIndexes('failedIndexes', failedIndexes, completions, changed);
  }
  if (changed('completedIndexes') && completedIndexes && !isIndexed(spec))
    yield invalid(
      'status.completedIndexes',
      completedIndexes,
      'cannot set non-empty completedIndexes when non-indexed completion mode',
    );
  if (changed('failedIndexes') && failedIndexes !== undefined && backoffLimitPerIndex === undefined)
    yield invalid(
      'status.failedIndexes',
      failedIndexes,
      'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
    );
  const common = commonIndex(completed, failed);
  if (common !== undefined)
    yield invalid(
      'status.failedIndexes',
      failedIndexes,
      `failedIndexes and completedIndexes overlap at index: ${common}`,
    );
}

/** Parses the indexes of a field; an error is reported only if this write has changed the field. */
function* readIndexes(
  name: 'completedIndexes' | 'failedIndexes',
  text: string,
  completions: number,
  changed: (name: keyof JobStatusV1) => boolean,
): Findings<Interval[]> {
  try {
    return parseIndexes(text, completions);
  } catch (error) {
    if (!(error instanceof IndexesError)) throw error;
    if (changed(name)) yield invalid(`status.${name}`, text, `error parsing ${name}: ${error.message}`);
    return [];
  }
}

/** Final conditions cannot be removed, and counters cannot decrease. */
function* changeErrors(
  { spec = {}, status = {} }: JobV1,
  old: JobStatusV1,
  now: Verdict,
  before: Verdict,
): Findings {
  for (const type of ['Failed', 'Complete', 'FailureTarget'] as const)
    if (before.is(type) && !now.is(type))
      yield refused(conditionsPath, `cannot disable the terminal ${type}=True condition`);
  if ((status.failed ?? 0) < (old.failed ?? 0))
    yield invalid('status.failed', status.failed ?? 0, 'cannot decrease the failed counter');
  // An Indexed job can be made smaller, and then drops indexes that are out of range.
  const elastic = isIndexed(spec) && spec.completions === spec.parallelism;
  if (!elastic && (status.succeeded ?? 0) < (old.succeeded ?? 0))
    yield invalid('status.succeeded', status.succeeded ?? 0, 'cannot decrease the succeeded counter');
  if (status.completionTime && old.completionTime && status.completionTime !== old.completionTime)
    yield invalid('status.completionTime', status.completionTime, 'completionTime cannot be mutated');
  const resumes = before.is('Suspended') && !now.is('Suspended');
  if (old.startTime && status.startTime !== old.startTime && !spec.suspend && !resumes)
    yield required('status.startTime', 'startTime cannot be removed for unsuspended job');
  if (before.is('SuccessCriteriaMet') && !now.is('SuccessCriteriaMet'))
    yield refused(conditionsPath, 'cannot disable the SuccessCriteriaMet=True condition');
  if (before.is('Complete') && !before.is('SuccessCriteriaMet') && now.is('SuccessCriteriaMet'))
    yield refused(
      conditionsPath,
      'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    );
}
