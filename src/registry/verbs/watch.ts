/** Watch: at which event a watch begins, and with which initial state. */
import { invalidOptions, watchExpired } from '../../api/errors/errors.ts';
import { forbidden } from '../../api/errors/field-error.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { Compatibility } from '../compatibility.ts';
import type { Registry } from '../registry.ts';
import { filterOf, type Selection } from '../view/selection.ts';
import { Watcher, type WatchSink, type WatchStart } from '../view/watcher.ts';
import { awaitVersion, parseVersion } from './version.ts';

export interface WatchQuery extends Selection {
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  readonly sendInitialEvents?: boolean;
}

/** The start of a watch without a version: the oldest state in history, or the current state. */
export type WatchDefault = 'history' | 'state';

export interface OpenWatch {
  /** Starts to call the sink. */
  start(sink: WatchSink): Watcher;
  /** The revision of the initial state. */
  readonly stateRevision: number;
}

export async function watch(
  registry: Registry,
  kind: Kind,
  query: WatchQuery,
  byDefault: WatchDefault,
  compatibility: Compatibility = 'contract',
): Promise<OpenWatch> {
  checkOptions(query);
  const filter = filterOf(kind, query);
  const version = parseVersion(query.resourceVersion, 'watch', compatibility);
  const view = registry.view.of(kind);
  const collection = view.collection(kind);
  if (query.sendInitialEvents && version) await awaitVersion(view, version);
  else if (!version) await view.caughtUp();
  const fromHistory =
    version === undefined && query.sendInitialEvents === undefined && byDefault === 'history';
  for (;;) {
    const preparing = collection.prepared(filter, fromHistory ? collection.since : undefined);
    if (!preparing) break;
    await preparing;
  }
  view.assertFed();
  const stateRevision = view.revision;
  const now = (): WatchStart => ({
    state: collection.select(filter).entries,
    position: collection.endNumber,
  });
  const following = (revision: number): WatchStart => ({
    state: undefined,
    position: collection.numberAfter(revision),
    after: revision,
  });

  let begin: WatchStart;
  if (query.sendInitialEvents === true) begin = now();
  else if (query.sendInitialEvents === false) begin = following(version || stateRevision);
  else if (version === 0 || (version === undefined && byDefault === 'state')) begin = now();
  else if (version === undefined)
    begin = {
      state: collection.select(filter, { revision: collection.since }).entries,
      position: collection.numberAfter(collection.since),
    };
  else begin = following(version);
  if (version && begin.state === undefined && version < collection.since)
    throw watchExpired(version, collection.since);

  return {
    stateRevision,
    start: (sink) => {
      const watcher = new Watcher(collection, filter, begin, sink);
      watcher.pump();
      return watcher;
    },
  };
}

function checkOptions(query: WatchQuery): void {
  const refuse = (detail: string) =>
    invalidOptions('ListOptions', [forbidden('resourceVersionMatch', detail)]);
  if (query.sendInitialEvents === undefined) {
    if (query.resourceVersionMatch)
      throw refuse('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  } else if (query.resourceVersionMatch !== 'NotOlderThan')
    throw refuse('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
}
