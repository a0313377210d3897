/** Says what the server shows a copy of: a dump that is open, or another cluster. */
import { useEffect, useState } from 'preact/hooks';
import { findRange } from '../core/history/history.ts';
import type { HistoryRange } from '../core/history/history-range.ts';
import { isReadOnly } from '../core/rights.ts';

export function CopyStrip() {
  const [copy, setCopy] = useState<HistoryRange['copy']>();
  useEffect(() => {
    findRange()
      .then(({ copy: found }) => {
        setCopy(found);
        isReadOnly.value = found !== undefined && !found.isWritable;
      })
      // That a server does not answer is shown elsewhere.
      .catch(() => undefined);
  }, []);
  if (!copy) return null;
  return (
    <p class="copyof" role="status">
      This is a copy of <strong>{copy.about}</strong>:{' '}
      {copy.isWritable ? 'changes stay in this process.' : 'read-only, nothing can be changed in it.'}
    </p>
  );
}
