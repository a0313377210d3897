/**
 * The views: which address shows which, each a module of its own that is loaded when it is first shown. A new view is a
 * file that exports `View`, and a line here.
 */
import type { ComponentType } from 'preact';
import type { Place } from '../core/router.ts';

/** What a view is given: the segments of the address behind its own name. */
export interface ViewProps {
  readonly path: readonly string[];
}

interface ViewEntry {
  /** The first segment of its address. */
  readonly name: string;
  readonly load: () => Promise<{ readonly View: ComponentType<ViewProps> }>;
}

const views: readonly ViewEntry[] = [
  { name: 'overview', load: () => import('./overview/overview.tsx') },
  // /ui/list/pods, /ui/list/deployments.apps
  { name: 'list', load: () => import('./list/list.tsx') },
  // /ui/object/pods/default/web-1; `-` stands for no namespace
  { name: 'object', load: () => import('./object/object.tsx') },
  { name: 'timeline', load: () => import('./timeline/timeline.tsx') },
];

export const viewAt = ({ path }: Place): ViewEntry | undefined =>
  views.find(({ name }) => name === (path[0] ?? 'overview'));
