/**
 * A built-in group as a form: `kinds/<group>/group.ts`. Its folder also holds its kinds, its field tables
 * (`<word>-<version>.fields.json`) and their descriptions. Nothing outside of the folder names a group: lists are made
 * from the folders (`npm run generate`).
 */
import type { Kind } from './kind.ts';

/** A resource or subresource that is served without being a kind, such as `pods/exec`. */
export interface UnstoredResource {
  readonly name: string;
  /** '' for a subresource. */
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly verbs: readonly string[];
}

export interface GroupVersion {
  /** Clients prefer the version with the highest number; default: that of most versions. */
  readonly priority?: number;
  /** Models of bodies that are not of a stored kind: `Name` in the table of the version, or `table:Name`. */
  readonly bodies?: readonly string[];
  readonly resources?: readonly UnstoredResource[];
}

export interface Group {
  /** `apps`, `coordination.k8s.io`; '' for the core. */
  readonly name: string;
  /**
   * Groups with higher numbers come first in discovery, and clients take a kind from the first group that has it.
   * undefined: the group is not served, and its objects are only sent to others.
   */
  readonly priority?: number;
  readonly versions: Readonly<Record<string, GroupVersion>>;
  /** The package of its types in OpenAPI documents; default: `io.k8s.api` and the word of the group. */
  readonly package?: string;
  /** The stored kinds and their other versions. */
  readonly kinds?: readonly Kind[];
  /** Kinds whose objects are worked out when they are read. */
  readonly computedKinds?: readonly Kind[];
}

/** A group as part of other names, among them those of its folder and its tables: the first label, `core` for the core. */
export const wordOf = (group: string): string => group.split('.')[0] || 'core';
