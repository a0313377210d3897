/** Names for shell completion, by kind of name. Loaded when a command line is completed. */
import { controllers } from '../controllers/controllers.ts';
import { allRecords } from './named/cluster-record.ts';
import type { NameKind } from './options/option.ts';
import { SnapshotFolder } from './store/snapshot-shelf.ts';

/**
 * A new kind of names gets a word in `NameKind` and a line here. It may read files, and is called at each key press.
 */
export const knownNames: Readonly<Record<NameKind, () => Promise<readonly string[]>>> = {
  clusters: async () => allRecords().map(({ name }) => name),
  snapshots: async () => {
    const folders = allRecords().flatMap(({ dataDir }) => dataDir ?? []);
    const lists = await Promise.all(
      folders.map((folder) => new SnapshotFolder(`${folder}/snapshots`).list()),
    );
    return [...new Set(lists.flat().map(({ name }) => name))];
  },
  controllers: async () => ['*', 'housekeeping', 'none', ...controllers.map(({ name }) => name)],
};
