/**
 * The tabs of an object's page, each a module of its own that is loaded when it is first shown. A new tab is a file
 * that exports `Tab`, and an entry here; `tab=` in the address names it, and its key opens it from tables, too.
 */
import type { ComponentType } from 'preact';
import { type Kind, kindOf } from '../../core/kinds.ts';
import type { TabProps } from '../tab.ts';

export interface ObjectTab {
  readonly id: string;
  readonly title: string;
  /** The key that opens it. */
  readonly key?: string;
  /** Whether objects of a kind have it. */
  readonly applies: (kind: Kind) => boolean;
  /** Whether it shows the past, too; others are shown for now alone. */
  readonly past: boolean;
  readonly load: () => Promise<{ readonly Tab: ComponentType<TabProps> }>;
}

const always = (): boolean => true;
const isPod = ({ id }: Kind): boolean => id === 'pods';

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
    key: 'e',
    applies: ({ verbs }) => verbs.has('update'),
    past: false,
    load: () => import('../editor/edit.tsx'),
  },
  {
    id: 'logs',
    title: 'Logs',
    key: 'l',
    applies: isPod,
    past: false,
    load: () => import('../logs/logs.tsx'),
  },
  {
    id: 'terminal',
    title: 'Terminal',
    key: 's',
    applies: isPod,
    past: false,
    load: () => import('../terminal/terminal.tsx'),
  },
  {
    id: 'usage',
    title: 'Usage',
    key: 'u',
    applies: (kind) => isPod(kind) && kindOf('pods.metrics.k8s.io') !== undefined,
    past: false,
    load: () => import('../pods/usage.tsx'),
  },
  {
    id: 'ports',
    title: 'Ports',
    applies: ({ id }) => id === 'pods' || id === 'services',
    past: false,
    load: () => import('../pods/ports.tsx'),
  },
  {
    id: 'history',
    title: 'History',
    key: 'h',
    applies: always,
    past: true,
    load: () => import('./history.tsx'),
  },
];

export const tabsOf = (kind: Kind, isPast: boolean): readonly ObjectTab[] =>
  tabs.filter(({ applies, past }) => applies(kind) && (past || !isPast));
