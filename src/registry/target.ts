/** Targets: what a request is about. */
import type { Kind } from '../api/kind/kind.ts';

/** The place of an object. The namespace is '' for cluster-scoped kinds. */
export interface Place {
  readonly kind: Kind;
  readonly namespace: string;
  /** '' for a collection, and for a create with `generateName`. */
  readonly name: string;
}

/**
 * The part of an object that a request addresses: `main` is the object itself, others are subresources. `whole` is
 * not a path: it is for changes that the server itself computes, such as binding a pod. They are stored as they are,
 * without the kind's rules for updates by clients.
 */
export type Part =
  | 'main'
  | 'status'
  | 'scale'
  | 'finalize'
  | 'ephemeralcontainers'
  | 'resize'
  | 'approval'
  | 'binding'
  | 'eviction'
  | 'token'
  | 'exec'
  | 'attach'
  | 'portforward'
  | 'proxy'
  | 'whole';

export interface Target extends Place {
  readonly part: Part;
}

/** The target of a stored object, or of a part of it. */
export const targetOf = ({ kind, namespace, name }: Place, part: Part = 'main'): Target => ({
  kind,
  namespace,
  name,
  part,
});

/** The target of a create or list: the objects of a kind in a namespace. */
export const collectionOf = (kind: Kind, namespace: string): Target => ({
  kind,
  namespace,
  name: '',
  part: 'main',
});

/** An object of a collection by its name. */
export const named = (target: Target, name: string): Target =>
  target.name === name ? target : { ...target, name };

/** The subresource in the path; undefined for the object itself. */
export const subresourceOf = (part: Part): string | undefined =>
  part === 'main' || part === 'whole' ? undefined : part;
