/**
 * Pods that have failed while `kubectl get` says that they are completed: it takes the word of one container, such as one
 * that ended well when its pod was evicted, or beside another that failed.
 */
import { useMemo } from 'preact/hooks';
import { useLiveTable } from './live.ts';

const isEnded = /^(completed|succeeded)$/i;

/** Their uids: the same set as long as it holds the same. `path`: that of the pods that are shown. */
export function useFailedPods(path: string): ReadonlySet<string> {
  const table = useLiveTable(path, { fieldSelector: 'status.phase=Failed' });
  void table.version.value;
  const at = table.columns.value.findIndex(({ name }) => name === 'Status');
  const uids = [...table.rows.values()]
    .filter(({ cells, mark }) => mark !== 'gone' && isEnded.test(String(cells[at])))
    .map(({ uid }) => uid)
    .sort();
  return useMemo(() => new Set(uids), [uids.join()]);
}
