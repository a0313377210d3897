/** Metrics of a recorder. */
import { type Exposition, labelText } from '../../server/observe/exposition.ts';
import type { RecordStatus } from './record-status.ts';

export function recordingMetrics(out: Exposition, now: RecordStatus): void {
  out.single('wherry_record_changes_total', 'counter', 'Changes that were recorded.', now.changes);
  out.single(
    'wherry_record_lag_seconds',
    'gauge',
    'How long changes wait until they are recorded.',
    now.lagMs / 1_000,
  );
  out.single(
    'wherry_record_gaps_total',
    'counter',
    'Times in which nothing was seen of a resource.',
    now.gaps,
  );
  out.family('wherry_record_resources', 'gauge', 'Resources that are followed, by what they do.');
  for (const state of ['watched', 'waiting', 'refused'] as const)
    out.sample(now[state], labelText({ state }));
  out.single('wherry_record_skipped_total', 'counter', 'Objects that could not be recorded.', now.skipped);
  out.single('wherry_record_requests_total', 'counter', 'Requests to the recorded cluster.', now.requests);
  out.single('wherry_record_history_bytes', 'gauge', 'Size of the changes that are kept.', now.historyBytes);
}
