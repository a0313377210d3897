/** What can be done with many objects of a kind at once: restart, scale, label, delete. */
import { ApiError, ask } from '../../core/api.ts';
import { type Kind, pathOf } from '../../core/kinds.ts';
import { may } from '../../core/rights.ts';
import { commandText } from '../../ui/command.ts';
import type { Plan, Values } from './actions.ts';
import { labelChanges } from './label-changes.ts';
import { mergePatch, restartPatch, rolling } from './workload-patches.ts';

/** The parts of a row or an object that these need. */
interface Chosen {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

export interface Choice {
  readonly kind: Kind;
  readonly rows: readonly Chosen[];
  /** Namespaces of which all objects are chosen; the key is '' for objects without a namespace. */
  readonly whole: ReadonlySet<string>;
}

export interface ManyAction {
  readonly id: string;
  readonly title: string;
  readonly isDanger?: boolean;
  readonly applies: (kind: Kind, namespace: string | undefined) => boolean;
  readonly plan: (choice: Choice) => Plan;
}

/** From this many on, what will be done is typed before it is done. */
const typedFrom = 20;
/** Requests under way at a time. */
const atOnce = 4;

const patchOf = (
  kind: Kind,
  { namespace, name }: Chosen,
  body: object,
  subresource?: string,
): Promise<unknown> =>
  ask(pathOf(kind, namespace, name, subresource), { method: 'PATCH', contentType: mergePatch, body });

/** What all of them share: the objects, the words to type, and the work on each. */
function planOf(
  choice: Choice,
  verb: string,
  workWith: (values: Values) => (row: Chosen) => Promise<unknown>,
  rest: Pick<Plan, 'commands'> & Partial<Plan>,
): Plan {
  const { rows } = choice;
  return {
    fields: [],
    steps: () => [],
    objects: rows,
    confirmation: rows.length >= typedFrom ? `${verb} ${rows.length}` : undefined,
    run: async (values, tell, signal) =>
      forEach(rows, workWith(values), (done) => tell(`${done} of ${rows.length}…`), signal),
    ...rest,
  };
}

async function forEach(
  rows: readonly Chosen[],
  work: (row: Chosen) => Promise<unknown>,
  tell: (done: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const left = [...rows];
  const failed: { readonly field: string; readonly message: string; readonly error: Error }[] = [];
  let done = 0;
  const worker = async (): Promise<void> => {
    for (let row = left.shift(); row && !signal.aborted; row = left.shift()) {
      const field = [row.namespace, row.name].filter(Boolean).join('/');
      await work(row).catch((error: Error) => failed.push({ field, message: error.message, error }));
      tell(++done);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const [first] = failed;
  if (!first) return;
  if (rows.length === 1) throw first.error;
  const causes = failed.map(({ field, message }) => ({ field, message }));
  throw new ApiError({ message: `${failed.length} of ${rows.length} were refused.`, details: { causes } });
}

/** One command for each namespace: `--all` where all of its objects are chosen, and more than one. */
function commandsOf(
  { kind, rows, whole }: Choice,
  words: readonly string[],
  after: readonly string[] = [],
  all: readonly string[] = ['--all'],
): string[] {
  const groups = Map.groupBy(rows, ({ namespace }) => namespace);
  return [...groups].map(([namespace, members]) => {
    const isWhole = members.length > 1 && whole.has(namespace ?? '');
    const names = isWhole ? all : members.map(({ name }) => name);
    return commandText(['kubectl', ...words, kind.id, ...names, ...after], namespace);
  });
}

const restart: ManyAction = {
  id: 'restart',
  title: 'Restart',
  applies: (kind, namespace) => rolling.has(kind.id) && may('patch', kind, { namespace }),
  plan: (choice) =>
    planOf(choice, 'restart', () => (row) => patchOf(choice.kind, row, restartPatch()), {
      steps: () => ['The pods of each are replaced by new ones, as its update strategy says.'],
      // Without a name, kubectl restarts all of a namespace.
      commands: () => commandsOf(choice, ['rollout', 'restart'], [], []),
    }),
};

const scale: ManyAction = {
  id: 'scale',
  title: 'Scale',
  applies: (kind, namespace) =>
    kind.subresources.has('scale') && may('patch', kind, { namespace, subresource: 'scale' }),
  plan: (choice) =>
    planOf(
      choice,
      'scale',
      ({ replicas }) =>
        (row) =>
          patchOf(choice.kind, row, { spec: { replicas: Number(replicas) } }, 'scale'),
      {
        fields: [{ name: 'replicas', label: 'Replicas of each', type: 'number', initial: '1' }],
        commands: ({ replicas }) => commandsOf(choice, ['scale'], [`--replicas=${replicas}`]),
      },
    ),
};

const label: ManyAction = {
  id: 'label',
  title: 'Label',
  applies: (kind, namespace) => kind.verbs.has('patch') && may('patch', kind, { namespace }),
  plan: (choice) =>
    planOf(
      choice,
      'label',
      ({ labels = '' }) => {
        const body = { metadata: { labels: labelChanges(labels) } };
        return (row) => patchOf(choice.kind, row, body);
      },
      {
        fields: [
          { name: 'labels', label: 'Labels (tier=web to set, tier- to remove)', type: 'text', initial: '' },
        ],
        commands: ({ labels = '' }) =>
          commandsOf(choice, ['label'], [...labels.split(/\s+/).filter(Boolean), '--overwrite']),
      },
    ),
};

const remove: ManyAction = {
  id: 'delete',
  title: 'Delete',
  isDanger: true,
  applies: (kind, namespace) => kind.verbs.has('delete') && may('delete', kind, { namespace }),
  plan: (choice) => deletionOf(choice),
};

export const deletionOf = (choice: Choice): Plan =>
  planOf(
    choice,
    'delete',
    () =>
      ({ namespace, name, uid }) => {
        // With the uid: an object that was created again under the same name is another one.
        const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
        return ask(pathOf(choice.kind, namespace, name), { method: 'DELETE', body });
      },
    { isDanger: true, commands: () => commandsOf(choice, ['delete']) },
  );

const actions: readonly ManyAction[] = [restart, scale, label, remove];

/** Those that fit a kind and that the user may do. */
export const manyActionsOf = (kind: Kind, namespace: string | undefined): readonly ManyAction[] =>
  actions.filter(({ applies }) => applies(kind, namespace));
