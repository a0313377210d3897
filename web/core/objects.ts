/** The shapes that all objects share. */

/** Stands for no namespace in the address of an object. */
export const noNamespace = '-';

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface ManagedEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly time?: string;
  readonly fieldsV1?: Json;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedEntry[];
}

// biome-ignore lint/suspicious/noExplicitAny: objects of all kinds, whose fields the server has checked.
export type Json = any;

/** An object of any kind. Which fields it has is up to its kind, so its parts are read with care. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Metadata;
  readonly spec?: Json;
  readonly status?: Json;
  readonly [field: string]: Json;
}

export interface ListAnswer<T> {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableRow {
  readonly cells: readonly unknown[];
  /** Its metadata alone, unless the whole object was asked for. */
  readonly object: ApiObject;
}

export interface TableAnswer extends Omit<ListAnswer<never>, 'items'> {
  readonly columnDefinitions?: readonly TableColumn[] | null;
  readonly rows: readonly TableRow[] | null;
}
