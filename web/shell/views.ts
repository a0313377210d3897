/**
 * The views: which address shows which, each a module of its own that is loaded when it is first shown. A new view is a
 * file that exports `View`, and a line here.
 */
import type { ComponentType } from 'preact';
import type { Place } from '../core/router.ts';
import type { ViewProps } from '../views/view.ts';

interface ViewEntry {
  /** The first segment of its address. */
  readonly name: string;
  readonly load: () => Promise<{ readonly View: ComponentType<ViewProps> }>;
}

const views: readonly ViewEntry[] = [
  { name: 'overview', load: () => import('../views/overview/overview.tsx') },
  // /ui/list/pods, /ui/list/deployments.apps
  { name: 'list', load: () => import('../views/list/list.tsx') },
  // /ui/object/pods/default/web-1; `-` stands for no namespace
  { name: 'object', load: () => import('../views/object/object.tsx') },
  // /ui/create/deployments.apps
  { name: 'create', load: () => import('../views/create/create.tsx') },
  { name: 'problems', load: () => import('../views/problems/problems.tsx') },
  { name: 'snapshots', load: () => import('../views/snapshots/snapshots.tsx') },
  { name: 'timeline', load: () => import('../views/timeline/timeline.tsx') },
];

export const viewAt = ({ path }: Place): ViewEntry | undefined =>
  views.find(({ name }) => name === (path[0] ?? 'overview'));
