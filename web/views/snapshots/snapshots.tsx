/** Snapshots of the cluster: all its objects under a name, and the way back to them. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../core/api.ts';
import { bytesText } from '../../core/quantity.ts';
import { maySnapshots } from '../../core/rights.ts';
import { Age } from '../../ui/age.tsx';
import { commandText } from '../../ui/command.ts';
import { Refusal } from '../../ui/refusal.tsx';
import { ActionDialog } from '../object/action-dialog.tsx';
import type { Plan } from '../object/actions.ts';

interface Snapshot {
  readonly name: string;
  readonly savedAt: string;
  readonly objects: number;
  readonly bytes: number;
}

const path = '/wherry/snapshots';
const pathOf = (name: string): string => `${path}/${encodeURIComponent(name)}`;

interface Asked {
  readonly title: string;
  readonly plan: Plan;
}

export function View() {
  const { items, error, look } = useSnapshots();
  const [asked, setAsked] = useState<Asked>();
  if (!maySnapshots('list'))
    return (
      <Refusal
        error={new Error('Snapshots hold all objects, so they are for administrators.')}
        what="You may not use snapshots."
      />
    );
  const ending = (done: boolean): void => {
    setAsked(undefined);
    if (done) look();
  };
  return (
    <>
      <div class="titleline">
        <h1>Snapshots</h1>
        <span class="gap" />
        <button
          type="button"
          class="main"
          onClick={() => setAsked({ title: 'Save a snapshot', plan: saving(items ?? []) })}
        >
          Save a snapshot
        </button>
      </div>
      <p class="quiet">
        A snapshot keeps all objects of the cluster under a name. Loading it brings them back as they were.
      </p>
      {error && <Refusal error={error} what="Snapshots cannot be used here." />}
      {items?.length === 0 && <p class="waiting">There are none yet.</p>}
      {items && items.length > 0 && (
        <section class="panel">
          <Table items={items} ask={setAsked} />
        </section>
      )}
      {asked && <ActionDialog title={asked.title} load={async () => asked.plan} onClose={ending} />}
    </>
  );
}

function useSnapshots() {
  const [items, setItems] = useState<readonly Snapshot[]>();
  const [error, setError] = useState<Error>();
  const look = (): void =>
    void ask<{ items: Snapshot[] }>(path).then(
      (answer) => setItems(answer.items.toSorted((a, b) => (a.savedAt < b.savedAt ? 1 : -1))),
      setError,
    );
  useEffect(() => {
    if (maySnapshots('list')) look();
  }, []);
  return { items, error, look };
}

interface TableProps {
  readonly items: readonly Snapshot[];
  readonly ask: (asked: Asked) => void;
}

const Table = ({ items, ask: show }: TableProps) => (
  <table class="simple cards">
    <thead>
      <tr>
        <th>Name</th>
        <th>Saved</th>
        <th>Objects</th>
        <th>Size</th>
        <th>
          <span class="unseen">Actions</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {items.map((item) => (
        <tr key={item.name}>
          <td>
            <strong>{item.name}</strong>
          </td>
          <td data-label="Saved">
            <Age since={item.savedAt} /> ago
          </td>
          <td data-label="Objects">{item.objects}</td>
          <td data-label="Size">{bytesText(item.bytes)}</td>
          <td>
            <span class="actions">
              <button
                type="button"
                aria-label={`Load ${item.name}`}
                onClick={() => show({ title: `Load ${item.name}?`, plan: loading(item) })}
              >
                Load
              </button>
              <button
                type="button"
                class="danger"
                aria-label={`Delete ${item.name}`}
                onClick={() => show({ title: `Delete the snapshot ${item.name}?`, plan: deleting(item) })}
              >
                Delete
              </button>
            </span>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

const command = (action: string, name: string, ...flags: string[]): string[] => [
  commandText(['wherry', 'snapshot', action, name, ...flags]),
];

function saving(items: readonly Snapshot[]): Plan {
  const isTaken = (name: string): boolean => items.some((item) => item.name === name);
  return {
    fields: [{ name: 'name', label: 'Name', type: 'text', initial: isTaken('clean') ? '' : 'clean' }],
    steps: ({ name = '' }) => [
      `Keep all objects of the cluster as ${name || 'a snapshot'}.`,
      ...(isTaken(name) ? [`The snapshot ${name} that is there is replaced.`] : []),
    ],
    commands: ({ name = '' }) => command('save', name || 'NAME', ...(isTaken(name) ? ['--replace'] : [])),
    run: async ({ name = '' }) => {
      await ask(pathOf(name), { method: 'PUT', query: isTaken(name) ? { replace: 'true' } : {} });
    },
  };
}

const loading = ({ name, objects }: Snapshot): Plan => ({
  fields: [],
  isDanger: true,
  steps: () => [
    `Bring all ${objects} objects of the snapshot back as they were.`,
    'Delete objects that were created since. Nodes stay, and pods that do not run any more begin anew.',
  ],
  commands: () => command('load', name),
  run: async () => {
    await ask(`${pathOf(name)}/load`, { method: 'POST' });
  },
});

const deleting = ({ name }: Snapshot): Plan => ({
  fields: [],
  isDanger: true,
  steps: () => [`Forget the snapshot ${name}. The cluster stays as it is.`],
  commands: () => command('delete', name),
  run: async () => {
    await ask(pathOf(name), { method: 'DELETE' });
  },
});
