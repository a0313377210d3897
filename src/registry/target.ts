/** Targets: what a request is about. */
import type { Kind } from '../api/kind.ts';

/** Where an object is. The namespace is '' for kinds that are in none. */
export interface Place {
  readonly kind: Kind;
  readonly namespace: string;
  /** '' for a collection, and for a create whose name is still to be generated. */
  readonly name: string;
}

/**
 * The part of an object that a request addresses: `main` is the object itself, others are paths behind its name.
 * `whole` is no path. It is for changes the server itself works out, such as binding a pod: they are taken as they
 * are, without the kind's rules for clients.
 */
export type Part =
  | 'main'
  | 'status'
  | 'scale'
  | 'finalize'
  | 'ephemeralcontainers'
  | 'resize'
  | 'binding'
  | 'eviction'
  | 'token'
  | 'whole';

export interface Target extends Place {
  readonly part: Part;
}

/** An object, or a part of it, by where it is: entries know that of themselves. */
export const targetOf = ({ kind, namespace, name }: Place, part: Part = 'main'): Target => ({
  kind,
  namespace,
  name,
  part,
});

/** The objects of a kind in a namespace: what a create adds to. */
export const collectionOf = (kind: Kind, namespace: string): Target => ({
  kind,
  namespace,
  name: '',
  part: 'main',
});

/** An object of a collection by its name. */
export const named = (target: Target, name: string): Target =>
  target.name === name ? target : { ...target, name };

/** The part as it stands in paths; undefined for the object itself. */
export const subresourceOf = (part: Part): string | undefined =>
  part === 'main' || part === 'whole' ? undefined : part;
