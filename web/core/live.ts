/**
 * Live tables and objects for components. Components with the same request share it. It is closed a little after the
 * last component is gone, so that going elsewhere and back shows the table at once.
 */
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Query } from './api.ts';
import { LiveObjects } from './live-objects.ts';
import { LiveTable } from './live-table.ts';
import { moment } from './moment.ts';

/** How long an unused table is kept, and how many. */
const idleMs = 20_000;
const idleMax = 4;

interface Live {
  close(): void;
  readonly state: ReadonlySignal<string>;
}

interface Shared {
  readonly live: Live;
  users: number;
  /** Set while it is unused. Before its first use it is not set, and it is not closed. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

const shared = new Map<string, Shared>();

/** A table of a path, at the moment that the dashboard shows. */
export function useLiveTable(path: string, query: Query = {}): LiveTable {
  return useLive(`table ${path}`, query, (at) => new LiveTable(path, query, at));
}

/** Objects of a path, at the moment that the dashboard shows. Give it lists that are short by nature. */
export function useLiveObjects(path: string, query: Query = {}): LiveObjects {
  return useLive(`objects ${path}`, query, (at) => new LiveObjects(path, query, at));
}

/**
 * Shares live data. When only the moment changes, the old data stays until the new list is there, so that playing
 * history does not flicker.
 */
function useLive<T extends Live>(what: string, query: Query, open: (at?: number) => T): T {
  const at = moment.value;
  const asked = `${what} ${JSON.stringify(query)}`;
  const key = `${asked} ${at ?? ''}`;
  const live = useMemo(() => find(key, () => open(at)), [key]) as T;
  const before = useRef<{ live: T; asked: string } | undefined>(undefined);
  useEffect(() => {
    const entry = shared.get(key);
    if (!entry) return;
    entry.users++;
    clearTimeout(entry.timer);
    entry.timer = undefined;
    return () => release(key, entry);
  }, [key]);
  if (live.state.value === 'loading' && before.current?.asked === asked) return before.current.live;
  before.current = { live, asked };
  return live;
}

function find(key: string, open: () => Live): Live {
  let entry = shared.get(key);
  // Request again what was refused.
  if (!entry || entry.live.state.peek() === 'refused') {
    entry = { live: open(), users: 0, timer: undefined };
    shared.set(key, entry);
  }
  return entry.live;
}

function release(key: string, entry: Shared): void {
  if (--entry.users > 0) return;
  entry.timer = setTimeout(() => drop(key, entry), idleMs);
  const idle = [...shared].filter(([, { timer }]) => timer !== undefined);
  for (const [oldKey, old] of idle.slice(0, -idleMax)) drop(oldKey, old);
}

function drop(key: string, entry: Shared): void {
  clearTimeout(entry.timer);
  entry.live.close();
  if (shared.get(key) === entry) shared.delete(key);
}
