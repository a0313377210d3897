/**
 * The minor of Kubernetes that a cluster was asked to be (`--kubernetes 1.29`). Parts that differ by minor ask it; a
 * cluster without one asks nothing. The tables behind it are in `minors/`, which is loaded only then.
 */
import type { Models } from '../model/model.ts';
import type { Kind, Verb } from './kind.ts';

/** A resource or subresource as discovery of a minor describes it. */
export interface MinorResource {
  readonly kind: string;
  readonly verbs: readonly Verb[];
  readonly singularName: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** The version it is stored as, `apps/v1`; one that begins with `?` is the hash itself. */
  readonly stored: string | undefined;
}

export interface ChosenMinor {
  /** 29 for 1.29. */
  readonly number: number;
  /** Whether it is this minor or a later one: 25 for 1.25. */
  isAtLeast(minor: number): boolean;
  /** As `/version` and nodes show it: `v1.29.0+wherry`. */
  readonly release: string;
  /** The models of this minor. */
  readonly models: Models;
  /** The kind as clients of this minor see it: its fields, subresources and columns. */
  shown(kind: Kind): Kind;
  /** By `v1` and `pods` or `pods/status`; undefined: this minor does not have it. */
  resource(apiVersion: string, name: string): MinorResource | undefined;
  /** Whether this minor has a version, served by default or not. */
  hasVersion(apiVersion: string): boolean;
  /** The priorities of a group and of its version; undefined: this minor does not have the version. */
  priority(apiVersion: string): { readonly group: number; readonly version: number } | undefined;
  /** Whether a feature gate is on, by default or as the user says; false for one that this minor does not know. */
  isOn(gate: string): boolean;
}
