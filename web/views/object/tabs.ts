/**
 * The tabs of an object's page, each a module of its own that is loaded when it is first shown. A new tab is a file
 * that exports `Tab`, and an entry here; `tab=` in the address names it, and its key opens it from tables, too.
 */
import type { ComponentType } from 'preact';
import { type Kind, kindOf } from '../../core/kinds.ts';
import { may, maySee } from '../../core/rights.ts';
import { isWorkload } from '../../core/workload.ts';
import type { TabProps } from '../tab.ts';

export interface ObjectTab {
  readonly id: string;
  readonly title: string;
  /** The tab that it is another face of; it has none of its own then. */
  readonly within?: string;
  /** The key that opens it. */
  readonly key?: string;
  /** Whether objects of a kind have it. */
  readonly applies: (kind: Kind) => boolean;
  /** Whether the user may use it in a namespace; left out: everybody who sees the object may. */
  readonly allowed?: (kind: Kind, namespace: string | undefined) => boolean;
  /** Whether it shows the past, too; others are shown for now alone. */
  readonly past: boolean;
  readonly load: () => Promise<{ readonly Tab: ComponentType<TabProps> }>;
}

const always = (): boolean => true;
const isPod = ({ id }: Kind): boolean => id === 'pods';
const podPart =
  (verb: string, subresource: string): ObjectTab['allowed'] =>
  (kind, namespace) =>
    may(verb, kind, { namespace, subresource });

const tabs: readonly ObjectTab[] = [
  { id: 'summary', title: 'Summary', applies: always, past: true, load: () => import('./summary.tsx') },
  {
    id: 'yaml',
    title: 'YAML',
    key: 'y',
    applies: always,
    past: true,
    load: () => import('../editor/yaml.tsx'),
  },
  {
    id: 'edit',
    title: 'Edit',
    within: 'yaml',
    key: 'e',
    applies: ({ verbs }) => verbs.has('update'),
    allowed: (kind, namespace) => may('update', kind, { namespace }),
    past: false,
    load: () => import('../editor/edit.tsx'),
  },
  {
    id: 'logs',
    title: 'Logs',
    key: 'l',
    applies: ({ id }) => id === 'pods' || isWorkload(id) || id === 'jobs.batch',
    allowed: (_, namespace) =>
      maySee('pods', namespace) && may('get', kindOf('pods'), { namespace, subresource: 'log' }),
    past: false,
    load: () => import('../logs/logs.tsx'),
  },
  {
    id: 'terminal',
    title: 'Terminal',
    key: 's',
    applies: isPod,
    allowed: podPart('create', 'exec'),
    past: false,
    load: () => import('../terminal/terminal.tsx'),
  },
  {
    id: 'usage',
    title: 'Usage',
    key: 'u',
    applies: ({ id }) => (id === 'pods' || id === 'nodes') && kindOf(`${id}.metrics.k8s.io`) !== undefined,
    allowed: ({ id }, namespace) => may('get', kindOf(`${id}.metrics.k8s.io`), { namespace }),
    past: true,
    load: () => import('../pods/usage.tsx'),
  },
  {
    id: 'ports',
    title: 'Ports',
    applies: ({ id }) => id === 'pods' || id === 'services',
    allowed: podPart('get', 'proxy'),
    past: false,
    load: () => import('../pods/ports.tsx'),
  },
  {
    id: 'history',
    title: 'History',
    key: 'h',
    applies: always,
    allowed: (kind, namespace) => maySee(kind.id, namespace),
    past: true,
    load: () => import('./history.tsx'),
  },
];

/** Without a namespace: what the user may use everywhere. */
export const tabsOf = (kind: Kind, isPast: boolean, namespace: string | undefined): readonly ObjectTab[] =>
  tabs.filter(
    ({ applies, allowed, past }) =>
      applies(kind) && (past || !isPast) && (allowed?.(kind, namespace) ?? true),
  );
