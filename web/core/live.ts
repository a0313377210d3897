/** Live tables and objects for components: opened with the component, opened anew when what is asked for changes. */
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Query } from './api.ts';
import { LiveObjects } from './liveobjects.ts';
import { LiveTable } from './livetable.ts';
import { moment } from './moment.ts';

/** A table of a path, at the moment that the page shows. */
export function useLiveTable(path: string, query: Query = {}): LiveTable {
  return useLive(path, query, (at) => new LiveTable(path, query, at));
}

/** Objects of a path, at the moment that the page shows. Give it lists that are short by nature. */
export function useLiveObjects(path: string, query: Query = {}): LiveObjects {
  return useLive(path, query, (at) => new LiveObjects(path, query, at));
}

interface Live {
  close(): void;
  readonly state: ReadonlySignal<string>;
}

/** When only the moment changes, what was shown stays until the new list is there: playing history does not flicker. */
function useLive<T extends Live>(path: string, query: Query, open: (at?: number) => T): T {
  const at = moment.value;
  const asked = `${path} ${JSON.stringify(query)}`;
  const live = useMemo(() => open(at), [asked, at]);
  const before = useRef<{ live: T; asked: string } | undefined>(undefined);
  useEffect(() => () => live.close(), [live]);
  if (live.state.value === 'loading' && before.current?.asked === asked) return before.current.live;
  before.current = { live, asked };
  return live;
}
