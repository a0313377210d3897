/** Deletes objects, after it has said which, and how kubectl would. */
import { useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { type Kind, pathOf } from '../../core/kinds.ts';
import { commandText } from '../../ui/command.ts';
import { Command } from '../../ui/command-line.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Refusal } from '../../ui/refusal.tsx';

/** The parts of a row or an object that a deletion needs. */
interface Doomed {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

interface DeleteDialogProps {
  readonly kind: Kind;
  readonly rows: readonly Doomed[];
  /** `done`: all were deleted. */
  readonly onClose: (done: boolean) => void;
}

const namedMax = 12;
/** Maximum number of concurrent deletions. */
const atOnce = 4;

export function DeleteDialog({ kind, rows, onClose }: DeleteDialogProps) {
  const [progress, setProgress] = useState<number>();
  const [failures, setFailures] = useState<readonly Error[]>([]);
  const remove = async (): Promise<void> => {
    const failed: Error[] = [];
    const left = [...rows];
    setProgress(0);
    const work = async (): Promise<void> => {
      for (let row = left.shift(); row; row = left.shift()) {
        // With the uid: an object that was created again under the same name is another one.
        const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: row.uid } };
        await ask(pathOf(kind, row.namespace, row.name), { method: 'DELETE', body }).catch((error: Error) => {
          failed.push(error);
        });
        setProgress((count = 0) => count + 1);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    setFailures(failed);
    setProgress(undefined);
    if (failed.length === 0) onClose(true);
  };
  const what = rows.length === 1 ? `${kind.kind} ${rows[0]!.name}` : `${rows.length} objects`;
  return (
    <Dialog title={`Delete ${what}?`} onClose={() => onClose(false)}>
      <ul class="doomed">
        {rows.slice(0, namedMax).map(({ uid, namespace, name }) => (
          <li key={uid}>
            {namespace && <span class="quiet">{namespace}/</span>}
            {name}
          </li>
        ))}
        {rows.length > namedMax && <li class="quiet">and {rows.length - namedMax} more</li>}
      </ul>
      <Command lines={deleteCommands(kind, rows)} />
      {failures.map((error) => (
        <Refusal key={error.message} error={error} what="Not deleted" />
      ))}
      <footer>
        <button type="button" onClick={() => onClose(false)}>
          Keep
        </button>
        <button type="button" class="danger" disabled={progress !== undefined} onClick={() => void remove()}>
          {progress === undefined ? 'Delete' : `Deleting ${progress} of ${rows.length}…`}
        </button>
      </footer>
    </Dialog>
  );
}

/** One command per namespace. */
function deleteCommands(kind: Kind, rows: readonly Doomed[]): string[] {
  const groups = Map.groupBy(rows, ({ namespace }) => namespace);
  return [...groups].map(([namespace, members]) =>
    commandText(['kubectl', 'delete', kind.id, ...members.map(({ name }) => name)], namespace),
  );
}
