/** Versions of an object: what each changed, and the list that people read, in which changes of status are folded. */
import type { Change } from '../../core/history/history.ts';
import type { ApiObject } from '../../core/objects.ts';
import { yamlText } from '../../core/text/yaml-text.ts';
import { type Writer, writerOf } from '../../core/writer.ts';

export interface Version {
  readonly change: Change;
  readonly before: ApiObject | undefined;
  readonly writer: Writer | undefined;
  /** Whether something else than the status has changed. */
  readonly isMain: boolean;
}

/** One version, or several in a row that changed nothing but the status. */
export type HistoryItem =
  | { readonly type: 'version'; readonly version: Version }
  | { readonly type: 'status'; readonly versions: readonly Version[] };

/** The part of the address for what the user wrote. */
export const mine = 'me';

/**
 * The names under which programs write that people use by hand, this dashboard among them (`window`, or the name of the
 * browser). Objects tell the program that wrote, not its user.
 */
const byHand = /^(window|Mozilla|kubectl|helm|k9s|lens|headlamp|curl|wget|HTTPie)/i;

export function versionOf(change: Change, before: ApiObject | undefined): Version {
  const isMain = change.type !== 'MODIFIED' || !before || mainText(change.object) !== mainText(before);
  return { change, before, writer: writerOf(change.object, before, isMain ? undefined : 'status'), isMain };
}

/** From versions in the order of time: the latest first, written by a writer ('' for all), status folded. */
export function itemsOf(versions: readonly Version[], writer: string): readonly HistoryItem[] {
  const items: HistoryItem[] = [];
  for (const version of versions.toReversed()) {
    if (!isBy(version, writer)) continue;
    const last = items.at(-1);
    if (version.isMain) items.push({ type: 'version', version });
    else if (last?.type === 'status')
      items[items.length - 1] = { type: 'status', versions: [...last.versions, version] };
    else items.push({ type: 'status', versions: [version] });
  }
  return items;
}

function isBy({ writer }: Version, wanted: string): boolean {
  if (!wanted) return true;
  return wanted === mine ? byHand.test(writer?.name ?? '') : writer?.name === wanted;
}

/** Names of writers with the number of their versions, the busiest first. */
export function writersOf(versions: readonly Version[]): readonly (readonly [name: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { writer } of versions) if (writer) counts.set(writer.name, (counts.get(writer.name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** All but the status, without what changes with every write and says nothing. */
export function mainText({ apiVersion, kind, metadata, status: _, ...rest }: ApiObject): string {
  const {
    managedFields: __,
    resourceVersion: ___,
    generation: ____,
    ...named
  } = metadata as ApiObject['metadata'] & {
    generation?: number;
  };
  return yamlText({ apiVersion, kind, metadata: named, ...rest });
}

export const statusText = ({ status }: ApiObject): string =>
  status === undefined ? '' : yamlText({ status });
